#!/bin/sh
# Links the shared library from the static one: link-shared.sh LIBCOUNTERPOINT.A DIRECTORY
#
# Cargo could build a cdylib, but rustc hands the linker a version script without versions, and GNU ld takes no second one.
# Of its symbols only the exported ones are kept, and nothing that a debugger reads.
set -eu
archive=$1
directory=$2
here=$(dirname "$0")
"${CC:-cc}" -shared -o "$directory/libcounterpoint.so.1.tmp" \
    -Wl,-soname,libcounterpoint.so.1 -Wl,--version-script="$here/counterpoint.map" -Wl,--no-undefined \
    -Wl,--strip-all -Wl,--gc-sections \
    -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lgcc_s -lpthread -lm -ldl -lc
mv "$directory/libcounterpoint.so.1.tmp" "$directory/libcounterpoint.so.1"
ln -sf libcounterpoint.so.1 "$directory/libcounterpoint.so"
