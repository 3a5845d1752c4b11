#!/usr/bin/env bash
# Captured graphs are the same on two processors, each in a process of its own.
# usage: captured_graphs_test.sh MODELS_TESTS
set -euo pipefail
tests=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for cpu in sse avx2; do
  TILEWRIGHT_CPU=$cpu TILEWRIGHT_CAPTURED_GRAPHS=$work/$cpu \
    "$tests" --gtest_brief=1 --gtest_filter=CapturedGraphs.AreTheSameOnEveryDevice
done
[ "$(wc -l <"$work/sse")" -gt 1000 ] || { echo "few graphs were captured" >&2; exit 1; }
cmp "$work/sse" "$work/avx2"
