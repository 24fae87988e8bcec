#!/usr/bin/env bash
# Builds a release: source distribution, and from it a wheel that a profile has made faster; and a wheel for 64-bit Arm.
# wheel.sh FOLDER
#
# First comes an engine that counts what it executes. It does, on one thread, what users do most. From the counts the
# compiler learns which code runs often; results do not depend on them. Everything in between goes into target/profile.
set -euo pipefail
out=$1
work=$PWD/target/profile
python=$PWD/.venv/bin/python
export PATH=$PWD/.venv/bin:$PATH

# The tool reads only what its own version of LLVM has written, so that of the compiler comes first.
host=$(rustc -vV | sed -n 's/^host: //p')
merge=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$merge" ] || merge=$(command -v llvm-profdata) || {
    echo "error: llvm-profdata is missing; install it with: rustup component add llvm-tools" >&2
    exit 2
}

# Zig compiles C and links for any computer, but the compiler needs its own standard library for it.
arm=aarch64-unknown-linux-gnu
[ -d "$(rustc --print sysroot)/lib/rustlib/$arm/lib" ] || {
    echo "error: the standard library for $arm is missing; install it with: rustup target add $arm" >&2
    exit 2
}

rm -rf "$out" "$work"
mkdir -p "$work"

# The compiler finds counts by the names of functions. These three have Cargo name crates as Zig's build does, which sets
# them as well; Zig itself cannot link an engine that counts.
RUSTFLAGS="-Cprofile-generate=$work/counts -Cllvm-args=-vp-counters-per-site=8" \
    __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS=nightly CARGO_UNSTABLE_TARGET_APPLIES_TO_HOST=true \
    CARGO_TARGET_APPLIES_TO_HOST=false \
    maturin build --quiet --target "$host" --target-dir "$work/build" --compatibility linux --auditwheel skip --out "$work/wheel"
"$python" -m zipfile -e "$work"/wheel/*.whl "$work/site"

counterpoint() {
    PYTHONPATH=$work/site RAYON_NUM_THREADS=1 "$python" -m counterpoint "$@"
}

train() {
    printf 'counterpoint %s\n' "$*"
    counterpoint "$@" >/dev/null
}

names='import json, sys; print(*(design["name"] for design in json.load(sys.stdin)["designs"]))'
designs=$(counterpoint designs --json | "$python" -c "$names")
for design in $designs; do
    train run "$design" btree --transactions 200
done
for workload in array queue btree hash rbtree; do
    for design in unencrypted secpm secpm-tree; do
        train run $design $workload --transactions 1000
    done
done
for design in unencrypted secpm sepencr; do
    train run $design btree --machine sepencr --cores 8 --transactions 100
done
requests='BEGIN { srand(1); for (n = 0; n < 300000; n++) printf "%d %s 0x%x 0 0\n", 40 * n, rand() < 0.5 ? "R" : "W", 64 * int(rand() * 1048576) }'
awk "$requests" >"$work/random.nvmain"
train replay "$work/random.nvmain" -d unencrypted -d secpm -d sca -d secpm-tree
for design in secpm sca secpm-tree osiris bbe; do
    train crash $design btree --workers 1 --transactions 200
    train crash $design btree --workers 1 --transactions 5 --explore legal
done
train crash secpm btree --workers 1 --transactions 5 --nested
train crash secpm-tree btree --workers 1 --transactions 5 --attack all --attack-every 10
"$merge" merge -o "$work/profile" "$work/counts"

# An index of packages shows README, whose links lead somewhere there only if they are absolute.
RUSTFLAGS=-Cprofile-use=$work/profile \
    "$python" install/addresses.py maturin build --sdist --zig --target-dir "$work/build" --compatibility manylinux2014 --out "$out"

# Where names differ, the compiler ignores the profile without a word.
crates=$(for library in "$work/build/$host/release/deps"/libcounterpoint_engine-*.rlib; do
    ar t "$library" | sed -n 's/.*\(counterpoint_engine\.[0-9a-f]*\)-cgu.*/\1/p' | head -1
done)
[ "$(wc -l <<<"$crates")" = 2 ] && [ "$(sort -u <<<"$crates" | wc -l)" = 1 ] || {
    rm -rf "$out"
    echo "error: Cargo names the engine differently in the two builds ($(tr '\n' ' ' <<<"$crates")): the profile has no effect" >&2
    exit 1
}

# Nothing here runs that engine while it counts, so it has no profile.
"$python" install/addresses.py maturin build --zig --target $arm --target-dir "$work/arm" --compatibility manylinux2014 --out "$out"
