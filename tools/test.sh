#!/usr/bin/env bash
# Builds and tests everything, from a clean clone on a fresh Debian 12 to a verdict: first the
# optimised build with all tests but the nightly ones, then the tests again, but for the slow ones,
# under the address and undefined-behaviour sanitizers. Needs no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install.sh tests

export TILEWRIGHT_CACHE_DIR=$PWD/build/test_cache # of the tests, and of nobody else
jobs=$(nproc)
started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

step "configure and build: release"
cmake --preset release -DTILEWRIGHT_BUILD_TESTS=ON -DTILEWRIGHT_BUILD_SHARED=ON
cmake --build --preset release -j "$jobs"

step "test: release"
ctest --preset release -j "$jobs" -LE nightly --output-junit "$PWD/build/release/tests.xml" \
  --test-output-size-passed 1000000 --test-output-size-failed 1000000 ||
  { tools/failures.py build/release/tests.xml; exit 1; }

step "build and test: asan"
tools/sanitized.sh

step "seconds of each group of tests: release"
tools/test_seconds.py build/release

step "skipped tests"
tools/skips.sh tests/skips.txt build/release/tests.xml build/asan/tests/*_tests.[01].log

step "all tests passed"
