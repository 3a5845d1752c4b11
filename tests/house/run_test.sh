#!/usr/bin/env bash
# `tilewright inspect` and `tilewright run`, over a small program as PyTorch exports it: y = x + w of
# any number of rows.
# usage: run_test.sh <tilewright>
set -euo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
said() { grep -qF -- "$1" "$2" || fail "\"$1\" is missing in $(cat "$2")"; }
# ends STATUS WORD...: the command ends with that status; its output is in out and err.
ends() {
  local expected=$1 status=0
  shift
  "$tool" "$@" >out 2>err </dev/null || status=$?
  [ "$status" = "$expected" ] || fail "$*: status $status, $(cat out err)"
}

python3 - <<'PYTHON'
import json, struct, zipfile

def tensor(name):
    return {"as_tensor": {"name": name}}

def facts(sizes):
    return {"dtype": 7, "sizes": sizes, "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [{"as_int": 1}],
            "storage_offset": {"as_int": 0}, "layout": 7}

def program(target):
    rows = {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": None}}
    node = {"target": target, "name": "y", "outputs": [tensor("y")],
            "inputs": [{"name": "self", "arg": tensor("x"), "kind": 1},
                       {"name": "other", "arg": tensor("p_w"), "kind": 1}],
            "metadata": {"stack_trace": 'net.py", line 7, in forward\n    y'}}
    signature = {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                                 {"user_input": {"arg": tensor("x")}}],
                 "output_specs": [{"user_output": {"arg": tensor("y")}}]}
    return {"graph_module": {
                "graph": {"nodes": [node],
                          "tensor_values": {"x": dict(facts([rows, {"as_int": 2}])),
                                            "p_w": facts([{"as_int": 2}])}},
                "signature": signature},
            "range_constraints": {"s0": {"min_val": 2, "max_val": 8}},
            "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.15.0"}

def save(name, target):
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("net/models/model.json", json.dumps(program(target)))
        archive.writestr("net/byteorder", "little")
        archive.writestr("net/data/weights/weight_0", struct.pack("<2f", 10, 20))
        table = {"w": {"path_name": "weight_0", "is_param": True, "use_pickle": False,
                       "tensor_meta": facts([{"as_int": 2}])}}
        archive.writestr("net/data/weights/model_weights_config.json", json.dumps({"config": table}))

def save_inputs(name, keys, rows):
    keys = [keys] if isinstance(keys, str) else keys
    size = 8 * rows
    header = json.dumps({key: {"dtype": "F32", "shape": [rows, 2],
                               "data_offsets": [i * size, (i + 1) * size]}
                         for i, key in enumerate(keys)}).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.write(struct.pack(f"<{2 * rows}f", *range(2 * rows)) * len(keys))

def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)

def number(field, value):
    return varint(field << 3) + varint(value)

def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content

# y = op(x, w) for x [rows, 2]; or op(x, before(w)).
def save_onnx(name, op, before=None, rows=None):
    other = "w" if before is None else "v"
    node = message(1, "x") + message(1, other) + message(2, "y") + message(3, "first") + message(4, op)
    if before is not None:
        node = (message(1, "w") + message(2, "v") + message(3, "zeroth") + message(4, before), node)
    weight = number(1, 2) + number(2, 1) + message(8, "w") + message(9, struct.pack("<2f", 10, 20))
    sizes = message(1, message(2, "rows")) + message(1, number(1, 2))
    taken = message(1, "x") + message(2, message(1, number(1, 1) + message(2, sizes)))
    given = b""
    if rows is not None:
        given = message(2, message(1, number(1, 1) + message(2, message(1, number(1, rows))
                                                             + message(1, number(1, 2)))))
    nodes = b"".join(message(1, n) for n in (node if isinstance(node, tuple) else (node,)))
    graph = nodes + message(5, weight) + message(11, taken) + message(12, message(1, "y") + given)
    with open(name, "wb") as file:
        file.write(message(2, "maker") + message(3, "1.0") + message(7, graph)
                   + message(8, number(2, 17)))

