#!/usr/bin/env bash
# A lesson captures equal graphs on the host and on two GPUs: graphs know no device.
# usage: lesson_graphs_test.sh PROGRAM [FILES...]
set -euo pipefail
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for device in cpu emulated:sm_80 emulated:sm_90a; do
  TILEWRIGHT_DEVICE=$device TILEWRIGHT_DUMP=graph.captured TILEWRIGHT_TUNE_DB=$work/tuning.sqlite \
    "$program" "$@" 2>&1 >/dev/null | grep -E '^(// graph\.captured|graph|  |\})' >"$work/$device"
done
grep -q '^// graph.captured' "$work/cpu" || { echo "$program captures no graph" >&2; exit 1; }
diff "$work/cpu" "$work/emulated:sm_80"
diff "$work/cpu" "$work/emulated:sm_90a"
