#!/usr/bin/env bash
# Packs the archives of this folder from folders that have what README.md names. The same files give
# the same bytes, whenever and by whom they are packed.
# usage: pack.sh CORPUS MODELS [OUT]      (OUT: this folder, if it is not named)
set -euo pipefail
corpus=$(cd "$1" && pwd) models=$(cd "$2" && pwd)
out=$(cd "${3:-$(dirname "$0")}" && pwd)

# pack ARCHIVE FOLDER PREFIX PART...: the files of these parts of the folder, as PREFIX/PART/...
# Entries of .pt2 are stored, not deflated, and aligned: xz sees words of four bytes in them.
pack() {
  local archive=$1 folder=$2 prefix=$3
  shift 3
  (cd "$folder" && find "$@" -type f ! -name '*.grad.safetensors' ! -name 'index*.json' -print0) |
    LC_ALL=C sort -z |
    tar -C "$folder" --null --no-recursion -T - -cf - --format=ustar --transform "s,^,$prefix/," \
      --owner=0 --group=0 --numeric-owner --mode=0644 --mtime=@1767225600 |
    xz -T1 --lzma2=preset=9e,dict=64MiB,lc=2,lp=2,pb=2 >"$out/$archive.tar.xz"
  ls -l "$out/$archive.tar.xz"
}
pack corpus_ops "$corpus" corpus ops
pack corpus_models "$corpus" corpus models
pack language_models "$models" models stories260K tiny-gpt2 tiny-llama3.2 tiny-qwen3
