#!/usr/bin/env bash
# C libraries for 64-bit Arm, compiled by a cross compiler and run by qemu: models give the numbers
# that the same code for x86-64 gives.
# usage: arm_test.sh <tilewright> <folder of exported models>
set -euo pipefail
tool=$(realpath "$1") models=$(realpath "$2")
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
cross=$(command -v aarch64-linux-gnu-gcc || true)
if [ -z "$qemu" ] || [ -z "$cross" ]; then
  echo "there is no compiler or no emulator of aarch64"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

cat >main.c <<'PROGRAM'
#include LIBRARY
#include <stdio.h>
static _Alignas(64) char workspace[MODEL_WORKSPACE_BYTES];
static _Alignas(64) INPUT in[1 << 16];
static _Alignas(64) float out[1 << 16], rest[1 << 16];
int main(void) {
  for (int i = 0; i < 1 << 16; ++i) in[i] = (INPUT)(i * 7 % 23) / SCALE;
  const char* problem = model_run(ARGUMENTS, workspace);
  if (problem != NULL) return puts(problem), 1;
  for (int i = 0; i < COUNT; ++i) printf("%.9g\n", out[i]);
  return 0;
}
PROGRAM

# compare MODEL INPUT SCALE COUNT ARGUMENTS
compare() {
  local model=$1
  shift
  for cpu in sse neon; do
    mkdir -p $cpu
    "$tool" package "$models/$model.pt2" --cpu $cpu -o $cpu/model.c >/dev/null
    local compiler=cc run=
    [ $cpu = neon ] && compiler=$cross run=$qemu
    "$compiler" -O1 -static -I$cpu '-DLIBRARY="model.h"' "-DINPUT=$1" "-DSCALE=$2" "-DCOUNT=$3" \
      "-DARGUMENTS=$4" main.c $cpu/model.c $cpu/libmodel.a -lm -o $cpu/program
    $run $cpu/program >$cpu.txt
  done
  [ "$(wc -l <neon.txt)" = "$3" ] || { echo "FAILED: $model printed $(wc -l <neon.txt) numbers" >&2; exit 1; }
  paste sse.txt neon.txt | awk -v model="$model" '
    { d = $1 - $2; d = d < 0 ? -d : d; a = $1 < 0 ? -$1 : $1
      if (d > worst) worst = d; if (a > most) most = a }
    END { print model ": differs by " worst + 0 " of " most; exit !(most > 0 && worst <= 1e-6 * most) }' || exit 1
}
compare Bert int64_t 1 2048 in,out,rest
compare GPT2 int64_t 1 3168 in,out
compare ConvNextV2 float 8 384 in,out,rest
echo passed
