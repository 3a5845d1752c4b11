#!/usr/bin/env bash
# Makes the site of the pages and the public headers (docs/site/README.md): installs doxygen where it is missing,
# writes what Doxygen reads, runs it, and looks at every link. Fails at a warning or a dead link.
# usage: tools/site.sh [OUT]    build/site if none is named; the first page is OUT/html/index.html
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "${1:-build/site}"
out=$(realpath "${1:-build/site}")

if ! command -v doxygen >/dev/null || ! command -v python3 >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" apt-get install -y -q --no-install-recommends doxygen python3
fi

rm -rf "$out/html" "$out/pages"
export PYTHONDONTWRITEBYTECODE=1
python3 docs/site/pages.py "$out"
version=$(sed -n 's/^project(tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
{
  cat docs/site/Doxyfile "$out/inputs"
  printf '%s\n' "OUTPUT_DIRECTORY = $out" "HTML_HEADER = $out/header.html" "PROJECT_NUMBER = $version" \
    "GENERATE_TAGFILE = $out/names.xml" "WARN_LOGFILE = $out/warnings"
} >"$out/Doxyfile"
doxygen "$out/Doxyfile"
if [ -s "$out/warnings" ]; then
  cat "$out/warnings" >&2
  echo "site.sh: Doxygen warns of what is above" >&2
  exit 1
fi
python3 docs/site/names.py "$out/names.xml" "$out/html"
python3 docs/site/check_links.py "$out/html" "$out/pages"
echo "site: $out/html/index.html"
