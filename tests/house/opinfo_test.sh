#!/usr/bin/env bash
# Gradients and second gradients of PyTorch's samples of its operators, against PyTorch's own
# (tools/opinfo_gradients.py), by the Python that TILEWRIGHT_PYTORCH names, or python3.
# usage: opinfo_test.sh <tilewright> <folder of the samples, which are drawn once>
set -euo pipefail
python=${TILEWRIGHT_PYTORCH:-python3}
if ! "$python" -c 'import torch, expecttest, safetensors' 2>/dev/null; then
  echo "PyTorch is not installed"
  exit 77
fi
source=$(cd "$(dirname "$0")/../.." && pwd)
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$source/tools/opinfo_gradients.py" "$2" --command "$1" --samples 3 --jobs 2
