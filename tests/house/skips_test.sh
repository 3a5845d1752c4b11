#!/usr/bin/env bash
# tools/skips.sh on what ctest and gtest print of tests that are skipped, in each of the ways in which
# one can be, with reasons that are listed and with one that is not.
# usage: skips_test.sh <source folder> <cmake> <runtime_tests>
set -euo pipefail
source_dir=$1 cmake=$2 runtime_tests=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/said" >&2
  exit 1
}
cat >"$work/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(skips NONE)
enable_testing()
add_test(NAME "quick on emulated:sm_80" COMMAND sh -c
  "seq 2000; echo 'host.cpp:1: Skipped'; echo 'only the host has <addresses> & \"names\"'; seq 2000")
add_test(NAME amx COMMAND sh -c "echo [target] this processor supports sse at the most; echo bad; exit 1")
set_tests_properties(amx PROPERTIES SKIP_REGULAR_EXPRESSION "supports [a-z]+ at the most")
add_test(NAME code COMMAND sh -c "echo no AVX-512; exit 77")
set_tests_properties(code PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME passes COMMAND sh -c "echo no AVX-512")
# Planted: a test of a program that cannot have what it needs, a reason in the wrong place, a test
# that says nothing, and one that is disabled.
add_test(NAME "planted program" COMMAND \${CMAKE_COMMAND} -E env PATH=/nonexistent
  $runtime_tests --gtest_brief=1 --gtest_filter=Trace.HasNumbersThatNoLocaleChanges)
add_test(NAME "planted place" COMMAND sh -c "echo 'a.cpp:1: Skipped'; echo only the host has it")
add_test(NAME "planted silence" COMMAND sh -c "exit 77")
set_tests_properties("planted silence" PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME "planted rest" COMMAND true)
set_tests_properties("planted rest" PROPERTIES DISABLED ON)
CMAKE
"$cmake" -S "$work" -B "$work/build" -G Ninja >/dev/null

# table STATUS ENTRIES: that of these entries, whose status must be that.
table() {
  local expected=$1 status=0
  (cd "$work/build" && "$(dirname "$cmake")/ctest" -R "$2" --output-junit "$work/tests.xml" \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000 >/dev/null 2>&1)
  "$source_dir/tools/skips.sh" "$source_dir/tests/skips.txt" "$work/tests.xml" >"$work/said" || status=$?
  [ "$status" = "$expected" ] || fail "$2: status $status instead of $expected"
}
has() { grep -qxE " +$1" "$work/said" || fail "\"$1\" is missing"; }

table 0 '^(quick|amx|code|passes)'
has '1  an emulated device    only the host has <addresses> & "names"  \(quick on emulated:sm_80\)'
has '1  no AMX, no AVX-512    \[target\] this processor supports sse at the most  \(amx\)'
has '1  no AMX, no AVX-512    no AVX-512  \(code\)'
grep -qx '4 entries of ctest; 3 skips' "$work/said" || fail "the numbers"
table 1 '^(amx|planted program)'
has '1  NOT LISTED            no locale can be made here \(localedef\)  \(planted program\)'
table 1 '^planted place'
has '1  NOT LISTED            only the host has it  \(planted place\)'
table 1 '^planted silence'
has '1  NOT LISTED            SKIP_RETURN_CODE=77  \(planted silence\)'
table 1 '^planted rest'
has '1  NOT LISTED            Disabled  \(planted rest\)'

# What a test program prints by itself.
PATH=/nonexistent "$runtime_tests" --gtest_filter='Trace.HasNumbersThatNoLocaleChanges:Env*' >"$work/runtime.log"
"$source_dir/tools/skips.sh" "$source_dir/tests/skips.txt" "$work/runtime.log" >"$work/said" &&
  fail "a skip that is not listed is taken"
has '1  NOT LISTED            no locale can be made here \(localedef\)  \(runtime.log\)'
: >"$work/nothing.log"
"$source_dir/tools/skips.sh" "$source_dir/tests/skips.txt" "$work/nothing.log" 2>"$work/said" &&
  fail "a program that printed nothing is taken"
echo "passed"
