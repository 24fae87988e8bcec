#!/usr/bin/env bash
# Installs what the tests of `make install` need.
set -euo pipefail
packages=(cmake pkg-config g++ binutils groff-base zsh fish)
exec "$(dirname "$0")/../packages.sh" "the tests of the installation" "${packages[@]}"