# As long as cos(x) < 2, of x [1].
def save_endless(name):
    def node(op, takes, gives, more=b""):
        return message(1, b"".join(message(1, each) for each in takes)
                       + b"".join(message(2, each) for each in gives) + message(4, op) + more)
    def names(field, *names):
        return b"".join(message(field, message(1, each)) for each in names)
    def tensor(name, dtype, content):
        return message(5, number(2, dtype) + message(8, name) + message(9, content))
    body = (node("Less", ["s", "two"], ["d"]) + node("Cos", ["s"], ["r"])
            + names(11, "i", "c", "s") + names(12, "d", "r"))
    loop = message(5, message(1, "body") + message(6, body) + number(20, 5))
    sizes = message(1, number(1, 1))
    taken = message(1, "x") + message(2, message(1, number(1, 1) + message(2, sizes)))
    graph = (node("Loop", ["", "t", "x"], ["y"], loop) + tensor("two", 1, struct.pack("<f", 2))
             + tensor("t", 9, b"\1") + message(11, taken) + names(12, "y"))
    with open(name, "wb") as file:
        file.write(message(7, graph) + message(8, number(2, 17)))

def save_one(name):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack("<f", 1))

# y = x * sr for x [rows, 2] and a sample rate, an integer.
def save_rated(name):
    def node(op, takes, gives, more=b""):
        return message(1, b"".join(message(1, each) for each in takes) + message(2, gives)
                       + message(4, op) + more)
    def taken(name, dtype, sizes):
        return message(11, message(1, name) + message(2, message(1, number(1, dtype) + message(2, sizes))))
    to_float = message(5, message(1, "to") + number(3, 1) + number(20, 2))
    graph = (node("Cast", ["sr"], "r", to_float) + node("Mul", ["x", "r"], "y")
             + taken("x", 1, message(1, message(2, "rows")) + message(1, number(1, 2)))
             + taken("sr", 7, b"") + message(12, message(1, "y")))
    with open(name, "wb") as file:
        file.write(message(7, graph) + message(8, number(2, 17)))

def save_rate(name, rate):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
                         "sr": {"dtype": "I64", "shape": [], "data_offsets": [8, 16]}}).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack("<2fq", 1, 2, rate))

# y of sr zeros: a size that follows from the value of an input.
def save_sized(name):
    def node(op, takes, gives):
        return message(1, b"".join(message(1, each) for each in takes) + message(2, gives) + message(4, op))
    taken = message(11, message(1, "sr") + message(2, message(1, number(1, 7) + message(2, b""))))
    one = message(5, number(1, 1) + number(2, 7) + message(8, "one") + message(9, struct.pack("<q", 1)))
    graph = (node("Reshape", ["sr", "one"], "n") + node("ConstantOfShape", ["n"], "y") + one + taken
             + message(12, message(1, "y")))
    with open(name, "wb") as file:
        file.write(message(7, graph) + message(8, number(2, 17)))

save_sized("sized.onnx")
save_rated("rated.onnx")
save_rate("rate.safetensors", 16000)
save_rate("slow_rate.safetensors", 8000)
save_endless("endless.onnx")
save_one("one.safetensors")
save_onnx("net.onnx", "Add")
save_onnx("factors.onnx", "Mul", "Sigmoid")
open("odd.onnx", "wb").write(open("factors.onnx", "rb").read().replace(b"\n\1x", b"\n\1\xff"))
save_onnx("lacks.onnx", "Novel")
save_onnx("one_row.onnx", "Add", rows=1)
save("net.pt2", "torch.ops.aten.add.Tensor")
save("lacks.pt2", "torch.ops.mylib.novel.default")
save_inputs("named.safetensors", "x", 3)
save_inputs("numbered.safetensors", "in.0", 2)
save_inputs("many.safetensors", "in.0", 9)
save_inputs("other.safetensors", "q", 2)
save_inputs("more.safetensors", ["x", "token", "mask"], 2)
save_inputs("checked.safetensors", ["in.0", "out.0"], 2)
PYTHON

