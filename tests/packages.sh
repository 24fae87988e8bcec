#!/usr/bin/env bash
# Installs packages that are missing, on Debian and its like: packages.sh WHO-USES-THEM PACKAGE...
set -euo pipefail
user=$1
shift
missing=()
for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi
if ! command -v apt-get >/dev/null; then
    echo "error: install ${missing[*]}, which $user use" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then as_root=(); else as_root=(sudo); fi
# One after another: apt does not wait for another apt.
exec 9>"${TMPDIR:-/tmp}/counterpoint-packages-$(id -u).lock"
flock 9
"${as_root[@]}" apt-get update -qq 9>&-
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" 9>&-
