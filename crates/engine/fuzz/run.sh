#!/bin/bash
# Runs all fuzz targets, or those that are named, for FUZZ_SECONDS (60) each, from seeds that seeds.py makes, and prints one
# line for each. Fails if a target crashes, leaks, or needs more than 10 s or more than 2 GiB for one input, which is kept and
# named.
#
# A stable toolchain is enough: with RUSTC_BOOTSTRAP it accepts the two nightly options that libFuzzer needs, coverage and
# AddressSanitizer, whose runtime comes with every toolchain. The C libraries (zstd, xz) are instrumented too.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${FUZZ_SECONDS:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "error: FUZZ_SECONDS=$seconds must be a whole number of seconds, 1 or more" >&2; exit 2; }
target=$(rustc -vV | sed -n 's/^host: //p')
mapfile -t all < <(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"/\1/p' Cargo.toml)
names=("$@")
[ $# -gt 0 ] || names=("${all[@]}")
for name in "${names[@]}"; do
    [[ " ${all[*]} " == *" $name "* ]] || { echo "error: there is no target '$name': one of ${all[*]}" >&2; exit 2; }
done

coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
triple=${target//-/_}
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
export RUSTFLAGS="--cfg fuzzing -Zsanitizer=address -Ccodegen-units=16 $coverage"
export "CFLAGS_$triple=-fsanitize=address -fno-omit-frame-pointer -g1"
# --target is given so that build scripts and macros are built without these flags.
cargo build --locked --release --quiet --target "$target" --bins
python3 seeds.py corpus

# Targets that need a file write it here, in memory if /dev/shm exists.
scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
failed=0
for name in "${names[@]}"; do
    mkdir -p "artifacts/$name"
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -artifact_prefix="artifacts/$name/" -print_final_stats=1)
    dictionary="dictionaries/$name.dict"
    [ ! -f "$dictionary" ] || options+=(-dict="$dictionary")
    if TMPDIR=$scratch "$CARGO_TARGET_DIR/$target/release/$name" "${options[@]}" "corpus/$name" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
        echo "$name: $runs inputs in $seconds s, clean; $(find "corpus/$name" -type f | wc -l) kept in the corpus, at most $memory MiB"
    else
        failed=1
        input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        what=$(grep -m1 -E 'panicked at|ERROR: (AddressSanitizer|LeakSanitizer|libFuzzer)' "$log" || tail -1 "$log")
        echo "$name: FAILED: $what; input kept in crates/engine/fuzz/${input:-none}"
        grep -A1 -m1 'panicked at' "$log" | tail -1 || true
        cp "$log" "artifacts/$name/last.log"
    fi
done
exit $failed
