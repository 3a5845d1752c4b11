#!/usr/bin/env bash
# A package that C++ has written, run from C, Python, Fortran and Rust, where these are installed:
# all print the same numbers, and link to a library without a compiler in it.
# usage: package_test.sh <program of lesson 17> <its program in C> <libtilewright_c.so> <run.py>
set -euo pipefail
lesson=$1 in_c=$2 library=$3 in_python=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
"$lesson" "$work/model.twp" >"$work/cpp.txt" || fail "the lesson ends with $?"
grep -E '^[0-9.]+ [0-9.]+ [0-9.]+$' "$work/cpp.txt" >"$work/numbers.txt" || fail "no numbers: $(cat "$work/cpp.txt")"
[ "$(wc -l <"$work/numbers.txt")" = 4 ] || fail "no four rows: $(cat "$work/cpp.txt")"
{ echo "takes x of 128 bytes, gives probabilities of 48 bytes"; cat "$work/numbers.txt"; } >"$work/expected.txt"
"$in_c" "$work/model.twp" >"$work/c.txt" || fail "the program in C ends with $?"
diff "$work/expected.txt" "$work/c.txt" || fail "C prints something else"
if command -v python3 >/dev/null; then
  python3 "$in_python" "$library" "$work/model.twp" >"$work/python.txt" || fail "the program in Python ends with $?"
  diff "$work/expected.txt" "$work/python.txt" || fail "Python prints something else"
else
  echo "there is no python3: the program in Python is not run"
fi
examples=$(dirname "$in_python") folder=$(dirname "$library")
if command -v gfortran >/dev/null; then
  gfortran -std=f2008 -Wall -Werror -J "$work" "$examples/run.f90" -o "$work/in_fortran" -L"$folder" -ltilewright_c -Wl,-rpath,"$folder"
  "$work/in_fortran" "$work/model.twp" >"$work/fortran.txt" || fail "the program in Fortran ends with $?"
  diff "$work/expected.txt" "$work/fortran.txt" || fail "Fortran prints something else"
else
  echo "there is no gfortran: the program in Fortran is not run"
fi
if command -v rustc >/dev/null; then
  rustc "$examples/run.rs" -o "$work/in_rust" -L "$folder" -C link-arg=-Wl,-rpath,"$folder"
  "$work/in_rust" "$work/model.twp" >"$work/rust.txt" || fail "the program in Rust ends with $?"
  diff "$work/expected.txt" "$work/rust.txt" || fail "Rust prints something else"
else
  echo "there is no rustc: the program in Rust is not run"
fi
# Where the file is damaged, both say why and end with 1.
head -c 500 "$work/model.twp" >"$work/cut.twp"
status=0; "$in_c" "$work/cut.twp" 2>"$work/err" || status=$?
[ "$status" = 1 ] || fail "a cut package: status $status"
grep -q 'the file is damaged or was cut off' "$work/err" || fail "it said $(cat "$work/err")"
# The library has no compiler, and needs nothing beside libc.
bytes=$(wc -c <"$library")
[ "$bytes" -lt 3000000 ] || fail "$library has $bytes bytes"
readelf -dW "$library" | grep NEEDED | grep -vE 'lib(c|m|pthread|dl)\.so|ld-linux' && fail "it needs more than libc" || true
nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^tilewright_' && fail "it exports other names" || true
echo ok
