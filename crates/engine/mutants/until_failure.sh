#!/bin/bash
# Runs a program of tests until the first test fails: cargo's runner for mutants.
set -o pipefail
"$@" | awk '{ print } /^test .* \.\.\. FAILED/ { exit 1 }'
