#!/usr/bin/env bash
# `tilewright` answers unknown words and missing files with status 2 and a hint. A correct request
# that fails ends with status 1.
# usage: command_test.sh <tilewright>
set -euo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
unset TILEWRIGHT_TUNE_DB TILEWRIGHT_CACHE_DIR
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# refused TEXT WORD...: the command ends with 2 and says TEXT on stderr, and nothing on stdout.
refused() {
  local expected=$1 status=0
  shift
  "$tool" "$@" >out 2>err </dev/null || status=$?
  [ "$status" = 2 ] || fail "$*: status $status, $(cat err)"
  [ ! -s out ] || fail "$*: it printed $(head -3 out)"
  grep -qF -- "$expected" err || fail "$*: it said $(cat err)"
  [ "$(wc -c <err)" -lt 4000 ] || fail "$*: it said too much"
}
# An attacker finds no table to write to: linked addresses are read only from the start.
readelf -dW "$tool" >sections && { grep -qE 'BIND_NOW|FLAGS_1.*NOW' sections || fail "no BIND_NOW"; }
readelf -lW "$tool" | grep -q GNU_RELRO || fail "no RELRO"
readelf -lW "$tool" | grep GNU_STACK | grep -q 'RWE' && fail "the stack can be run" || true
said() { grep -qF -- "$1" "$2" || fail "\"$1\" is missing in $(cat "$2")"; }

refused '[tilewright] there is no command "nosuch"; known are generate, embed, quantize, run, inspect, bench, explain,' nosuch
refused 'did you mean explain?' explian
refused '[tilewright] no command is named; known are generate,'
refused '[tilewright bench] there is no command "nosuch"; known are regional, ' bench nosuch
refused '[tilewright db] no command is named; known are list,' db
"$tool" --help >out || fail "--help ends with $?"
"$tool" bench gemm --help >out || fail "bench gemm --help ends with $?"
"$tool" --version >out || fail "--version ends with $?"

refused '[bench] no case of gemm has "nosuchcase" in its name; there are' bench gemm --tiny nosuchcase
refused '[bench] graphs has no case for cpu; --device cuda:0 is what it times' bench graphs

refused '[explain] there is no model "tinny", nor a folder of that name; did you mean tiny?; known are tutorial, tiny, stories260k' explain tinny
refused "[mode] 'fastest' is unknown" explain tiny --mode fastest
refused '--threads: Value 0 not in range' explain tiny --threads 0
refused '--threads: Value 0 not in range' demo --threads 0
refused '[compile] --tune-seconds is -1; seconds above 0 are wanted' explain --tune-seconds -1
refused '[compile] --tune-seconds is nan; seconds above 0 are wanted' explain --tune-seconds nan
refused 'there is no file "none.plan"; ' explain --locked none.plan
refused '--layers: Value 99999999999 not in range 1 to 10000' explain --layers 99999999999
refused '[demo] there is no file "none/config.json"; name the folder of a model by --model' demo --model none
"$tool" explain tiny --mode reduce_overhead --json >out || fail "reduce_overhead, as the mode is spelt in C++"

refused '--trials: the value is 0; a number above 0 is right' tune x --trials 0
refused '[tune] no kernel has "nosuchkernel" in its name' tune nosuchkernel

refused '[run] there is no file "none.pt2"; ' run none.pt2
refused '[inspect] there is no file "none.pt2"; ' inspect none.pt2

refused '[opt] standard input: no program is in it' opt
refused '[ptx] standard input: no program is in it' ptx
echo 'func @f() { constnt }' >bad.tile
refused '[opt] bad.tile: ' opt bad.tile
refused '[ptx] bad.tile: ' ptx bad.tile
refused '[opt] cannot read "none.tile"' opt none.tile
refused 'banana not in {tile,schedule,llvm,asm,dot}' opt --emit banana
refused "there is no pass 'simplfy'; there are" opt --passes simplfy
printf 'graph {\n  %%0: f32[4x6] = input\n  %%1: f32[4x6] = relu %%0\n  inputs %%0\n  return %%1\n}\n' >relu.graph
refused "there is no graph pass called simplify; the passes are" opt relu.graph --passes simplify
refused '--target avx2 for a graph' opt --target avx2 relu.graph
"$tool" opt relu.graph --time >out 2>err || fail "opt of a graph ends with $?"
said '= maximum %0, %1' out
said 'decompose' err
"$tool" opt relu.graph --emit dot >out || fail "opt --emit dot ends with $?"
said 'peripheries=2' out
refused '--emit asm for a graph' opt relu.graph --emit asm
refused 'unknown processor "sm_91"; known are amx' opt --target sm_91
refused 'asm for sm_90a, a GPU' opt --target sm_90a --emit asm
refused '[ptx] there is no kernel "matmul"' ptx --kernel matmul
refused 'sm_70' ptx --target sm_70 bad.tile
TILEWRIGHT_SKIP_PASSES=hoist refused \
  "[TILEWRIGHT_SKIP_PASSES] there is no pass 'hoist'; there are, over graphs," explain tiny

# A trace that cannot be written is reported before anything runs, once.
TILEWRIGHT_TRACE=none/trace.json "$tool" explain tiny --json >out 2>err || fail "the trace stops the program"
said 'tilewright: [TILEWRIGHT_TRACE] cannot create a file beside none/trace.json' err
[ "$(wc -l <err)" = 1 ] || fail "the trace: $(cat err)"

