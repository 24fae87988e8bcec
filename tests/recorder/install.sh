#!/usr/bin/env bash
# Installs what the recorder and its tests need.
set -euo pipefail
packages=(valgrind gcc g++ make pkg-config libc6-dev libpmem-dev libpmemobj-dev pmdk-tools libsqlite3-dev liblmdb-dev)
exec "$(dirname "$0")/../packages.sh" "the tests of the recorder" "${packages[@]}"