ends 0 inspect net.pt2
said 'exported by PyTorch 2.15.0: 1 nodes, 2 parameters' out
said 'input x: f32 [s0 (0 to 8), 2]' out
said 'aten.add.Tensor' out
ends 0 inspect lacks.pt2
said '1 of 1 operators are missing' out
ends 0 inspect net.pt2 --json
python3 -c 'import json; d = json.load(open("out")); assert d["operators"][0]["source"] == "net.py:7", d'

ends 0 inspect net.onnx
said 'exported by maker 1.0: 1 nodes, 2 parameters' out
said 'input x: f32 [rows (0 to any), 2]' out
ends 0 inspect lacks.onnx
said '1 of 1 operators are missing' out

# Inputs that are always the same.
ends 0 inspect endless.onnx --constant x=1.5
if grep -q '^input' out; then fail "a constant is an input: $(cat out)"; fi
ends 1 inspect endless.onnx --constant z=1
said '[constant] z=1: the model has no input "z"; it takes x' err
ends 1 inspect endless.onnx --constant x=one
said '[constant] x=one: "one" is no number; NAME=VALUE is wanted, such as sr=16000' err
ends 1 inspect endless.onnx --constant x=1,2
said '[constant] x=1,2 has 2 values; the input is [1]' err
ends 1 run net.pt2 --inputs named.safetensors --constant x
said '[constant] x: has no value; NAME=VALUE is wanted' err

# A file of inputs may hold the constant too, with the same value.
ends 0 run rated.onnx --inputs rate.safetensors --constant sr=16000 --outputs result.safetensors
python3 - <<'PYTHON'
import struct
data = open("result.safetensors", "rb").read()
assert struct.unpack("<2f", data[-8:]) == (16000, 32000), data
PYTHON
ends 1 run rated.onnx --inputs slow_rate.safetensors --constant sr=16000
said '[run] "sr" is i64 [scalar] 8000 in slow_rate.safetensors and i64 [scalar] 16000 by --constant; leave' err

for model in net.pt2 net.onnx; do for inputs in named numbered; do
  ends 0 run $model --inputs $inputs.safetensors --outputs result.safetensors --repeat 3
  said 'median of 2 others' out
  python3 - <<'PYTHON'
