#!/usr/bin/env python3
"""Times llama.cpp and Tilewright on Llama 3.2 1B with random weights, in turns.

  tools/peers/llama_cpp.py BENCH_FOLDER [--tilewright build/release/tilewright] [--rounds 5]
                           [--bits bf16 int8 int4] [--threads 2] [--gguf-folder DIR]

BENCH_FOLDER holds llama-bench and llama-quantize of ggml-org/llama.cpp, built for this host, for
example: cmake -S llama.cpp -B build -DCMAKE_BUILD_TYPE=Release -DLLAMA_OPENSSL=OFF, then the two
targets; the folder is build/bin. Models are made once, in --gguf-folder (4.6 GB): bf16 by the
package gguf, Q8_0 and Q4_0 by llama-quantize, where Q4_0 is the table of tokens too.

Prints JSON: tokens per second of each, medians of the rounds, and the ratio of ours to theirs, the
median of the ratios of the rounds. "limit" is what loops that only read, or only multiply, reached
beside ours: the memory of a machine that others share is not as fast in one minute as in the next.
Cases:

  decode, context 1024      a step at a full context of 1024, as `tilewright bench models` has it
  decode, context 0         theirs alone: from nothing to --tokens
  prompt of 512             rows at once, the logits of the last one

Weights of 8 bits have a scale a row here and one for 32 there, 8.0 and 8.5 bits a weight; those of
4 bits an f32 for 64 here and an f16 for 32 there, 4.5 bits. llama.cpp rounds the rows that it
multiplies by them to 8 bits, 32 numbers by the largest. Ours are not rounded in "int8" and "int4";
in prompts of "w8a8" and "w4a8" they are, a row by its largest, against the same of llama.cpp.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys

import gguf
import numpy as np

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD, VOCABULARY = 16, 2048, 8192, 32, 8, 64, 128256
POSITIONS, CONTEXT, PROMPT = 8192, 1024, 512
FORMATS = {"bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}  # llama.cpp's names
# Our own formats that run beside each, with their names in our cases.
OWN_FORMATS = {"bf16": {"bf16": ""}, "int8": {"int8": "int8 ", "w8a8": "w8a8 "},
               "int4": {"int4": "int4 ", "w4a8": "w4a8 "}}


def matrices():
    """Names and shapes [out, in] of the matrices of the model, as GGUF has them."""
    yield "token_embd", (VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        yield f"blk.{i}.attn_q", (HEADS * HEAD, HIDDEN)
        yield f"blk.{i}.attn_k", (KV_HEADS * HEAD, HIDDEN)
        yield f"blk.{i}.attn_v", (KV_HEADS * HEAD, HIDDEN)
        yield f"blk.{i}.attn_output", (HIDDEN, HEADS * HEAD)
        yield f"blk.{i}.ffn_gate", (INNER, HIDDEN)
        yield f"blk.{i}.ffn_up", (INNER, HIDDEN)
        yield f"blk.{i}.ffn_down", (HIDDEN, INNER)


def norms():
    """Names of the norms' weights, each as long as a row is wide."""
    yield "output_norm"
    for i in range(LAYERS):
        yield from (f"blk.{i}.attn_norm", f"blk.{i}.ffn_norm")


def random_bf16(generator, shape):
    """Normal numbers of deviation 0.02 as the bytes of bf16, cut off rather than rounded."""
    rows = generator.standard_normal(shape, dtype=np.float32)
    rows *= 0.02
    return (rows.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)


def describe(writer):
    """The keys that llama.cpp wants of a model; words of a tokenizer are not among them."""
    writer.add_name("llama 3.2 1b, random")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("no_vocab")


