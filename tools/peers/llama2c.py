#!/usr/bin/env python3
"""Times llama2.c's run.c and Tilewright on the same model, one thread each, in turns.

  tools/peers/llama2c.py MODEL_DIR RUN [--tilewright build/release/tilewright] [--rounds 9]

MODEL_DIR is a Hugging Face folder of a small Llama; RUN is run.c of karpathy/llama2.c, compiled for
this host, for example: cc -Ofast -march=native -o run run.c -lm. The model is converted to RUN's
format in a temporary folder. Prints JSON: tokens per second of each, medians, and the ratios.
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile


def read_tensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    return {
        name: (entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def interleave_halves(shape, data, heads):
    """Rows of a head from (first halves, second halves) to pairs, as run.c rotates them."""
    rows, columns = shape
    size, half = rows // heads, rows // heads // 2
    row = lambda i: data[i * columns * 4 : (i + 1) * columns * 4]
    order = [h * size + (i % 2) * half + i // 2 for h in range(heads) for i in range(size)]
    return b"".join(row(i) for i in order)


def write_model(folder, target):
    config = json.loads((folder / "config.json").read_text())
    tensors = read_tensors(folder / "model.safetensors")
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    kv_heads, vocabulary = config["num_key_value_heads"], config["vocab_size"]
    positions, width = config["max_position_embeddings"], config["hidden_size"]
    with open(target, "wb") as file:
        file.write(struct.pack("7i", width, config["intermediate_size"], layers, heads, kv_heads,
                               vocabulary, positions))
        file.write(tensors["model.embed_tokens.weight"][1])
        for part in ("input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                     "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj",
                     "mlp.down_proj", "mlp.up_proj"):
            for layer in range(layers):
                shape, data = tensors[f"model.layers.{layer}.{part}.weight"]
                if part.endswith(("q_proj", "k_proj")):
                    data = interleave_halves(shape, data, heads if "q_" in part else kv_heads)
                file.write(data)
        file.write(tensors["model.norm.weight"][1])
        file.write(bytes(2 * positions * (width // heads // 2) * 4))


def write_tokenizer(folder, target):
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    ranks = {}
    for rank, merge in enumerate(model["merges"]):
        ranks.setdefault("".join(merge.split(" ") if isinstance(merge, str) else merge), rank)
    words = sorted(model["vocab"].items(), key=lambda item: item[1])
    spelt = [word.replace("\u2581", " ").encode() for word, _ in words]
    with open(target, "wb") as file:
        file.write(struct.pack("i", max(map(len, spelt))))
        for (word, _), text in zip(words, spelt):
            file.write(struct.pack("fi", -float(ranks.get(word, 10**6)), len(text)) + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--max-tokens", type=int, default=200)
    arguments = parser.parse_args()
    prompt, tokens = "Once upon a time", str(arguments.max_tokens)
    # llama2.c counts the positions of the whole text: the prompt has five tokens.
    positions = str(arguments.max_tokens + 5)
    ways = {"eager": ["--backend", "eager"], "default": [], "reduce-overhead": [],
            "max-autotune": []}
    for mode in ("default", "reduce-overhead", "max-autotune"):
        ways[mode] = ["--mode", mode]
    rates = {name: [] for name in ["llama2.c", *ways]}
    with tempfile.TemporaryDirectory() as folder:
        model, words = f"{folder}/model.bin", f"{folder}/tokenizer.bin"
        write_model(arguments.model, model)
        write_tokenizer(arguments.model, words)
        for _ in range(arguments.rounds):
            reply = subprocess.run([arguments.run, model, "-z", words, "-t", "0", "-n", positions, "-i",
                                    prompt], capture_output=True, check=True, text=True)
            rates["llama2.c"].append(float(re.search(r"tok/s: ([\d.]+)", reply.stderr)[1]))
            for name, flags in ways.items():
                reply = subprocess.run([arguments.tilewright, "generate", arguments.model, "--prompt",
                                        prompt, "--max-tokens", tokens, "--threads", "1", "--json",
                                        *flags], capture_output=True, check=True, text=True)
                rates[name].append(json.loads(reply.stdout)["decode_tokens_per_s"])
    medians = {name: statistics.median(list_) for name, list_ in rates.items()}
    cpu = next(line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line)
    best = medians["reduce-overhead"]
    print(json.dumps({
        "bench": "decode", "device": cpu, "date": datetime.date.today().isoformat(),
        "command": "tools/peers/llama2c.py MODEL_DIR RUN", "model": arguments.model.name,
        "threads": 1, "tokens_per_s": medians, "samples": rates,
        "reduce_overhead_over_llama2c": best / medians["llama2.c"],
        "reduce_overhead_over_eager": best / medians["eager"]}, indent=1))


if __name__ == "__main__":
    main()
