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
published() { for name in "$@"; do echo "published/$name"; done; }
# shellcheck disable=SC2046 # names without spaces
pack published_models "$models" models $(published awq-gemm-llama bnb-int8-llama bnb-nf4-double-llama \
  bnb-nf4-llama ct-fp8-channel-dynamic-llama ct-int4-packed-llama ct-int8-w8a8-llama fp8-block128-partial-qwen3 \
  gguf-gemma2-spm-F16 gguf-gemma2-spm-Q2_K gguf-gemma2-spm-Q3_K gguf-gemma2-spm-Q5_1 gguf-llama-bpe-Q4_0 \
  gguf-llama-bpe-Q8_0 gguf-llama-spm-Q4_K gguf-qwen2-bpe-BF16 gguf-qwen2-bpe-IQ4_NL gguf-qwen2-bpe-Q4_1 \
  gguf-qwen2-bpe-Q5_0 gguf-qwen2-bpe-Q5_K gptq-asym-actorder-llama)
# shellcheck disable=SC2046
pack published_adapters "$models" models $(cd "$models" && ls -d published/peft-*)
pack published_experts "$models" models $(published moe-granitemoe moe-mixtral moe-olmoe moe-qwen2moe moe-qwen3moe \
  mxfp4-gptoss)
# shellcheck disable=SC2046
pack published_encoders "$models" models $(cd "$models" && ls -d published/enc-*)
