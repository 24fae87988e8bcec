#!/usr/bin/env bash
# Builds libcounterpoint as a folder that other programs can be built against: library.sh FOLDER CARGO-OPTIONS...
#
# The folder has what an installation has of the library: headers, libraries, what pkg-config and CMake read. Nothing in
# it depends on where it lies. The options are those of the tests of the C interface, so that the engine that they use is
# not compiled a second time.
set -euo pipefail
here=$(dirname "$0")
crate=$here/../crates/c
folder=$1
shift

# Cargo builds a library that a test of it needs, and nothing of the other packages that the options name. It says where
# the library is, which depends on the environment and on Cargo's own settings.
built=$(cargo build "$@" --test integrations --message-format=json-render-diagnostics)
archive=$(sed -n 's/.*"filenames":\["\([^"]*\/libcounterpoint[^"/]*\.a\)".*/\1/p' <<<"$built")
[ -f "$archive" ] || { echo "error: Cargo has built no libcounterpoint.a" >&2; exit 1; }
version=$(cargo pkgid --locked -p counterpoint-c)
version=${version##*[@#]}

new=$folder.new
rm -rf "$new"
mkdir -p "$new"/{include,lib/pkgconfig,lib/cmake/counterpoint}
find "$crate/include" -name '*.h' -o -name '*.hpp' | xargs -d '\n' cp -t "$new/include"
# What a debugger reads would be most of both libraries; that of Rust's own is there in any case.
"${STRIP:-strip}" --strip-debug -o "$new/lib/libcounterpoint.a" "$archive"
sh "$crate/link-shared.sh" "$new/lib/libcounterpoint.a" "$new/lib"
sed "s/@VERSION@/$version/" "$here/counterpoint.pc.in" >"$new/lib/pkgconfig/counterpoint.pc"
cp "$here/counterpoint-config.cmake" "$new/lib/cmake/counterpoint/"
sed "s/@VERSION@/$version/" "$here/counterpoint-config-version.cmake.in" \
    >"$new/lib/cmake/counterpoint/counterpoint-config-version.cmake"
rm -rf "$folder"
mv "$new" "$folder"
