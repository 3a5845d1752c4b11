#!/usr/bin/env bash
# Runs fuzz targets from seeds of the tree, so many seconds each.
# usage: run.sh SECONDS [TARGET...]      BUILD=build/fuzz, WORK=build/fuzz/runs
# TILEWRIGHT_TEST_CORPUS and TILEWRIGHT_TEST_MODELS name other folders of seeds than those of tests/data.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
shift
build=${BUILD:-build/fuzz} work=${WORK:-build/fuzz/runs}
corpus=${TILEWRIGHT_TEST_CORPUS:-$build/data/corpus} models=${TILEWRIGHT_TEST_MODELS:-$build/data/models}
mkdir -p "$work"
python3 - "$work" "$corpus" "$models" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

work, corpus, models = map(Path, sys.argv[1:])
most = 100_000  # bytes of a seed

def seed(target, name, content):
    if len(content) <= most:
        (work / target).mkdir(exist_ok=True)
        (work / target / name).write_bytes(content)

for target in ("exported", "program", "onnx", "safetensors", "tokenizer"):
    (work / target).mkdir(exist_ok=True)
for i, path in enumerate(sorted(corpus.glob("ops/**/*.pt2"))[::25]):
    seed("exported", f"seed{i}", path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith("models/model.json"):
                seed("program", f"seed{i}", archive.read(name))
with zipfile.ZipFile("tests/models/onnx/cases.zip") as cases:
    for i, name in enumerate(sorted(cases.namelist())[::5]):
        seed("onnx", f"seed{i}", cases.read(name))
for i, path in enumerate(sorted(Path("tests/models/tokenizers").glob("*.json"))):
    if "expected" not in path.name:
        seed("tokenizer", f"seed{i}", path.read_bytes())
for i, path in enumerate(sorted(models.glob("**/*.safetensors"))):
    if path.stat().st_size <= most:
        seed("safetensors", f"seed{i}", path.read_bytes())
header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
seed("safetensors", "small", len(header).to_bytes(8, "little") + header + bytes(8))
PYTHON
mkdir -p "$work/package" && "$build/tests/lesson_17_packages" "$work/package/seed" >"$work/lesson.txt"
[ $# -gt 0 ] || set -- exported program onnx safetensors tokenizer package
for target in "$@"; do
  echo "$target: $seconds s"
  "$build/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -rss_limit_mb=2000 -malloc_limit_mb=1000 \
    -timeout=10 -max_len=200000 -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/$target-" \
    "$work/$target"
done
