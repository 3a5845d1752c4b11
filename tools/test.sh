#!/usr/bin/env bash
# Builds and tests everything, from a clean clone on a fresh Debian 12 to a verdict: first the
# optimised build with all tests, then the build with the address and undefined-behaviour sanitizers
# with all tests but those labelled slow. Needs no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install.sh

jobs=$(nproc)
started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

step "configure and build: release"
cmake --preset release -DTILEWRIGHT_BUILD_TESTS=ON -DTILEWRIGHT_BUILD_SHARED=ON
cmake --build --preset release -j "$jobs"

step "test: release"
ctest --preset release -j "$jobs"

step "configure and build: asan"
cmake --preset asan
cmake --build --preset asan -j "$jobs"

step "test: asan"
export UBSAN_OPTIONS=print_stacktrace=1
ctest --preset asan -j "$jobs" -LE 'slow|install'

step "all tests passed"