def write_model(path):
    """A model of random weights, tensor by tensor, so that one at a time is in memory."""
    writer = gguf.GGUFWriter(path, "llama")
    describe(writer)
    f32, bf16 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.BF16
    byte, real = np.dtype(np.uint8), np.dtype(np.float32)
    for name, (rows, columns) in matrices():
        size = rows * columns * 2
        writer.add_tensor_info(f"{name}.weight", (rows, columns * 2), byte, size, bf16)
    for name in norms():
        writer.add_tensor_info(f"{name}.weight", (HIDDEN,), real, HIDDEN * 4, f32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    generator = np.random.default_rng(1)
    for _, shape in matrices():
        writer.write_tensor_data(random_bf16(generator, shape))
    for _ in norms():
        near_one = 1 + 0.02 * generator.standard_normal(HIDDEN, dtype=np.float32)
        writer.write_tensor_data(near_one.astype(np.float32))
    writer.close()


def model_file(folder, bench_folder, bits):
    """The model in this format, made if it is not there; a file that is begun has another name."""
    path = folder / f"{bits}.gguf"
    if path.exists():
        return path
    begun = folder / f"{bits}.begun"
    print(f"making {path}", file=sys.stderr)
    if bits == "bf16":
        write_model(begun)
    else:
        source = model_file(folder, bench_folder, "bf16")
        subprocess.run([bench_folder / "llama-quantize", "--pure", source, begun, FORMATS[bits],
                        "1"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun.rename(path)
    return path


def facts_of(path):
    """The contents of a file: its bytes, tensors by type, and the type of the token table, which is
    also the last product's matrix."""
    types, table = {}, None
    for tensor in gguf.GGUFReader(path).tensors:
        name = tensor.tensor_type.name
        types[name] = types.get(name, 0) + 1
        table = name if tensor.name == "token_embd.weight" else table
    return {"file": path.name, "bytes": path.stat().st_size, "tensors": types, "token_embd": table}


def json_of(command):
    """The output of a command, as JSON; its errors end this program with their text."""
    reply = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if reply.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{reply.stderr[-2000:]}")
    return json.loads(reply.stdout)


class LlamaCpp:
    """llama-bench on one file after another."""

    def __init__(self, folder, threads, tokens):
        self.program, self.threads, self.tokens = folder / "llama-bench", threads, tokens
        self.facts = {}

    def run(self, model, prompt, tokens, depth):
        """Tests of one start of the program, which makes a call before those that it times."""
        tests = json_of([self.program, "-m", model, "-t", self.threads, "-p", prompt, "-n", tokens,
                         "-d", depth, "-r", "1", "-o", "json"])
        keys = ("build_commit", "build_number", "backends", "type_k", "type_v",
                "flash_attn", "n_batch", "n_ubatch", "repack")
        self.facts = {key: tests[0][key] for key in keys}
        return tests

    def rates(self, model):
        """Tokens per second of cases, as each start of the program gives them."""
        for depth, prompt in ((0, PROMPT), (CONTEXT, 0)):
            yield {f"decode, context {depth}" if test["n_gen"] else f"prompt of {PROMPT}":
                   test["avg_ts"] for test in self.run(model, prompt, self.tokens, depth)}


class Tilewright:
    """Its own bench of whole steps."""

    def __init__(self, program, threads, rounds):
        self.program, self.flags = program, ["--threads", threads, "--rounds", rounds, "--json"]

    def run(self, section, *words):
        """The cases of a section in whose names one of the words stands."""
        results = json_of([self.program, "bench", section, *words, "--device", "cpu",
                           *self.flags])["results"]
        wrong = [row["case"] for row in results if not row["ok"]]
        if wrong:
            sys.exit(f"{self.program} bench {section}: wrong: {', '.join(wrong)}")
        return results

    def step_rates(self, case, bits):
        """Tokens per second of whole steps by format, and of the loops that do nothing but what
        limits them; none of a case that the bench has not."""
        for own, word in OWN_FORMATS[bits].items():
            for row in self.run("models", f"llama3_2_1b {word}{case}"):
                yield own, row["tokens_per_s"], row["tokens_per_s"] / row["of_limit"]


def measure(theirs, ours, models, rounds):
    """Samples {(case, bits, our format): {system: rates}}, one of each system a round."""
    samples = {}

    def add(case, bits, own, rates):
        for system, rate in rates.items():
            samples.setdefault((case, bits, own), {}).setdefault(system, []).append(rate)

    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for bits, model in models.items():
            for case, their_rate in (c for rates in theirs.rates(model) for c in rates.items()):
                found = list(ours.step_rates(case, bits))
                if not found:
                    add(case, bits, bits, {"llama.cpp": their_rate})
                for own, rate, limit in found:
                    add(case, bits, own,
                        {"llama.cpp": their_rate, "tilewright": rate, "limit": limit})
    return samples


def rows_of(samples):
    """A row a case and format: medians, all samples and, where both have the case, the ratio."""
    rows = []
    for (case, bits, own), rates in samples.items():
        row = {"case": case, "bits": own, "format": FORMATS[bits],
               "tokens_per_s": {name: statistics.median(list_) for name, list_ in rates.items()},
               "samples": rates}
        if {"tilewright", "llama.cpp"} <= rates.keys():
            pairs = zip(rates["tilewright"], rates["llama.cpp"])
            row["tilewright_over_llama_cpp"] = statistics.median(a / b for a, b in pairs)
        rows.append(row)
    return rows


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench_folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--bits", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own-rounds", type=int, default=5, help="of Tilewright's own bench")
    parser.add_argument("--tokens", type=int, default=48, help="that llama-bench decodes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gguf-folder", type=pathlib.Path, help="(default: BENCH_FOLDER)")
    return parser.parse_args()


def main():
    arguments = arguments_given()
    folder = arguments.gguf_folder or arguments.bench_folder
    models = {bits: model_file(folder, arguments.bench_folder, bits) for bits in arguments.bits}
    theirs = LlamaCpp(arguments.bench_folder, arguments.threads, arguments.tokens)
    ours = Tilewright(arguments.tilewright, arguments.threads, arguments.own_rounds)
    samples = measure(theirs, ours, models, arguments.rounds)
    names = (line for line in open("/proc/cpuinfo") if "model name" in line)
    print(json.dumps({
        "bench": "llama_cpp", "device": next(names).split(": ")[1].strip(),
        "date": datetime.date.today().isoformat(),
        "command": "tools/peers/llama_cpp.py BENCH_FOLDER", "model": "llama3_2_1b, random weights",
        "threads": arguments.threads, "rounds": arguments.rounds, "llama.cpp": theirs.facts,
        "files": {bits: facts_of(path) for bits, path in models.items()},
        "results": rows_of(samples)}, indent=1))


if __name__ == "__main__":
    main()
