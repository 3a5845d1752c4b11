#!/usr/bin/env bash
# `tilewright kernel run`: tile programs on arguments of the command line.
# usage: kernel_run_test.sh <tilewright>
set -euo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# ends STATUS WORD...: `kernel run` ends with that status; its output is in out and err.
ends() {
  local expected=$1 status=0
  shift
  "$tool" kernel run "$@" >out 2>err </dev/null || status=$?
  [ "$status" = "$expected" ] || fail "$*: status $status, $(cat out err)"
}
said() { grep -qF -- "$1" "$2" || fail "\"$1\" is missing in $(cat "$2")"; }

# y = 2 x + 1 in blocks of 4; its mask is for n elements.
cat >affine.tile <<'TILE'
func @affine(%x: ptr<f32>, %y: ptr<f32>, %n: i32) {
  %lanes = arange 0 to 4 : i32[4]
  %p = program_id 0 : i64
  %p32 = cast %p, i32 : i32
  %four = constant 4 : i32
  %first = mul %p32, %four : i32
  %firsts = splat %first, [4] : i32[4]
  %i = add %firsts, %lanes : i32[4]
  %ns = splat %n, [4] : i32[4]
  %mask = lt %i, %ns : bool[4]
  %xs = splat %x, [4] : ptr<f32>[4]
  %from = offset %xs, %i : ptr<f32>[4]
  %value = load %from, %mask : f32[4]
  %twice = add %value, %value : f32[4]
  %one = constant 1 : f32
  %ones = splat %one, [4] : f32[4]
  %result = add %twice, %ones : f32[4]
  %ys = splat %y, [4] : ptr<f32>[4]
  %to = offset %ys, %i : ptr<f32>[4]
  store %to, %result, %mask
}
TILE
arguments=(--grid 3 --args range:f32:10 zeros:f32:10 10)
for how in --interpret '--device cpu' '--device emulated:sm_80' '--device emulated:sm_90a'; do
  # shellcheck disable=SC2086
  ends 0 affine.tile $how "${arguments[@]}"
  [ "$(cat out)" = "y: f32 [10] = 1, 3, 5, 7, 9, 11, 13, 15, ... 2 more" ] || fail "$how: $(cat out)"
  # shellcheck disable=SC2086
  ends 0 affine.tile $how --json "${arguments[@]}"
  python3 -c 'import json; o = json.load(open("out"))["outputs"][0]; assert o["shape"] == [10], o
assert o["values"].split(", ")[9] == "19", o'
done
ends 0 affine.tile --device cpu --compare "${arguments[@]}"
said 'cpu agrees with the definition' out
ends 0 affine.tile --compare --json "${arguments[@]}"
said '{"difference":null}' out

ends 0 affine.tile --trace --watch twice --program 1 "${arguments[@]}"
said '(1, 0, 0) line 14: %15.twice = add %14.value, %14.value : f32[4]  = [8, 10, 12, 14]' out
[ "$(wc -l <out)" = 2 ] || fail "--watch --program shows $(cat out)"
ends 0 affine.tile --trace --json "${arguments[@]}"
python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open("out")]
assert len(lines) == 3 * 19 + 1, len(lines)
twice = [l for l in lines[:-1] if l["name"] == "twice"]
assert [l["program"][0] for l in twice] == [0, 1, 2], twice
assert twice[1]["results"] == [{"type": "f32[4]", "values": ["8", "10", "12", "14"]}], twice[1]
PYTHON

ends 1 affine.tile --interpret --grid 3 --args range:f32:10 zeros:f32:9 10
said 'line 20: [store] program (2, 0, 0), element 1: index 9 of y is outside: it has 9 elements' err
ends 1 affine.tile --check complete --grid 3 --args range:f32:10 empty:f32:10 n=9
said 'line 20: [store] index 9 of y is never written' err
ends 0 affine.tile --check bounds,races,nans,unwritten,complete --grid 3 \
  --args range:f32:10 empty:f32:10 n=10

ends 0 affine.tile --outputs out.safetensors "${arguments[@]}"
ends 0 affine.tile --grid 3 --args out.safetensors:y y=zeros:f32:10 n=10
[ "$(cat out)" = "y: f32 [10] = 3, 7, 11, 15, 19, 23, 27, 31, ... 2 more" ] || fail "$(cat out)"
ends 0 affine.tile --grid 3 --args random:f32:10:7 zeros:f32:10 10
mv out first
ends 0 affine.tile --grid 3 --args random:f32:10:7 zeros:f32:10 10
cmp -s first out || fail 'the same seed gives other numbers'

# Two programs write one element, in no defined order.
cat >race.tile <<'TILE'
func @race(%y: ptr<i64>) {
  %p = program_id 0 : i64
  store %y, %p
}
func @other(%y: ptr<i64>) {
  %p = program_id 0 : i64
  store %y, %p
}
TILE
ends 2 race.tile --args zeros:i64:1
said '[kernel run] there are 2 programs; name one by --kernel: race, other' err
ends 1 race.tile --kernel race --check races --grid 2 --args zeros:i64:1
said 'line 3: [store] a race for index 0 of y: program (1, 0, 0) writes 1, and program (0, 0, 0) writes 0 (line 3)' err

