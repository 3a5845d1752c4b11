#!/usr/bin/env bash
# The identity of the compiler's build, by which tuning keeps what it measured apart: it is another
# where any source of runtime, dsl or graph is, but for those that are left out by name; where a
# source is new; and where another compiler or other flags built them.
# usage: compiler_build_test.sh <source folder>
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
cp -r "$source_dir/runtime" "$source_dir/dsl" "$source_dir/graph" "$work"
identity() {
  cmake -DTILEWRIGHT_SOURCE_DIR="$work" -DTILEWRIGHT_VERSION=1 -DTILEWRIGHT_LLVM_VERSION=2 \
    -DTILEWRIGHT_COMPILER="${1:-GNU 12 -O3}" -DTILEWRIGHT_HEADER="$work/header.h" \
    -P "$source_dir/cmake/compiler_build.cmake" 2>"$work/said" || fail "$(cat "$work/said")"
  [ ! -s "$work/said" ] || fail "$(cat "$work/said")"
  sed -n 's/.*SOURCES "\(.*\)"/\1/p' "$work/header.h"
}
first=$(identity)
[ "${#first}" = 16 ] || fail "the identity is \"$first\""
[ "$first" = "$(identity)" ] || fail "the identity of one tree is two"
[ "$first" != "$(identity "GNU 13 -O3")" ] || fail "another compiler is not another build"
[ "$first" != "$(identity "GNU 12 -O2")" ] || fail "other flags are not another build"

# A source that may change without another identity. Each is here for a reason that
# cmake/compiler_build.cmake gives; a line more there needs one more here.
is_left_out() {
  case $1 in
    dsl/emulator/* | dsl/interpret/* | dsl/codegen/gpu/emulate/program_observers.*) ;;
    graph/compile/reports/plan_report.cpp | graph/ir/print.cpp | graph/ir/parse.cpp | graph/ir/dot.cpp | \
      graph/functions/dlpack* | graph/ir/evaluate*) ;;
    graph/ir/text_line.h) ;;
    graph/regions/reference/*) ;;
    graph/regions/text/*) ;;
    graph/ir/bgl.h | graph/tune/plan_lock.* | runtime/package/* | graph/compile/packages/*) ;;
    runtime/trace.* | runtime/nvtx.* | runtime/cache_folder.* | runtime/kept/entry_store.*) ;;
    runtime/base/env.* | runtime/files/atomic_file.* | runtime/base/error.*) ;;
    *) return 1 ;;
  esac
}
# Halves of the sources are changed at once: those that are left out, which must change nothing; then
# one of each folder, and those that decide code far from dsl/codegen.
cd "$work"
sources=$(find runtime dsl graph -name '*.cpp' -o -name '*.h' -o -name '*.def' | sort)
[ "$(wc -l <<<"$sources")" -gt 300 ] || fail "only $(wc -l <<<"$sources") sources"
while read -r name; do
  if is_left_out "$name"; then echo "// changed" >>"$name"; fi
done <<<"$sources"
[ "$first" = "$(identity)" ] || fail "the identity holds a source that is left out"
count=0
while read -r name; do
  is_left_out "$name" && continue
  case $name in
    graph/ops/decomposition.cpp | graph/ir/ops.def | graph/ops/rules.cpp | graph/run/make_plan.cpp | \
      graph/tune/region_space.cpp | graph/lower/* | graph/regions/* | runtime/base/* | dsl/passes/*) ;;
    *) [ $((count++ % 25)) = 0 ] || continue ;;
  esac
  cp "$name" "$work/kept"
  echo "// changed" >>"$name"
  [ "$first" != "$(identity)" ] || fail "$name is neither in the identity nor left out by name"
  cp "$work/kept" "$name"
done <<<"$sources"
[ "$first" = "$(identity)" ] || fail "the sources were put back"
for folder in runtime/base dsl/language dsl/codegen/host graph/tensor graph/passes graph/run; do
  echo "// new" >"$folder/new_source.cpp"
  [ "$first" != "$(identity)" ] || fail "a new source in $folder is not in the identity"
  rm "$folder/new_source.cpp"
done
echo "passed"
