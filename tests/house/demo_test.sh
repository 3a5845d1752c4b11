#!/usr/bin/env bash
# The demonstration tells a story by the model that comes with the command, wherever it is started;
# where the model is not, it says so.
# usage: demo_test.sh <tilewright>
set -euo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TILEWRIGHT_CACHE_DIR=$work/cache
unset TILEWRIGHT_TUNE_DB TILEWRIGHT_TEST_MODELS
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
"$tool" demo >out 2>err || fail "the demonstration: status $?, $(cat err)"
grep -q '^A story by stories260K, ' out || fail "no story: $(cat out)"
grep -q '^  Once upon a time, there was a little girl named Lily\. ' out || fail "another story: $(cat out)"
grep -qE '^[0-9]+ tokens at [0-9]+ tokens/s' out || fail "no speed: $(cat out)"

status=0
TILEWRIGHT_TEST_MODELS=$work/none "$tool" demo >out 2>err || status=$?
[ "$status" = 2 ] || fail "without a model: status $status"
grep -qF "[demo] there is no trained model in $work/none/stories260K; TILEWRIGHT_TEST_MODELS names" err ||
  fail "without a model: $(cat err)"
echo "passed"
