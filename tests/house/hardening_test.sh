#!/usr/bin/env bash
# The hardening of the linker and the compiler is visible in the files: addresses are resolved at
# the start and then read only, nothing is both writable and executable; and, in a hardened build,
# functions check their stacks and calls of libc their sizes.
# usage: hardening_test.sh <ordinary|hardened> <C++ compiler> <linked file>... <archive.a>...
# Archives hold our own objects only; linked files hold those of others too, which do as they like.
set -euo pipefail
kind=$1 compiler=$2
shift 2
command -v readelf > /dev/null || { echo "SKIP: readelf is not installed"; exit 77; }
export LC_ALL=C

# These print what is missing, a line each.
linked_lacks() {
  local segments dynamic
  segments=$(readelf -lW "$1") dynamic=$(readelf -dW "$1")
  grep -q GNU_RELRO <<< "$segments" || echo "no RELRO: resolved addresses stay writable"
  grep -Eq '\(BIND_NOW\)|\bNOW\b' <<< "$dynamic" || echo "no BIND_NOW: addresses are resolved late"
  grep -Eq 'GNU_STACK.* RW +(0|0x[0-9a-f]+)$' <<< "$segments" || echo "the stack is executable, or not said"
  ! grep -Eq 'LOAD.* RWE ' <<< "$segments" || echo "a segment is both writable and executable"
  ! grep -q TEXTREL <<< "$dynamic" || echo "code is written to when it is loaded (TEXTREL)"
}
objects_lack() {
  local symbols archive objects marked
  symbols=$(readelf -sW "$@")
  grep -q __stack_chk_fail <<< "$symbols" || echo "no function checks its stack"
  grep -Eq 'UND __[a-z]+_chk$' <<< "$symbols" || echo "no call of libc checks its sizes"
  "$compiler" -dumpmachine | grep -q x86_64 || return 0
  for archive in "$@"; do
    objects=$(ar t "$archive" | wc -l)
    marked=$(readelf -nW "$archive" | grep -c 'x86 feature: IBT, SHSTK' || true)
    [ "$marked" -ge "$objects" ] ||
      echo "$archive: $((objects - marked)) of $objects objects have no mark of CET"
  done
}

# The test finds what is wrong: a program made without any of it lacks all of it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main() { return 0; }' > "$work/weak.cpp"
"$compiler" -O1 -fno-stack-protector -U_FORTIFY_SOURCE -fcf-protection=none -c "$work/weak.cpp" -o "$work/weak.o"
ar rc "$work/weak.a" "$work/weak.o"
"$compiler" "$work/weak.o" -o "$work/weak" -Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack
found=$( (linked_lacks "$work/weak"; objects_lack "$work/weak.a") | wc -l)
[ "$found" -ge 5 ] || { echo "FAILED: of a weak program only $found things are missed"; exit 1; }

failed=0
# check NAME WHAT_IS_MISSING
check() {
  [ -n "$2" ] || return 0
  echo "FAILED: $1 ($kind):"
  echo "$2"
  failed=1
}
archives=()
for file in "$@"; do
  case $file in
    *.a) archives+=("$file") ;;
    *)
      check "$file" "$(linked_lacks "$file")"
      # The mark says that all objects in the file have it, those of libraries too.
      mark=$(readelf -nW "$file" | grep -o 'x86 feature: .*' || echo "none, for an object lacks it")
      echo "$(basename "$file"): mark of branch protection: $mark"
      ;;
  esac
done
[ "$kind" = ordinary ] || check "our objects" "$(objects_lack "${archives[@]}")"
exit $failed
