#!/usr/bin/env bash
# The options of `tilewright generate`, over small models with random weights that integers of 8 or
# of 4 bits hold without loss: quantised they must say what they say in f32.
# usage: generate_test.sh <tilewright>
set -euo pipefail
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# make_model FOLDER LARGEST: weights are whole numbers up to LARGEST, which is in each group of 32,
# times a power of two.
make_model() {
  mkdir "$work/$1"
  python3 - "$work/$1" "$2" <<'PYTHON'
import json, random, string, struct, sys
folder, largest = sys.argv[1], int(sys.argv[2])
hidden, inner, layers, heads, groups, positions = 64, 128, 2, 4, 2, 64
tokens = ["<unk>", "<s>", "</s>"] + list(string.ascii_uppercase + string.ascii_lowercase)
config = {"model_type": "llama", "hidden_size": hidden, "intermediate_size": inner,
          "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": groups,
          "vocab_size": len(tokens), "max_position_embeddings": positions, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2}
json.dump(config, open(folder + "/config.json", "w"))
tokenizer = {
    "added_tokens": [{"id": 1, "content": "<s>", "special": True},
                     {"id": 2, "content": "</s>", "special": True}],
    "post_processor": {"type": "TemplateProcessing",
                       "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]},
    "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "unk_token": "<unk>", "merges": [],
              "vocab": {token: i for i, token in enumerate(tokens)}}}
json.dump(tokenizer, open(folder + "/tokenizer.json", "w"))
random.seed(3)
step = 2.0 ** -(2 + largest.bit_length())
def matrix(rows, columns):
    numbers = [random.randint(-largest, largest) for _ in range(rows * columns)]
    numbers[::32] = [largest] * (rows * columns // 32)
    return [rows, columns], [step * x for x in numbers]
def ones(size): return [size], [1.0] * size
tensors = {"model.embed_tokens.weight": matrix(len(tokens), hidden), "model.norm.weight": ones(hidden),
           "lm_head.weight": matrix(len(tokens), hidden)}
key = hidden // heads * groups
for i in range(layers):
    for name, rows, columns in [("self_attn.q_proj", hidden, hidden), ("self_attn.k_proj", key, hidden),
                                ("self_attn.v_proj", key, hidden), ("self_attn.o_proj", hidden, hidden),
                                ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden),
                                ("mlp.down_proj", hidden, inner)]:
        tensors[f"model.layers.{i}.{name}.weight"] = matrix(rows, columns)
    for name in ["input_layernorm", "post_attention_layernorm"]:
        tensors[f"model.layers.{i}.{name}.weight"] = ones(hidden)
header, data = {}, b""
for name, (shape, numbers) in tensors.items():
    begin = len(data)
    data += struct.pack(f"<{len(numbers)}f", *numbers)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
text = json.dumps(header).encode()
open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
PYTHON
}

# said MODEL OPTION...: the ids of a continuation of $prompt.
prompt=abc
said() {
  local model=$1
  shift
  "$tool" generate "$work/$model" --prompt "$prompt" --max-tokens 24 --json "$@" |
    python3 -c 'import json, sys; print(*json.load(sys.stdin)["ids"])'
}
expect_said() {
  local expected=$1
  shift
  local now
  now=$(said "$@")
  [ "$now" = "$expected" ] || fail "$*: $now instead of $expected"
}
expect_refused() {
  local expected=$1
  shift
  local status=0
  "$tool" generate "$work/bytes" --prompt "$prompt" "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 2 ] || fail "$*: status $status"
  [ ! -s "$work/out" ] || fail "$*: it printed $(cat "$work/out")"
  if grep -q compiling "$work/err"; then fail "$*: it compiled"; fi
  grep -qF -- "$expected" "$work/err" || fail "$*: it said $(cat "$work/err")"
}

make_model bytes 127
make_model nibbles 7
bytes=$(said bytes)
nibbles=$(said nibbles)
[ "$(wc -w <<<"$bytes")" -gt 8 ] || fail "the model of bytes says nothing: $bytes"
[ "$bytes" != "$nibbles" ] || fail "two models say the same"
[ "$bytes" != "$(said bytes --weights int4)" ] || fail "4 bits hold what needs 8"
expect_said "$bytes" bytes --freezing
expect_said "$bytes" bytes --weights int8
expect_said "$bytes" bytes --weights int8 --freezing
expect_said "$nibbles" nibbles --weights int4
expect_said "$nibbles" nibbles --weights int4 --freezing
expect_said "$nibbles" nibbles --weights int4 --group-size 64
expect_said "$bytes" bytes --weights int8 --group-size 32
for dtype in bf16 f16; do
  halves=$(said bytes --dtype $dtype)
  [ "$(wc -w <<<"$halves")" -gt 4 ] || fail "--dtype $dtype says nothing: $halves"
  expect_said "$halves" bytes --dtype $dtype --freezing
