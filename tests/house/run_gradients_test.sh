#!/usr/bin/env bash
# `tilewright run --gradients`: the gradients of small programs are PyTorch's (tests/models/gradients), by
# the script that compares whole folders of them, and misuse is an error.
# usage: run_gradients_test.sh <tilewright>
set -euo pipefail
tool=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
cases=$source/tests/models/gradients
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
compare() { PYTHONDONTWRITEBYTECODE=1 python3 "$source/tools/program_gradients.py" --command "$tool" "$@"; }

for options in '' '--backend eager' '--mode reduce-overhead --repeat 2'; do
  compare "$cases" --options="$options" >out || fail "$options: $(cat out)"
  said '5 of 5 agree' out
done
# The script finds a wrong gradient.
mkdir wrong
cp "$cases"/half.* wrong
python3 - <<'PYTHON'
name = "wrong/half.grad.safetensors"
data = open(name, "rb").read()
open(name, "wb").write(data[:-1] + bytes([data[-1] ^ 0x40]))
PYTHON
if compare wrong >out; then fail "a wrong gradient agrees: $(cat out)"; fi
said '0 of 1 agree' out

# Reading and writing safetensors files, for the scripts below.
cat >files.py <<'PYTHON'
import json, struct
def read(name):
    data = open(name, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {key: (entry, data[8 + size:][slice(*entry["data_offsets"])]) for key, entry in header.items()}
def write(name, tensors):
    header, end = {}, 0
    for key, (entry, data) in tensors.items():
        header[key] = entry | {"data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))
PYTHON
python3 - "$cases" <<'PYTHON'
import struct, sys
from files import read, write
inputs = {key: value for key, value in read(sys.argv[1] + "/scores.safetensors").items() if key.startswith("in.")}
ones = ({"dtype": "F32", "shape": [3, 4, 3]}, struct.pack("<36f", *[1] * 36))
write("plain.safetensors", inputs)
write("ones.safetensors", inputs | {"cotangent.0": ones})
write("small.safetensors", inputs | {"cotangent.0": ({"dtype": "F32", "shape": [36]}, ones[1])})
write("second.safetensors", inputs | {"cotangent.1": ({"dtype": "F32", "shape": [3, 4]}, ones[1][:48])})
twos = ({"dtype": "F32", "shape": [3, 4, 6]}, struct.pack("<72f", *[2] * 72))
write("along.safetensors", inputs | {"direction.in.1": twos})
write("third.safetensors", inputs | {"cotangent.2": ones})
PYTHON

# All floating inputs and parameters, from ones where the file has no cotangent.
model=$cases/scores.pt2
ends 0 run "$model" --inputs plain.safetensors --outputs all.safetensors --gradients
said 'out.1: i64 [3x4]' out
said 'grad.in.1: f32 [3x4x6]' out
said 'grad.param.inner.bias: f32 [8]' out
ends 0 run "$model" --inputs ones.safetensors --outputs given.safetensors --gradients
cmp all.safetensors given.safetensors || fail "ones are not what a missing cotangent is"
ends 0 run "$model" --inputs ones.safetensors --outputs plain_outputs.safetensors
# Second ones, of all gradients, or in the directions of the file.
ends 0 run "$model" --inputs plain.safetensors --outputs second_all.safetensors --gradients in.1 --second
said 'second.in.1: f32 [3x4x6]' out
ends 0 run "$model" --inputs along.safetensors --outputs second_along.safetensors --gradients in.1 --second
python3 - <<'PYTHON'
from files import read
import struct
once, twice = (read(name + ".safetensors") for name in ("second_all", "second_along"))
first, second = (struct.unpack("<72f", x["second.in.1"][1]) for x in (once, twice))
assert any(first) and all(abs(2 * a - b) <= 1e-5 * max(map(abs, second)) for a, b in zip(first, second))
assert once["grad.in.1"] == twice["grad.in.1"]
PYTHON
# Some of them, the same.
ends 0 run "$model" --inputs plain.safetensors --outputs some.safetensors \
  --gradients in.1,param.table.weight
python3 - <<'PYTHON'
from files import read
everything, some, outputs = (read(name + ".safetensors") for name in ("all", "some", "plain_outputs"))
assert set(outputs) == {"out.0", "out.1"}, outputs.keys()
assert set(some) == {"out.0", "out.1", "grad.in.1", "grad.param.table.weight"}, some.keys()
assert set(everything) == set(outputs) | {"grad.in.1"} | {"grad.param." + name for name in (
    "table.weight", "norm.weight", "norm.bias", "inner.weight", "inner.bias", "out.weight", "unused")}, everything
assert everything["grad.param.unused"][1] == bytes(8)
PYTHON
ends 0 run "$model" --inputs plain.safetensors --gradients in.1 --json
python3 -c 'import json; d = json.load(open("out"))
assert d["gradients"] == {"grad.in.1": {"dtype": "f32", "shape": [3, 4, 6]}}, d
assert len(d["outputs"]) == 2, d'

ends 2 run "$model" --inputs plain.safetensors --gradients in.0
said '[run] --gradients: "in.0" is i64; it has gradients of in.1, param.' err
ends 2 run "$model" --inputs plain.safetensors --gradients in.1,param.iner.bias
said '[run] --gradients: "param.iner.bias" is nothing that the model has' err
said 'did you mean param.inner.bias?' err
ends 2 run "$model" --inputs plain.safetensors --gradients in.1,in.1
said '"in.1" is there twice' err
ends 1 run "$model" --inputs small.safetensors --gradients
said 'the cotangent of output 0 is f32 [36]' err
ends 1 run "$model" --inputs second.safetensors --gradients
said 'output 1 is i64' err
ends 1 run "$model" --inputs third.safetensors --gradients
said '"cotangent.2" is the cotangent of no output; the model has 2 outputs, from cotangent.0 on' err
ends 1 run "$model" --inputs along.safetensors --gradients param.inner.bias --second
said '"direction.in.1" is the direction of nothing whose gradient is computed; that are param.inner.bias' err
ends 2 run "$model" --inputs plain.safetensors --second
said '--second requires --gradients' err
ends 0 package "$cases/perceptron.onnx" -o model.twp --inputs "$cases/perceptron.safetensors"
ends 2 run model.twp --inputs "$cases/perceptron.safetensors" --gradients
said 'model.twp is a package; --constant, --mapped, --explain and --gradients are for models' err

# Models of integers alone, and outputs of integers alone.
python3 - <<'PYTHON'
import struct
from files import write
def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)
def number(field, value):
    return varint(field << 3) + varint(value)
def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content
# y = op(x, x), or the place of the largest element, of x [2] of a dtype.
def save(name, op, dtype, operands):
    sizes = message(1, number(1, 2))
    node = b"".join(message(1, "x") for _ in range(operands)) + message(2, "y") + message(4, op)
    taken = message(1, "x") + message(2, message(1, number(1, dtype) + message(2, sizes)))
    graph = message(1, node) + message(11, taken) + message(12, message(1, "y"))
    open(name, "wb").write(message(7, graph) + message(8, number(2, 17)))
save("integers.onnx", "Add", 7, 2)
save("places.onnx", "ArgMax", 1, 1)
write("integers.safetensors", {"x": ({"dtype": "I64", "shape": [2]}, struct.pack("<2q", 1, 2))})
write("floats.safetensors", {"x": ({"dtype": "F32", "shape": [2]}, struct.pack("<2f", 1, 2))})
PYTHON
ends 2 run integers.onnx --inputs integers.safetensors --gradients
said '[run] --gradients: the model has no floating input and no floating parameter' err
ends 1 run places.onnx --inputs floats.safetensors --gradients
said "none of the program's 1 outputs is floating" err
echo passed
