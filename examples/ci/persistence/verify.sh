#!/bin/sh
# Builds and records the program, checks the recording, and cuts its power. Ends with 1 if a verdict does not hold.
# FORMAT=sarif, junit or github chooses what check.FORMAT and crash.FORMAT have.
set -eu
format=${FORMAT:-text}
gcc -g -O1 -o journal journal.c
rm -f pool
counterpoint record --out journal.cptrace -- ./journal pool 20

failed=0
verdict() {
    code=0
    name=$1
    shift
    counterpoint "$@" --format "$format" > "$name.$format" || code=$?
    cat "$name.$format"
    # 1 is a verdict; anything else is a mistake of this script, or of what it names.
    test "$code" -le 1 || exit "$code"
    test "$code" = 0 || failed=1
}
verdict check check journal.cptrace --suppressions persistence/suppressions.toml --baseline persistence/baseline.json
verdict crash crash unencrypted journal.cptrace --explore legal --recover './journal {pool} check'
exit "$failed"
