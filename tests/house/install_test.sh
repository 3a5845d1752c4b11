#!/usr/bin/env bash
# Installs the library, moves it, and builds and runs examples/00_minimal against it in both ways
# that the example names, and the program in C of lesson 17 against libtilewright_c; looks at what the library exports and at what its headers include.
# Runs the installed command, and looks for the licences and for what the pages lead to.
# usage: install_test.sh <source folder> <build folder>
set -euo pipefail
source_dir=$1
build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect_output() {
  [ "$1" = "1 1 3 5 " ] || fail "the example printed \"$1\""
}

cmake --install "$build_dir" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
library=$(find "$work/moved" -name libtilewright.so)
[ -n "$library" ] || fail "no libtilewright.so was installed"
pc_dir=$(dirname "$(find "$work/moved" -name tilewright.pc)")

foreign=$(nm -D --defined-only "$library" | awk '{print $NF}' |
  grep -Ev '^_Z(T[ISVT]|Th[0-9n]+_)?N[KRO]*10tilewright|^tilewright_' || true)
[ -z "$foreign" ] || fail "the library exports names of others: $(head -5 <<<"$foreign")"
needed=$(objdump -p "$library" | awk '/NEEDED/ {print $2}' |
  grep -Ev '^(libstdc\+\+|libm|libgcc_s|libc|libz|libzstd|ld-linux-x86-64)\.so' || true)
[ -z "$needed" ] || fail "the library needs: $needed"
walled=$(grep -rnE '#include <(llvm|boost|range/v3|nlohmann|fmt|CLI|Eigen)/' "$work/moved/include" || true)
[ -z "$walled" ] || fail "a public header includes an outside library: $walled"
baked=$(grep -rlF -e "$work/first" -e "$source_dir" "$work/moved" || true)
[ -z "$baked" ] || fail "the folder of the build is baked into: $baked"

if readelf -S "$library" | grep -q '\.symtab'; then fail "the library is not stripped"; fi
[ ! -e "$work/moved/include/tilewright/autotune/database/sql/sql_connection.h" ] || fail "SQL among the public headers"
sql=$(grep -rlE 'sqlite3|postgres_connection|SqlConnection|SqlValue' "$work/moved/include" || true)
[ -z "$sql" ] || fail "public headers show SQL: $sql"

documents=$work/moved/share/doc/tilewright
cmp "$source_dir/LICENSE" "$documents/LICENSE" || fail "no LICENSE"
for name in LLVM SQLite zlib minizip Zstandard libxml2 PCRE2 utf8proc Eigen "JSON for Modern C++" fmt CLI11 stories260K; do
  grep -qxF -- "$name" "$documents/NOTICE" || fail "no notice of $name"
done

while read -r page; do
  for target in $(grep -oE '\]\([A-Za-z0-9_./-]+\)' "$page" | tr -d '])('); do
    [ -e "$(dirname "$page")/$target" ] || fail "${page#"$documents/"} leads to $target, which is not there"
  done
done < <(find "$documents" -name '*.md')

echo "command"
command=$work/moved/bin/tilewright
"$command" --version | grep -q '^tilewright ' || fail "the command has no version"
"$command" explain tiny >"$work/explained" || fail "the command explains nothing"
if "$command" bench gemm --tiny --peer all --python /nonexistent/python >/dev/null 2>"$work/peers"; then
  grep -q 'no peer' "$work/peers" || fail "the peers: $(cat "$work/peers")"
fi
[ -e "$work/moved/share/tilewright/peers/torch_cpu.py" ] || fail "no adapter of peers"
"$source_dir/tests/house/demo_test.sh" "$command"

echo "C++17"
if g++ -std=c++17 -fsyntax-only -I"$work/moved/include" -x c++ - 2>"$work/said" \
  <<<'#include <tilewright/tilewright.h>'; then fail "C++17 is taken"; fi
grep -q 'Tilewright needs C++20 or later' "$work/said" || fail "C++17: $(head -3 "$work/said")"
[ "$(grep -c ' error: ' "$work/said")" = 1 ] || fail "C++17: more than one error"

echo "find_package"
cmake -S "$source_dir/examples/00_minimal" -B "$work/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null
expect_output "$("$work/build/minimal")"
for device in emulated:sm_80 emulated:sm_90a; do
  expect_output "$(TILEWRIGHT_DEVICE=$device "$work/build/minimal")"
done

echo "pkg-config"
export PKG_CONFIG_PATH=$pc_dir
# The flags are several words each.
# shellcheck disable=SC2046
g++ -std=c++20 "$source_dir/examples/00_minimal/main.cpp" -o "$work/minimal" \
  $(pkg-config --cflags --libs tilewright)
expect_output "$(LD_LIBRARY_PATH=$(dirname "$library") "$work/minimal")"
# shellcheck disable=SC2046
g++ -std=c++20 "$source_dir/examples/00_minimal/main.cpp" -o "$work/minimal_rpath" \
  $(pkg-config --cflags --libs tilewright) -Wl,-rpath,"$(pkg-config --variable=libdir tilewright)"
expect_output "$("$work/minimal_rpath")"

echo "C"
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$source_dir/examples/17_packages/run.c" -o "$work/in_c" \
  $(pkg-config --cflags --libs tilewright_c)
mkdir "$work/c_project"
cat >"$work/c_project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(in_c LANGUAGES C CXX)
find_package(tilewright REQUIRED)
add_executable(in_c ${SOURCE})
target_link_libraries(in_c PRIVATE tilewright::tilewright_c)
CMAKE
cmake -S "$work/c_project" -B "$work/c_build" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" \
  -DSOURCE="$source_dir/examples/17_packages/run.c" >/dev/null
cmake --build "$work/c_build" >/dev/null
# Without a package it says so.
for program in "$work/in_c" "$work/c_build/in_c"; do
  status=0; LD_LIBRARY_PATH=$(dirname "$library") "$program" "$work/none.twp" 2>"$work/said" || status=$?
  [ "$status" = 1 ] || fail "$program without a package: status $status"
  grep -q '\[load_package\] cannot read .*none.twp' "$work/said" || fail "$program said $(cat "$work/said")"
done

echo "passed"
