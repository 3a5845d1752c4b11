#!/usr/bin/env bash
# Packs what tools/gpu_check.sh needs on a machine with a GPU, where nothing is built: the command
# and the tests, as two programs that need libc alone, and the corpus of operators. The result is at
# most 60 MiB.
# usage: pack_gpu_check.sh [BUILD_FOLDER]   (default: build/release; JOBS=1)
#   -> build/gpu_check/tilewright_gpu.tar.xz
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
pack=$root/build/gpu_check/tilewright_gpu.tar.xz
most_bytes=$((60 << 20))

cmake --build "$build" -j "${JOBS:-2}" --target carried_tool device_tests \
  tilewright_data_models tilewright_data_corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/tilewright_gpu/{models,corpus} "$(dirname "$pack")"
cp "$build/tools/carried_tool" "$work/tilewright_gpu/tilewright"
cp "$build/tests/device_tests" "$work/tilewright_gpu/"
# Small, and trained: the tests that use it run there too.
cp -rL "${TILEWRIGHT_TEST_MODELS:-$build/data/models}/stories260K" "$work/tilewright_gpu/models/"
cp -rL "${TILEWRIGHT_TEST_CORPUS:-$build/data/corpus}/ops" "$work/tilewright_gpu/corpus/"
chmod -R u+w "$work/tilewright_gpu"

programs=("$work"/tilewright_gpu/tilewright "$work"/tilewright_gpu/device_tests)
foreign=$(for program in "${programs[@]}"; do objdump -p "$program"; done |
  awk '/NEEDED/ {print $2}' | grep -Ev '^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so' | sort -u || true)
[ -z "$foreign" ] || { echo "the programs need more than libc: $foreign" >&2; exit 1; }
glibc=$(for program in "${programs[@]}"; do objdump -T "$program"; done |
  grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
newer=$(printf '%s\n' GLIBC_2.34 "$glibc" | sort -V | tail -1) # Ubuntu 22.04, RHEL 9 and later start it
[ "$newer" = GLIBC_2.34 ] || { echo "the programs need $glibc (tools/carried/)" >&2; exit 1; }
{
  echo "commit $(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)"
  echo "needs $glibc"
} >"$work/tilewright_gpu/ABOUT"

# The two programs have most of their code in common, at other addresses: calls and jumps are written
# as absolute ones, and the window is larger than the first program. That is a quarter of the result.
tar -C "$work" -cf - tilewright_gpu | xz --x86 --lzma2=preset=6,dict=192MiB >"$pack.new"
mv "$pack.new" "$pack"
bytes=$(stat -c %s "$pack")
[ "$bytes" -le "$most_bytes" ] || { echo "$pack has $bytes bytes, more than $most_bytes" >&2; exit 1; }
echo "$pack: $((bytes >> 20)) MiB, needs $glibc"