done
# With short prompts no activations are rounded.
expect_said "$bytes" bytes --weights int8 --activations int8
prompt=abcdefgh
exact=$(said bytes --weights int8)
for weights in int8 int4; do
  rounded=$(said bytes --weights $weights --activations int8)
  [ "$(wc -w <<<"$rounded")" -gt 8 ] || fail "rounded activations say nothing: $rounded"
  expect_said "$rounded" bytes --weights $weights --activations int8 --freezing
done
[ "$(cut -d' ' -f1-9 <<<"$rounded")" = "$(cut -d' ' -f1-9 <<<"$exact")" ] || fail "the prompt is another"

# Several prompts are decoded together, and each says what it says alone; the options of a text.
python3 - "$tool" "$work/bytes" <<'PYTHON'
import json, subprocess, sys
tool, folder = sys.argv[1:]
def said(*options):
    command = [tool, "generate", folder, "--json", *options]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
prompts = ["ab", "HelloWorldHelloWorld", "Z"]
alone = [said("--prompt", prompt) for prompt in prompts]
together = said(*[word for prompt in prompts for word in ("--prompt", prompt)], "--max-batch", "2")["texts"]
for name in ["prompt_ids", "new_ids", "new_text", "finish"]:
    assert [text[name] for text in together] == [text[name] for text in alone], name
one = alone[0]
assert one["ids"] == one["prompt_ids"] + one["new_ids"] and one["text"] == "ab" + one["new_text"]
told = said("--prompt", "ab", "--logprobs", "2", "--first-logits")
assert told["new_ids"] == one["new_ids"] and len(told["logprobs"]) == len(one["new_ids"])
assert len(told["first_logits"]) == 55 and told["logprobs"][0]["top"][0]["id"] == one["new_ids"][0]
stop = one["new_text"][3:5]
assert said("--prompt", "ab", "--stop", stop)["new_text"] == one["new_text"][:one["new_text"].find(stop)]
assert said("--prompt", "ab", "--stop-token", str(one["new_ids"][0]))["new_ids"] == []
barred = str(one["new_ids"][0]) + "=-1000"
assert one["new_ids"][0] not in said("--prompt", "ab", "--logit-bias", barred)["new_ids"]
drafted = said("--prompt", "ab", "--logprobs", "2", "--draft-tokens", "4")
def is_same(a, b):
    return a["new_ids"] == b["new_ids"] and all(
        abs(x["logprob"] - y["logprob"]) < 1e-4 for x, y in zip(a["logprobs"], b["logprobs"]))
assert is_same(drafted, told), drafted
assert 0 <= drafted["accepted_tokens"] <= drafted["drafted_tokens"]
drafted = said("--prompt", "ab", "--logprobs", "2", "--draft-tokens", "3", "--draft-model", folder)
assert is_same(drafted, told), drafted
assert drafted["accepted_tokens"] > 0, "a model guesses its own tokens"
beams = said("--prompt", "ab", "--beams", "3", "--n", "2", "--max-new-tokens", "5")["texts"]
assert len(beams) == 2 and beams[0]["score"] >= beams[1]["score"]
PYTHON

