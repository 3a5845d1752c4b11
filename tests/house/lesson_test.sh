#!/bin/sh
# Runs a lesson of examples/ and compares what it prints with what stands beside it.
#   lesson_test.sh PROGRAM EXPECTED [FILES...]
set -eu
program=$1 expected=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TILEWRIGHT_TUNE_DB="$folder/tuning.sqlite" "$program" "$@" >"$folder/printed"
diff "$expected" "$folder/printed"