import json, struct
data = open("result.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
entry = json.loads(data[8:8 + size])["out.0"]
count = entry["shape"][0] * 2
values = struct.unpack(f"<{count}f", data[8 + size:][slice(*entry["data_offsets"])])
assert list(values) == [i + (10, 20)[i % 2] for i in range(count)], values
PYTHON
done; done
ends 0 run net.pt2 --inputs named.safetensors --json --mode reduce-overhead --mapped
python3 -c 'import json; d = json.load(open("out")); assert d["outputs"][0]["shape"] == [3, 2], d'
TILEWRIGHT_CACHE_DIR=off ends 0 run net.pt2 --inputs named.safetensors --json
python3 -c 'import json; d = json.load(open("out"))["longest_compile"]
assert d["kernel"] and 0 < d["processor_s"] < 5, d'

ends 0 run net.pt2 --inputs named.safetensors --explain
said '1 launch of 1 distinct program;' out
# Ctrl-C ends a loop that never ends.
status=0
timeout --preserve-status -k 20 -s INT 2 "$tool" run endless.onnx --inputs one.safetensors \
  >out 2>err || status=$?
[ "$status" = 130 ] || fail "an endless loop: status $status, $(cat out err)"

# Sizes that a model declares of a result and that are others: the computed ones count.
ends 0 run one_row.onnx --inputs named.safetensors
said 'out.0: f32 [3x2]' out
ends 0 run net.onnx --inputs named.safetensors --explain --json
python3 -c 'import json; d = json.load(open("out")); assert "launches" in d["explanation"], d'
# Weights are frozen where the model is called again, unless that is not wanted.
once='1 value follows from frozen weights and was computed once, 8 B'
ends 0 run factors.onnx --inputs named.safetensors --explain --repeat 2
said "$once" out
ends 0 run factors.onnx --inputs named.safetensors --explain --freezing
said "$once" out
for options in '--repeat 1' '--repeat 2 --no-freezing'; do
  ends 0 run factors.onnx --inputs named.safetensors --explain $options
  if grep -qF "$once" out; then fail "$options: weights are frozen"; fi
done
ends 2 explain net.pt2
said 'tilewright run net.pt2 --inputs FILE.safetensors --explain' err

ends 1 run lacks.pt2 --inputs named.safetensors
said 'mylib.novel.default, 1 time, first at net.py:7' err
ends 1 run net.pt2 --inputs many.safetensors
said 'input "x": axis 0 has size 9; the program allows 0 to 8' err
ends 1 run net.pt2 --inputs other.safetensors
said 'has no tensor "x", nor "in.0"; the model takes f32' err
ends 2 run net.pt2
said '--inputs is missing; the model takes 1 tensors' err
ends 2 run none.pt2
said 'there is no file "none.pt2"' err
ends 1 run net.pt2 --inputs more.safetensors
said 'more.safetensors: no input of the model is "mask", "token"; it takes "x", by these names' err
ends 0 run net.pt2 --inputs checked.safetensors  # in.0 and what it should give
# The peak is that of the command, not of the program that started it.
python3 - <<PYTHON
import json, os, subprocess
command = ["$tool", "run", "net.pt2", "--inputs", "named.safetensors", "--json"]
def peak(ballast_bytes):
    def fill():
        ballast = bytearray(ballast_bytes)
        for at in range(0, ballast_bytes, 4096):
            ballast[at] = 1
    output = subprocess.run(command, check=True, capture_output=True, preexec_fn=fill).stdout
    return json.loads(output)["peak_memory_bytes"]
alone, from_large = peak(0), peak(1 << 28)
assert 0 < from_large < alone + (1 << 27), (alone, from_large)
PYTHON
# Packages: what a model gives, without compiling it again.
for model in net.pt2 factors.onnx; do
  ends 0 package $model -o model.twp --inputs named.safetensors --inputs numbered.safetensors
  said 'model.twp: ' out
  ends 0 inspect model.twp
  said 'function 1' out
  said 'input x: f32 [2x2]' out
  ends 0 inspect model.twp --json
  python3 -c 'import json; d = json.load(open("out")); assert d["functions"][0]["inputs"][0]["shape"] == [3, 2], d'
  for inputs in named numbered; do
    ends 0 run $model --inputs $inputs.safetensors --outputs compiled.safetensors
    ends 0 run model.twp --inputs $inputs.safetensors --outputs packaged.safetensors --repeat 3
    said 'median of 2 others' out
    cmp compiled.safetensors packaged.safetensors || fail "$model: a package gives other bits"
  done
done
ends 1 run model.twp --inputs many.safetensors
said "[run_package] argument 0 'x' is f32 9x2, and model.twp was made for (f32 3x2), (f32 2x2); pass one" err
ends 1 run model.twp --inputs other.safetensors
said 'has no tensor "x", nor "in.0"; the package takes f32 [3x2]' err
ends 2 run model.twp
said '--inputs is missing; the package takes 1 tensors' err
ends 2 run model.twp --inputs named.safetensors --explain
said 'model.twp is a package; --constant, --mapped, --explain and --gradients are for models' err
for option in '--mode reduce-overhead' '--device cpu' '--freezing' '--locked plan'; do
  ends 2 run model.twp --inputs named.safetensors $option
  said "model.twp is a package; ${option%% *} is for models, which are compiled" err
done
ends 0 run model.twp --inputs named.safetensors --threads 1
ends 0 package net.pt2 -o /dev/null --inputs named.safetensors
said '/dev/null: made in ' err
ends 1 package net.pt2 -o other.twp --inputs named.safetensors --backend eager
said '[save_package] the backend is eager, which compiles nothing' err
ends 1 package sized.onnx -o other.twp
said 'which breaks its graph' err
said 'where an input always has the same value, say which: --constant sr=VALUE' err
ends 0 package sized.onnx -o other.twp --constant sr=3
# Names that are no text.
ends 0 package odd.onnx -o odd.twp --sizes rows=2
for file in odd.twp odd.onnx; do
  ends 0 inspect $file --json
  python3 -c 'import json; json.load(open("out"))'
done
# Code for several processors.
if grep -qw avx2 /proc/cpuinfo; then
  ends 0 package --cpu sse,avx2 -o both.twp --inputs named.safetensors -- net.pt2
  said 'both.twp: ' out
  mkdir both.twp.parts-killed && touch -d '2 hours ago' both.twp.parts-killed
  ends 0 package --cpu sse,avx2 -o both.twp --inputs named.safetensors -- net.pt2
  ls both.twp.parts-* 2>/dev/null && fail "parts of a package are left"
  ends 0 inspect both.twp --json
  python3 -c 'import json; d = json.load(open("out")); assert d["instruction_sets"] == ["avx2", "sse"], d'
  for cpu in sse avx2; do
    TILEWRIGHT_CPU=$cpu ends 0 package net.pt2 -o $cpu.twp --inputs named.safetensors
    TILEWRIGHT_CPU=$cpu ends 0 inspect both.twp
    said "of which this is the code for $cpu" out
    for file in both $cpu; do
      TILEWRIGHT_CPU=$cpu ends 0 run $file.twp --inputs named.safetensors --outputs $file.$cpu.safetensors
    done
    cmp both.$cpu.safetensors $cpu.$cpu.safetensors || fail "both.twp gives other bits than $cpu.twp"
  done
  ends 0 package sse.twp avx2.twp -o merged.twp
  cmp both.twp merged.twp || fail "merged packages are another file than --cpu makes"
  ends 1 package both.twp sse.twp -o refused.twp
  said '[merge_packages] both.twp and sse.twp both have code for processors with sse; name packages' err
fi
ends 2 package net.pt2 -o refused.twp --cpu z80
said 'unknown processor "z80"; known are ' err
ends 2 package net.pt2 -o refused.twp --cpu sse,sse
said '[package] --cpu sse is given twice' err
ends 1 package net.pt2 -o refused.twp --cpu sse --inputs odd.safetensors
said 'odd.safetensors' err
ends 2 package model.twp net.pt2 -o refused.twp
said '[package] net.pt2 is no package; name one model, or packages' err
ends 2 package model.twp -o refused.twp --cpu sse
said '[package] model.twp is a package; --inputs, --sizes, --constant, --cpu are for models' err
[ ! -e refused.twp ] || fail "a package that was refused is there"
"$tool" package net.pt2 --inputs named.safetensors -o /dev/stdout 2>err | cat >piped.twp
ends 0 inspect piped.twp --verify
# As C: a source file that compiles, its header and its library.
ends 0 package net.pt2 --inputs named.safetensors --cpu sse -o net.c
said 'net.c, net.h, libnet.a: ' out
cc -std=c99 -Wall -Wextra -Werror -c net.c -o net.o
ends 0 package net.pt2 --inputs named.safetensors --cpu neon -o arm.c
readelf -h libarm.a | grep -q 'Machine: *AArch64' || fail "libarm.a is not for aarch64"
ends 0 package net.pt2 --inputs named.safetensors --cpu sse,neon -o arm.twp
ends 0 package arm.twp --cpu neon -o arm.c
ends 1 package arm.twp --cpu avx2 -o arm.c
said 'has no code for processors with avx2; it has code for sse, neon' err
ends 0 package net.pt2 --inputs named.safetensors --cpu neon -o arm.twp
ends 1 run arm.twp --inputs named.safetensors
said 'its code is for processors with neon, and this is x86-64' err
ends 0 package model.twp -o model.c
grep -q 'const char\* model_run_1(const float\* in_x, ' model.h || fail "model.h: $(cat model.h)"
ends 1 package model.twp -o 8bit.c
said '"8bit" is no identifier of C' err
ends 2 package net.pt2 --cpu sse,avx2 -o both.c
said '[package] both.c holds code for one instruction set, of one model or package' err
# Lists of sizes.
ends 0 package net.pt2 -o sizes.twp --sizes s0=3,2,8
for inputs in named numbered; do
  ends 0 run net.pt2 --inputs $inputs.safetensors --outputs compiled.safetensors --freezing
  ends 0 run sizes.twp --inputs $inputs.safetensors --outputs packaged.safetensors
  cmp compiled.safetensors packaged.safetensors || fail "$inputs: a package of sizes gives other bits"
done
ends 1 run sizes.twp --inputs many.safetensors
said 'sizes.twp was made for (f32 3x2), (f32 2x2), (f32 8x2)' err
ends 0 package net.pt2 -o range.twp --sizes s0=0..8
ends 0 inspect range.twp
said 'function 8' out
for inputs in named numbered; do
  ends 0 run range.twp --inputs $inputs.safetensors --outputs packaged.safetensors
  ends 0 run net.pt2 --inputs $inputs.safetensors --outputs compiled.safetensors
  cmp compiled.safetensors packaged.safetensors || fail "$inputs: a package of a range gives other bits"
done
for list in 5..3 1.. ..3 1..5000; do
  ends 2 package net.pt2 -o other.twp --sizes s0=$list
done
said '[sizes] s0=1..5000: 1..5000 has no sizes, or more than 1024' err
ends 2 package net.pt2 -o other.twp --sizes rows=1
said '[sizes] rows=1: no size of the model is "rows"; those that may differ are s0' err
ends 2 package net.pt2 -o other.twp --sizes s0=1,x
said '[sizes] s0=1,x: "x" is no size; NAME=SIZE,SIZE or NAME=FIRST..LAST is wanted' err
ends 1 package net.pt2 -o other.twp --sizes s0=9
said 'axis 0 has size 9; the program allows 0 to 8' err
ends 2 package net.pt2 -o other.twp
said 'the sizes of input "x" may differ: [s0 (0 to 8), 2]; list them by --sizes s0=1,8, or name' err
ends 2 package net.pt2 -o other.twp --inputs named.safetensors --device emulated:sm_80
said 'the device is emulated:sm_80; packages hold code of the host: --device cpu' err
# The hashes of weights are compared where that is asked for.
ends 0 package net.pt2 -o whole.twp --inputs named.safetensors
ends 0 inspect whole.twp --verify
python3 - <<'PYTHON'
import struct
package = bytearray(open("whole.twp", "rb").read())
package[package.index(struct.pack("<2f", 10, 20))] ^= 1  # the weight
open("flipped.twp", "wb").write(package)
PYTHON
ends 0 inspect flipped.twp
ends 1 inspect flipped.twp --verify
said 'the hash of blob' err
ends 2 inspect net.pt2 --verify
said 'net.pt2 is no package; --verify and --steps are for packages' err
head -c 300 model.twp >cut.twp
ends 1 run cut.twp --inputs named.safetensors
said '[load_package] cut.twp: it has 300 bytes, and should have ' err

ends 2 run .
said '[run] . is a folder; name a program' err
head -c 500 net.pt2 >cut.pt2
ends 1 inspect cut.pt2
said 'the file is cut short' err
echo passed