expect_refused "[generate] --use is b; there is no --adapter b=FOLDER of that name" --use b
expect_refused "[generate] --use is given 2 times for 1 prompts" --use none --use none
expect_refused "[generate] --logit-bias is 3:4; ID=NUMBER is needed, as in 12=-3.5" --logit-bias 3:4
expect_refused "[generate] a stop string is empty; it must have a character" --stop ""
expect_refused "[generate] --beams is 2 together with sampling, penalties" --beams 2 --temperature 1
expect_refused "[generate] --draft-tokens is 15; from 0 to 14 guesses" --draft-tokens 15
expect_refused "[generate] --draft-tokens is 4 with --activations, which rounds what" --draft-tokens 4 --weights int8 --activations int8
expect_refused "there is no file \"$work/none/config.json\"" --draft-tokens 4 --draft-model "$work/none"
expect_refused "[generate] --use is given without --adapter NAME=FOLDER" --use none
expect_refused "[generate] --draft-model is given without --draft-tokens" --draft-model "$work/bytes"
expect_refused "[generate] --draft-tokens is 4 for several texts, --beams or" --draft-tokens 4 --n 2
expect_refused "[generate] --dtype is f64; one of f16, bf16, f32 can be chosen" --dtype f64
expect_refused "[generate] --weights is int2; int8 and int4 can be chosen" --weights int2
expect_refused "[generate] --activations is int4; int8 can be chosen" --weights int8 --activations int4
expect_refused "[generate] --max-tokens is 100000; the model has 64 positions" --max-tokens 100000
expect_refused "--max-tokens: the value is 0; a number above 0 is right" --max-tokens 0
expect_refused "[sample] temperature is -1; 0 (greedy) or more is allowed" --temperature -1
expect_refused "[sample] top_p is 2; above 0 and up to 1 is allowed" --top-p 2
expect_refused "[generate] --steps-a-round is 4 with a temperature of 1; several steps need a temperature of 0" \
  --steps-a-round 4 --temperature 1
expect_refused "[generate] --group-size is given without --weights int8 or int4" --group-size 32
expect_refused "(--weights int4 --group-size 128; int8 without a group size fits every row)" \
  --weights int4 --group-size 128 --max-tokens 24
expect_refused "[generate] --weights is absent; int8 and int4 can be chosen, which --activations needs" \
  --activations int8

# An option that is given again takes one value each time, and help says so.
"$tool" generate --help >"$work/out"
grep -qE -- "--(prompt|stop|use|adapter) TEXT +[a-z]" "$work/out" || fail "help: $(cat "$work/out")"
grep -qF " ..." "$work/out" && grep -F " ..." "$work/out" | grep -v "emulated:sm_90a, ..." &&
  fail "help shows several values of an option"

# The sizes of the folder, and its weights as they are stored, counted from the file's header.
"$tool" inspect "$work/bytes" --json >"$work/out"
python3 - "$work" <<'PYTHON'
import json, math, struct, sys
data = open(sys.argv[1] + "/bytes/model.safetensors", "rb").read()
header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
elements = sum(math.prod(entry["shape"]) for entry in header.values())
config = json.load(open(sys.argv[1] + "/bytes/config.json"))
found = json.load(open(sys.argv[1] + "/out"))
for name, expected in {"family": "llama", "parameters": elements, "stored_elements": elements,
                       "stored_bytes": 4 * elements, "stored_tensors": len(header),
                       "dtypes": {"f32": elements}, "vocabulary": config["vocab_size"],
                       "context": config["max_position_embeddings"], "layers": 2, "heads": 4,
                       "kv_heads": 2, "head_size": 16, "format": "safetensors"}.items():
    assert found[name] == expected, (name, found[name], expected)
PYTHON
"$tool" inspect "$work/bytes" >"$work/out"
grep -qF "family llama: " "$work/out" || fail "inspect printed $(cat "$work/out")"
grep -qF "vocabulary 55, context 64" "$work/out" || fail "inspect printed $(cat "$work/out")"

# A measurement of two texts in pages: three have one page each, with that of the prompt.
"$tool" bench llm "$work/bytes" --prompt-tokens 20 --batch 2 --new-tokens 8 --rounds 2 \
  --cache-rows 250 --json >"$work/out"
python3 - "$work/out" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
cache, row = report["cache"], report["rows"][0]
assert cache["rows"] == 250 and 4 * cache["most_bytes_used"] == 3 * cache["bytes"], cache
assert row["batch"] == 2 and row["per_token_s"]["count"] == 2 * 7, row
PYTHON
status=0
"$tool" bench llm "$work/bytes" --prompt-tokens 20 --batch 4 --new-tokens 8 --cache-rows 250 \
  >/dev/null 2>"$work/err" || status=$?
[ "$status" = 1 ] || fail "bench llm ended with $status where it lacked pages: $(cat "$work/err")"
grep -qF "0 of 4 are free: end a text, or make the pool larger" "$work/err" ||
  fail "bench llm said of too few pages: $(cat "$work/err")"
