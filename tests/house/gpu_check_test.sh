#!/usr/bin/env bash
# Tests of tools/gpu_check.sh that need no GPU: that it says so and leaves; its table, from made-up
# results; and with `pack`, the packed programs, run on the host and on the fake driver.
# usage: gpu_check_test.sh <source folder> <build folder> [pack]
set -euo pipefail
tools=$1/tools
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() { grep -qF -- "$1" "$2" || { cat "$2" >&2; fail "\"$1\" is missing"; }; }

status=0
"$tools/gpu_check.sh" --out "$work/none" --pack "$work/none.tar.xz" >"$work/said" || status=$?
[ "$status" = 77 ] || fail "without a GPU or a pack it ended with $status"
grep -qE "there is no GPU to check: |there is no .*none.tar.xz" "$work/said" || fail "it said $(cat "$work/said")"
[ ! -e "$work/none" ] || fail "it left a folder"

for script in "$tools"/*.py "$tools"/peers/*.py; do
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script" || fail "$script"
done

mkdir "$work/run"
cat >"$work/run/results.jsonl" <<'LINES'
{"section":"limits","case":"scale f32","system":"tilewright","ok":true,"seconds":1e-3,"rate":4000,"unit":"GB/s"}
{"section":"gemm","case":"bf16 8192x8192x8192","system":"cublas","seconds":1.4e-3,"rate":785,"unit":"TFLOP/s"}
{"section":"gemm","case":"bf16 8192x8192x8192","system":"tilewright","begins":true}
{"section":"gemm","case":"bf16 8192x8192x8192","system":"tilewright","ok":true,"seconds":2e-3,"rate":550,"unit":"TFLOP/s"}
{"section":"gemm","case":"bf16 1024x1024x1024","system":"tilewright","ok":false,"seconds":1e-5,"rate":200,"unit":"TFLOP/s","note":"the result differs"}
{"section":"gemm","case":"bf16 9x9x9","system":"tilewright","begins":true}
{"section":"gemm","case":"bf16 8x8
LINES
echo '{"name":"graphs","shard":0,"shards":1,"passed":7,"failed":["A.b"],"died":[],"finished":true}' >"$work/run/tests.jsonl"
echo '{"name":"NVIDIA H200","date":"2026-01-31","command":"tools/gpu_check.sh"}' >"$work/run/gpu.json"
python3 "$tools/results_table.py" "$work/run" >"$work/table"
expect "tests graphs         7 passed, 1 failed, 0 ended their process" "$work/table"
expect "WRONG  gemm: bf16 1024x1024x1024: the result differs" "$work/table"
expect "WRONG  gemm: bf16 9x9x9: the process ended in this case" "$work/table"
expect "limits of this run: 4000 GB/s copied, 785 TFLOP/s bf16" "$work/table"
grep -qE "bf16 8192x8192x8192 +550 TFLOP/s +2.000 ms +cublas +0.70 +0.70$" "$work/table" ||
  { cat "$work/table" >&2; fail "the row of the product is wrong"; }
python3 "$tools/results_table.py" "$work/run" --store "$work" >/dev/null
python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["device"] == "NVIDIA H200" and len(r["results"]) == 2' \
  "$work/gpu_gemm.json"

# Programs that behave badly in its hands: a bench that dies in its first case, tests of which one
# loses the context, one dies and one fails.
mkdir "$work/tilewright_gpu"
echo "commit none" >"$work/tilewright_gpu/ABOUT"
cat >"$work/tilewright_gpu/tilewright" <<'PROGRAM'
#!/usr/bin/env bash
section=$2
while [ "$1" != --append ]; do shift; done
say() { echo "{\"section\":\"$section\",\"case\":\"$1\",\"system\":\"tilewright\",$2}" >>"$file"; }
file=$2
if [ ! -e "$file" ]; then
  say first '"begins":true'
  kill -SEGV $$
fi
say second '"ok":true,"seconds":1e-5,"rate":7,"unit":"GB/s"'
PROGRAM
cat >"$work/tilewright_gpu/device_tests" <<'PROGRAM'
#!/usr/bin/env bash
names="A.good A.lost A.victim A.dies A.bad A.fine"
case "$*" in *list_tests*)
  case "$*" in *HostCode*) echo A.; for n in $names; do echo "  ${n#A.}"; done ;; esac
  exit ;;
esac
for n in $names; do
  case "$*" in *"$n"*) ;; *) continue ;; esac
  echo "[ RUN      ] $n"
  [ $n = A.dies ] && kill -SEGV $$
  [ $n = A.lost ] && lost=1 && echo "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
  if [ $n = A.bad ] || [ "${lost:-}" ]; then echo "[  FAILED  ] $n (1 ms)"; else echo "[       OK ] $n (1 ms)"; fi
done
exit 1
PROGRAM
chmod +x "$work"/tilewright_gpu/*
tar -C "$work" -cJf "$work/stub.tar.xz" tilewright_gpu
"$tools/gpu_check.sh" --without-gpu --pack "$work/stub.tar.xz" --out "$work/stub" --budget 60 gemm tests \
  >"$work/said" || fail "the run of stubs"
expect "tests language       3 passed, 1 failed, 2 ended their process" "$work/said"
expect "    died A.lost" "$work/said"
expect "    died (no test was listed)" "$work/said"
expect "    died A.dies" "$work/said"
expect "    failed A.bad" "$work/said"
expect "WRONG  gemm: first: the process ended in this case" "$work/said"
grep -qE "^second +7 GB/s" "$work/said" || fail "the bench did not go on behind the case that it died in"

[ "${3:-}" = pack ] || exit 0
"$tools/pack_gpu_check.sh" "$build"
"$tools/gpu_check.sh" --without-gpu --out "$work/all" --budget 900 primitives gemm rows launch tests >"$work/said" ||
  { cat "$work/said" >&2; fail "the run without a GPU"; }
cat "$work/said"
expect "primitives: " "$work/said"
if grep -E "WRONG|failed A|died" "$work/said"; then fail "not all is right"; fi