refused '[db] there is no database "missing.db"; --db or TILEWRIGHT_TUNE_DB names one' db list --db missing.db
[ ! -e missing.db ] || fail "looking at a database makes one"
# In less time than one measurement takes nothing is kept; with --keep that is status 1.
"$tool" tune "layer_norm of 768" --seconds 0.000001 >out 2>err || fail "tune without time: status $?"
said '[tune] nothing of layer_norm of 768, f32 is measured: 1e-06 s were over' err
status=0
"$tool" tune "layer_norm of 768" --keep --seconds 0.000001 >out 2>err || status=$?
[ "$status" = 1 ] || fail "tune --keep without time: status $status"
said '[tune] nothing of layer_norm of 768, f32 is measured, and nothing is kept: 1e-06 s were over' err
said ' before the first configuration was timed; --seconds allows it more' err
refused 'nothing was tuned yet: `tilewright tune WORD --keep` makes it' db list
refused '--format: tabel not in {table,csv,json}' db list --format tabel

# Results of tuning are found under the requested name.
"$tool" tune "layer_norm of 768" --keep --trials 2 --seconds 1 --rounds 2 >out 2>err || fail "tune: $(cat err)"
# A result that cannot be stored is reported, and the status is 1.
status=0
TILEWRIGHT_CACHE_DIR=off "$tool" tune "layer_norm of 768" --keep --trials 2 --seconds 1 --rounds 2 \
  >out 2>err || status=$?
[ "$status" = 1 ] || fail "tune --keep without a place: status $status"
said '[tune] nothing of layer_norm of 768' err
said 'TILEWRIGHT_CACHE_DIR is off' err
"$tool" db list layer_norm --wide >wide || fail "db list layer_norm"
said 'layer_norm of 768, f32 (' wide
"$tool" db list layer_norm >list || fail "db list layer_norm"
said 'layer_norm of' list
[ "$(awk '{ print length }' list | sort -n | tail -1)" -le 100 ] || fail "a table wider than 100: $(cat list)"
id=$(sed -n 3s/' .*'//p list)
for which in "$id" "${id:0:6}" "layer_norm of 768"; do
  "$tool" db why-miss "$which" >out || fail "db why-miss $which"
  said 'the key is there' out
done
"$tool" db show layer_norm --format csv >out
[ "$(head -1 out)" = "id,kernel,configuration,status,median_ns,spread_percent,samples,date,clocks,driver,compiler,reason" ] ||
  fail "the columns: $(head -1 out)"
grep -qE ',ok,[0-9.]+,[0-9.e-]+,[0-9]+,' out || fail "no numbers: $(cat out)"
for table in list show best history; do
  "$tool" db $table >out
  [ "$(awk '{ print length }' out | sort -n | tail -1)" -le 100 ] || fail "db $table is wider than 100: $(cat out)"
done
"$tool" db show --wide >out
said 'llvm=' out
refused '[db] nothing is stored of "nosuch"' db show nosuch
refused 'did you mean layer_norm of 768, f32?' db best "layer_nrom of 768, f32"
refused '[db] there is no database "missing.db"' db diff missing.db
refused '[db] there is no file "none.jsonl"' db import none.jsonl

# Kept code is listed, carried and removed, and each miss has a reason.
"$tool" explain tiny >out 2>err || fail "explain tiny: $(cat err)"
"$tool" cache list --format csv >list || fail "cache list"
entries=$(($(wc -l <list) - 1))
[ "$entries" -ge 3 ] && [ "$(grep -c ',host,.*,used here$' list)" = "$entries" ] || fail "the list: $(cat list)"
id=$(sed -n 2p list | cut -d, -f1)
"$tool" cache why-miss "$id" >out && said '1 of these would be found by this build' out
TILEWRIGHT_CPU=sse "$tool" cache why-miss "$id" --format csv >out
grep -qE "^$id,.*,lanes,4,[0-9]+$" out || fail "why-miss: $(cat out)"
TILEWRIGHT_CPU=sse TILEWRIGHT_LOG=cache "$tool" explain tiny >out 2>err
said ' is compiled: the nearest entry differs in cpu (' err
TILEWRIGHT_LOG=cache "$tool" explain tiny >out 2>err
[ ! -s err ] || fail "what is there is missed: $(cat err)"
"$tool" cache export all.cache "$id" >out && said 'all.cache: 1 entries' out
TILEWRIGHT_CPU=sse "$tool" cache prune --other-builds >out && said "$entries entries removed" out
"$tool" cache prune --older-than 0 >out && said ' entries removed' out
"$tool" cache import all.cache >out && said 'all.cache: 1 entries' out
file=$(find cache -name "$id*.object")
printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none
status=0
"$tool" cache verify >out || status=$?
[ "$status" = 1 ] || fail "verify of a damaged entry: status $status"
said '1 entries, 1 damaged' out
"$tool" cache verify --repair >out || fail "verify --repair"
"$tool" cache stats --format json >out && said '"entries": 0' out
head -c 1000 all.cache >cut.cache
status=0
"$tool" cache import cut.cache >out 2>err || status=$?
[ "$status" = 1 ] || fail "import of a file that is cut off: status $status"
said '[cache import] cut.cache is damaged or cut off' err
head -c -8 all.cache >cut.cache # behind the last entry
"$tool" cache import cut.cache >out 2>err && fail "import of a file without its end"
said '[cache import] cut.cache is damaged or cut off' err
refused '[cache] nothing is kept of "nosuch"' cache list nosuch
refused '[cache] nothing says what to remove' cache prune
refused '[cache import] there is no file "none.cache"' cache import none.cache
echo "passed"
