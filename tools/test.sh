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
  --test-output-size-passed 1000000 --test-output-size-failed 1000000

# Test programs in the order of their times, so that none is left alone at the end. Each runs in two
# processes that share its tests; of the longest three a third of the tests run here, and all of them
# where SANITIZE is `all`.
sanitized=(graph_tests property_tests models_tests cuda_tests autotune_tests dsl_tests layout_tests
  emulator_tests runtime_tests golden_tests)
parts_of() {
  case $1 in
    graph_tests | models_tests | property_tests) [ "${SANITIZE:-}" = all ] && echo 2 || echo 6 ;;
    *) echo 2 ;;
  esac
}
# Random programs by the thousand run above; here two parts of the tile programs, the graphs of the
# shorter lists, and one of the three tests of whole pipelines; and a few of the graphs of several
# sizes and of the programs that PyTorch has exported (TILEWRIGHT_TEST_GRAPHS, _SHARE).
left_out='Slow*:PlannedGraphs.FusedComputeWhatTheGraphMeans'
left_out+=':TilePasses.ThatDoNotRoundAnew*:TilePasses.ASecondRun*'
left_out+=':*TileCodegen*/?:*TileCodegen*/1?:*TileCodegen*/2?'
left_out+=':*TileGpu*/?:*TileGpu*/1?:*TileGpu*/2?'
left_out+=':ExportedCorpus.Compiled*' # what the operators compute, they compute at once too

step "configure and build: asan"
cmake --preset asan
cmake --build --preset asan -j "$jobs" --target "${sanitized[@]}"

step "test: asan"
# Four frames of each allocation instead of thirty: a sixth of the time.
export ASAN_OPTIONS=malloc_context_size=4
export UBSAN_OPTIONS=print_stacktrace=1 TILEWRIGHT_THREADS=2 TILEWRIGHT_TEST_GRAPHS=100
export TILEWRIGHT_TEST_SHARE=3 left_out
run_sanitized() {
  local part=$2 parts=$3 log=$1.$2.log started=$SECONDS
  cd build/asan/tests
  GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part "./$1" --gtest_filter="-$left_out" \
    --gtest_brief=1 >"$log" 2>&1 && echo "$1, part $part of $parts: passed in $((SECONDS - started)) s" &&
    return
  cat "$log"
  echo "$1, part $part of $parts: failed"
  return 1
}
export -f run_sanitized
rm -f build/asan/tests/*.log
for test in "${sanitized[@]}"; do
  for part in 0 1; do echo "$test $part $(parts_of "$test")"; done
done |
  xargs -P "$jobs" -I{} bash -c 'run_sanitized {}'

step "seconds of each group of tests: release"
tools/test_seconds.py build/release

step "skipped tests"
tools/skips.sh tests/skips.txt build/release/tests.xml build/asan/tests/*_tests.[01].log

step "all tests passed"
