#!/usr/bin/env bash
# `tilewright` as a process, whatever the command: bad settings, closed and full standard files, a
# limit on the size of files, no memory and no threads end in a line and a status, never in a
# signal.
# usage: process_test.sh <tilewright>
set -uo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache HOME=$work
unset TILEWRIGHT_TUNE_DB TILEWRIGHT_CACHE_DIR TILEWRIGHT_DEVICE TILEWRIGHT_THREADS
cd "$work" || exit 1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# ends STATUS WORD...: runs the words, whose status must be that; stdout to out, stderr to err.
ends() {
  local expected=$1 status=0
  shift
  "$@" >out 2>err </dev/null || status=$?
  [ "$status" = "$expected" ] || fail "$*: status $status instead of $expected, $(head -c 600 err)"
}
said() { grep -qF -- "$1" err || fail "\"$1\" is missing in $(cat err)"; }
printed() { [ -s out ] || fail "nothing was printed; $(cat err)"; }

cat >program.tile <<'TILE'
func @copy(%p: ptr<f32>, %q: ptr<f32>) {
  %x = load %p : f32
  store %q, %x
}
TILE
ends 0 "$tool" opt program.tile
ends 0 "$tool" tune --list
ends 0 "$tool" tune --help
for size in rows columns depth splits cluster tail ahead; do
  grep -q "^  $size  *of [a-z ]*: ." out || fail "tune --help does not tell of $size: $(cat out)"
done

# Settings. --help answers whatever they are.
for setting in TILEWRIGHT_THREADS TILEWRIGHT_CPU TILEWRIGHT_DEVICE TILEWRIGHT_CHECK \
  TILEWRIGHT_CUDA_DRIVER TILEWRIGHT_NVML TILEWRIGHT_SYNC TILEWRIGHT_TRACE TILEWRIGHT_CACHE_DIR \
  TILEWRIGHT_TUNE_DB TILEWRIGHT_TUNE TILEWRIGHT_SKIP_PASSES TILEWRIGHT_STOP_AFTER TILEWRIGHT_DUMP \
  TILEWRIGHT_DUMP_PROGRAMS TILEWRIGHT_TEST_MODELS TILEWRIGHT_SEED TILEWRIGHT_PTXAS XDG_CACHE_HOME \
  NVTX_INJECTION64_PATH HOME TILEWRIGHT_NOSUCH; do
  for value in x /dev/null/x -1 99999999999999999999; do
    ends 0 env "$setting=$value" "$tool" --help
    printed
    ends 0 env "$setting=$value" "$tool" generate --help
    ends 0 env "$setting=$value" "$tool" tune --help
    status=0
    env "$setting=$value" "$tool" explain tiny >out 2>err || status=$?
    [ "$status" -le 2 ] || fail "$setting=$value explain tiny: status $status, $(cat err)"
    [ "$status" = 0 ] || said "$setting"
  done
done
for setting in TILEWRIGHT_DEVICE TILEWRIGHT_THREADS TILEWRIGHT_SYNC TILEWRIGHT_TUNE TILEWRIGHT_CPU; do
  ends 2 env "$setting=x" "$tool" explain tiny
  said "$setting"
  said x
done
# Also where the command has no use for it.
ends 2 env TILEWRIGHT_DEVICE=x "$tool" opt program.tile
said TILEWRIGHT_DEVICE

# Output that cannot be written.
: >empty
for words in --help --version "opt program.tile" "opt --list" "explain tiny" "tune --list" \
  "explain tiny --json" "db --help"; do
  "$tool" $words >/dev/full 2>err && fail "$words: status 0 with a full disk"
  said 'standard output could not be written'
  "$tool" $words >&- 2>err && fail "$words: status 0 with a closed standard output"
  said 'standard output could not be written'
  { "$tool" $words 2>err; echo $? >status; } | true
  { sleep 0.2; "$tool" $words 2>err; echo $? >status; } | true
  [ "$(cat status)" = 1 ] || fail "$words: status $(cat status) with a broken pipe"
  "$tool" $words >wanted 2>err <&- || fail "$words: status $? with a closed standard input"
  "$tool" $words >out 2>&- || fail "$words: status $? with a closed standard error"
  [ "$words" = "explain tiny" ] || [ "$words" = "explain tiny --json" ] || cmp -s out wanted ||
    fail "$words: other output with a closed standard error"
  "$tool" $words >out 2>/dev/full || fail "$words: status $? with a full standard error"
done
# A database opened while all three are closed is none of them.
"$tool" tune "layer_norm of 768" --keep --trials 2 --seconds 20 --rounds 2 >&- 2>&- <&-
[ $? = 1 ] || fail "tune with no standard file: status $?"
"$tool" db verify >out 2>err || fail "the database is damaged: $(cat out err)"

# A limit on the size of files: nothing can be kept; results need no file.
shown=$(ulimit -f 0 && TILEWRIGHT_CACHE_DIR=$work/limited "$tool" explain tiny --mode max-autotune \
  --tune-seconds 0.1 2>/dev/null) || fail "a limit on the size of files: status $?"
[ -n "$shown" ] || fail "a limit on the size of files: nothing was printed"

# Numbers are taken as they are, or refused.
for words in "generate nosuch --seed -1" "generate nosuch --seed 18446744073709551616" \
  "generate nosuch --max-tokens 9223372036854775808" "tune x --seed -1" "tune x --rounds 99999999999999999999"; do
  ends 2 "$tool" $words
  said "${words##* }"
  said "is right"
done
mkdir folder
ends 2 "$tool" opt folder
said '"folder" is a folder'

# Destructors of thread_local objects end the process where there is no memory to note them.
if command -v readelf >/dev/null; then
  [ "$(readelf --dyn-syms -W "$tool" | grep -c __cxa_thread_atexit)" = 0 ] ||
    fail "a thread_local object has a destructor; runtime/base/thread_end.h notes ends of threads"
fi

# Too little memory, and no thread beside the first.
for kib in 110000 130000 160000 200000; do
  status=0
  (ulimit -v $kib && "$tool" tune "layer_norm of 768" --trials 2 --seconds 0.2) >out 2>err || status=$?
  [ "$status" = 127 ] && continue # the loader itself found none
  [ "$status" -le 1 ] || fail "$kib KiB of memory: status $status, $(cat err)"
  [ "$status" = 0 ] || grep -qE 'out of memory|no memory|cannot start|of memory; it may take [0-9]+ MiB' err || fail "$kib KiB: $(cat err)"
done
echo "passed"