# The old value that an atomic returns depends on the order of elements, and the emulator's differs.
cat >atomic.tile <<'TILE'
func @count(%n: ptr<i64>, %y: ptr<i64>) {
  %lanes = arange 0 to 64 : i32[64]
  %long = cast %lanes, i64 : i64[64]
  %ns = splat %n, [64] : ptr<i64>[64]
  %old = atomic %ns, %long, add : i64[64]
  %ys = splat %y, [64] : ptr<i64>[64]
  %to = offset %ys, %long : ptr<i64>[64]
  store %to, %old
}
TILE
ends 1 atomic.tile --compare --device emulated:sm_80 --args zeros:i64:1 zeros:i64:64
said 'line 5: %5.old = atomic %4.ns, %3.long, add : i64[64]' out
said 'is the first that differs: program (0, 0, 0), turn 0, element [' out
ends 1 atomic.tile --compare --json --device emulated:sm_80 --args zeros:i64:1 zeros:i64:64
python3 -c 'import json; d = json.load(open("out"))["difference"]; assert d["parameter"] == "y", d
assert d["origin"]["name"] == "old", d'

# Mistakes at the command line.
ends 2 affine.tile --grid 3 --args range:f32:10 zeros:f32:10
said '[kernel run] the argument for n is missing; give --args; affine takes' err
ends 2 affine.tile --args range:f32:10 zeros:f32:10 10 11
said 'there are more arguments than parameters of affine' err
ends 2 affine.tile --args range:f32:10 zeros:f32:10 m=10
said 'affine has no parameter "m"' err
ends 2 affine.tile --args range:f32:10 zeros:f32:10 n=10 n=11
said 'the parameter n is given twice' err
ends 0 affine.tile --grid 3 --args n=10 range:f32:10 zeros:f32:10
ends 2 affine.tile --args range:f32 zeros:f32:10 10
said 'it has 2 parts; range:f32:1024 is right' err
ends 2 affine.tile --args range:f33:10 zeros:f32:10 10
said '"f33" is no element type' err
ends 2 affine.tile --args range:f32:ten zeros:f32:10 10
said '"ten" is no shape; 1024 or 32x32 is one' err
ends 2 affine.tile --args range:f64:10 zeros:f32:10 10
said 'it holds f64; the parameter is ptr<f32>' err
ends 2 affine.tile --args range:f32:10 zeros:f32:10 3000000000
said 'it is no number of i32' err
ends 2 affine.tile --args random:f32:10:x zeros:f32:10 10
said '"x" is no seed; a number is' err
ends 2 affine.tile --args range:f32:9999999x9999999 zeros:f32:10 10
said '"9999999x9999999" has more than 2147483648 elements' err
ends 2 affine.tile --args 10 zeros:f32:10 10
said 'it is no array; random, zeros, ones, range, empty make one' err
echo 'func @one(%y: ptr<f32>, %a: f32, %b: bool) { store %y, %a, %b }' >one.tile
ends 0 one.tile --args zeros:f32:1 0.5 true
[ "$(cat out)" = 'y: f32 [1] = 0.5' ] || fail "$(cat out)"
ends 0 one.tile --args zeros:f32:1 -0.5 b=true
[ "$(cat out)" = 'y: f32 [1] = -0.5' ] || fail "$(cat out)"
ends 0 one.tile --args a=2 zeros:f32:1 true
[ "$(cat out)" = 'y: f32 [1] = 2' ] || fail "$(cat out)"
ends 2 one.tile --args zeros:f32:1 half true
said 'it is no number of f32' err
ends 2 one.tile --args zeros:f32:1 0.5 1
said 'a bool is true or false' err
ends 2 affine.tile --args none.safetensors:x zeros:f32:10 10
said 'there is no file "none.safetensors"' err
ends 2 affine.tile --args out.safetensors:z zeros:f32:10 10
said 'out.safetensors has no tensor "z"' err
ends 2 affine.tile --watch twice "${arguments[@]}"
said '--watch and --program say what --trace shows; add it' err
ends 2 affine.tile --compare --trace "${arguments[@]}"
said '--compare runs both the interpreter and the device' err
ends 2 affine.tile --interpret --device cpu "${arguments[@]}"
said '--device cpu with --interpret, --trace or --check' err
ends 2 affine.tile --grid 1,1,1,1 --args range:f32:10 zeros:f32:10 10
said '--grid has 4 sizes; it has 3 at the most' err
ends 1 affine.tile --trace --watch nothing "${arguments[@]}"
said '[affine] no tile is named "nothing"; there are "lanes", "p"' err
ends 1 affine.tile --trace --program 5 "${arguments[@]}"
said 'there is no program (5, 0, 0); the grid is 3 x 1 x 1' err
