#!/usr/bin/env bash
# Each source compiles by itself: it includes what it needs, which unity builds do not show. Nothing
# is generated or linked.
# usage: single_sources_test.sh SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source" --preset plain -B "$work" -DTILEWRIGHT_BUILD_TESTS=ON \
  -DCMAKE_CXX_FLAGS_RELEASE=-fsyntax-only >"$work/configured" || { cat "$work/configured" >&2; exit 1; }
objects=$(ninja -C "$work" -t targets all | sed -n 's/\(\.cpp\.o\): .*/\1/p')
[ "$(wc -w <<<"$objects")" -gt 1000 ] || { echo "few sources were found" >&2; exit 1; }
# shellcheck disable=SC2086 # a list of names
ninja -C "$work" -k 0 $objects >"$work/compiled" || {
  grep -E "error|FAILED" "$work/compiled" | head -100 >&2
  exit 1
}
