#!/usr/bin/env bash
# Checks correctness and speed on this machine's GPU, in one command of bounded time; exits with 77
# where there is no GPU. Needs python3 alone, and what tools/pack_gpu_check.sh made elsewhere.
# usage: gpu_check.sh [--out DIR] [--budget SECONDS] [SECTION...]      (gpu_check.py says more)
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v "${PYTHON:-python3}") || { echo "gpu_check: no python3 (PYTHON names one)" >&2; exit 77; }
exec "$python" "$here/gpu_check.py" "$@"
