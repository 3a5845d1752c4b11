#!/usr/bin/env bash
# Builds the test programs with the address and undefined-behaviour sanitizers, in build/asan, and
# runs them but for the slow tests. With SANITIZE=all no part of them is left to other runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export TILEWRIGHT_CACHE_DIR=$PWD/build/test_cache # of the tests, and of nobody else
jobs=$(nproc)

# Test programs in the order of their times, so that none is left alone at the end. Each runs in two
# processes that share its tests; of the longest two a third of the tests run here, of cuda_tests
# half, and all of them where SANITIZE is `all`. So do the random programs of property_tests, which take as long to build
# as they run.
sanitized=(graph_tests models_tests cuda_tests autotune_tests dsl_tests layout_tests
  emulator_tests runtime_tests golden_tests)
[ "${SANITIZE:-}" = all ] && sanitized+=(property_tests)
parts_of() {
  case $1 in
    graph_tests | models_tests) [ "${SANITIZE:-}" = all ] && echo 2 || echo 6 ;;
    cuda_tests) [ "${SANITIZE:-}" = all ] && echo 2 || echo 4 ;;
    *) echo 2 ;;
  esac
}
# Random programs by the thousand run in the release's tests; here two parts of the tile programs, the graphs of the
# shorter lists, and one of the three tests of whole pipelines; and a few of the graphs of several
# sizes and of the programs that PyTorch has exported (TILEWRIGHT_TEST_GRAPHS, _SHARE).
left_out='Slow*:PlannedGraphs.FusedComputeWhatTheGraphMeans'
left_out+=':TilePasses.ThatDoNotRoundAnew*:TilePasses.ASecondRun*'
left_out+=':*TileCodegen*/?:*TileCodegen*/1?:*TileCodegen*/2?'
left_out+=':*TileGpu*/?:*TileGpu*/1?:*TileGpu*/2?'
left_out+=':ExportedCorpus.Compiled*' # what the operators compute, they compute at once too
# Those that take a quarter of the time and touch no memory that no other test does: many sizes,
# orders or processes of the same few programs.
if [ "${SANITIZE:-}" != all ]; then
  left_out+=':*InvarianceOfSizes*:SavedShare.SmallerOnes*:ChangingSizes.AreRightInAttention'
  left_out+=':GridSample.TakesElementsAt*:*AgreeAtOnceAndCompiled/grid_sample'
  left_out+=':*AttentionOfManyRowsOfNarrow*:Fourier.Compiled*:*OptionsTable.IsWhatHolds/20'
  left_out+=':FewRowsDot.*:SpecialPoints.Derivatives*:ConvolutionOfLongFilters.*'
  left_out+=':TokenizerSteps.EncodeAWordOfAMegabyte*:Special.FunctionsAreThoseOfC'
fi

cmake --preset asan
cmake --build --preset asan -j "$jobs" --target "${sanitized[@]}"

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
