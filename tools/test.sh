#!/usr/bin/env bash
# Builds and tests everything, from a clean clone on a fresh Debian 12 to a verdict: first the
# optimised build with all tests, then the tests of the rooms named below under the address and
# undefined-behaviour sanitizers, but for the slow ones. Needs no GPU.
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

# The rooms whose tests run under sanitizers; the others have not been brought up under them yet.
sanitized=(runtime_tests)

step "configure and build: asan"
cmake --preset asan
cmake --build --preset asan -j "$jobs" --target "${sanitized[@]}"

step "test: asan"
export UBSAN_OPTIONS=print_stacktrace=1
for tests in "${sanitized[@]}"; do
  (cd build/asan/tests && "./$tests" --gtest_filter='-Slow*' --gtest_brief=1)
done

step "all tests passed"
