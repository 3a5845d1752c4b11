#!/usr/bin/env python3
"""Compares `tilewright embed` with PyTorch and ONNX Runtime: vectors, and sentences a second.

    tools/peers/embeddings.py FOLDER [--tool build/release/tilewright] [--texts 1000] [--rounds 3] [--store FILE.json]

FOLDER is a BERT of sentence-transformers (all-MiniLM-L6-v2). Texts are drawn from the words of its vocabulary, from 3 to
120 of them, short ones more often. The reference is transformers in float32 with a mean over tokens, or sentence-transformers
where it is installed. ONNX Runtime runs the model as torch.onnx exports it, with and without the fusions of
onnxruntime.transformers, whichever is faster; batches are padded to their longest text. All times have tokenizers in them,
and systems take turns.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from transformers import AutoModel, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("--tool", default=os.path.join(os.path.dirname(__file__), "../../build/release/tilewright"))
parser.add_argument("--texts", type=int, default=1000, help="that are compared")
parser.add_argument("--timed", type=int, default=256, help="of these, that are timed")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--batches", default="1,8,32")
parser.add_argument("--work", default=None, help="a folder for the exported models, kept for other runs")
parser.add_argument("--store", help="file for the results")
a = parser.parse_args()
torch.set_num_threads(a.threads)
tokenizer = AutoTokenizer.from_pretrained(a.folder)
with open(os.path.join(a.folder, "sentence_bert_config.json"), encoding="utf-8") as settings:
    longest = json.load(settings)["max_seq_length"]


def texts(count):
    draw = random.Random(7)
    words = [w for w in sorted(tokenizer.get_vocab()) if w.isalpha() and w.isascii() and len(w) > 1]
    return [" ".join(draw.choice(words) for _ in range(round(3 * 40 ** (draw.random() ** 1.5)))) for _ in range(count)]


def encoded(batch):
    return tokenizer(batch, padding=True, truncation=True, max_length=longest, return_tensors="np")


def pooled(states, mask):
    mask = mask[:, :, None].astype(numpy.float32)
    vectors = (states * mask).sum(1) / mask.sum(1)
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def reference(all_texts):
    try:
        from sentence_transformers import SentenceTransformer
        return SentenceTransformer(a.folder, device="cpu").encode(all_texts, batch_size=32), "sentence-transformers"
    except ImportError:
        pass
    model = AutoModel.from_pretrained(a.folder, dtype=torch.float32).eval()
    parts = []
    with torch.no_grad():
        for at in range(0, len(all_texts), 32):
            batch = encoded(all_texts[at:at + 32])
            states = model(**{k: torch.from_numpy(v) for k, v in batch.items()}).last_hidden_state.numpy()
            parts.append(pooled(states, batch["attention_mask"]))
    return numpy.concatenate(parts), "transformers, mean over tokens"


def ours(all_texts, batch, passes):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(all_texts) + "\n")
        file.flush()
        command = [a.tool, "embed", a.folder, "--file", file.name, "--batch", str(batch), "--passes", str(passes),
                   "--threads", str(a.threads), "--json"]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def onnx_files(work):
    plain, fused = os.path.join(work, "plain.onnx"), os.path.join(work, "fused.onnx")
    if not os.path.exists(plain):
        class States(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = AutoModel.from_pretrained(a.folder, dtype=torch.float32, attn_implementation="eager").eval()

            def forward(self, input_ids, attention_mask, token_type_ids):
                return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]

        batch = {k: torch.from_numpy(v) for k, v in encoded(["a first text", "another"]).items()}
        names = ["input_ids", "attention_mask", "token_type_ids"]
        torch.onnx.export(States(), tuple(batch[n] for n in names), plain, input_names=names, output_names=["states"],
                          dynamic_axes={n: {0: "batch", 1: "length"} for n in names + ["states"]}, dynamo=False,
                          opset_version=17)
    if not os.path.exists(fused):
        try:
            from onnxruntime.transformers import optimizer
            optimizer.optimize_model(plain, model_type="bert", num_heads=12, hidden_size=384,
                                     use_gpu=False).save_model_to_file(fused)
        except Exception as error:  # the plain model is a peer by itself
            print("no fusions of onnxruntime.transformers:", error, file=sys.stderr)
    return [f for f in (plain, fused) if os.path.exists(f)]


class OnnxRuntime:
    def __init__(self, path):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = a.threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.names = [i.name for i in self.session.get_inputs()]

    def embed(self, all_texts, batch):
        parts = []
        for at in range(0, len(all_texts), batch):
            given = encoded(all_texts[at:at + batch])
            states = self.session.run(None, {n: given[n] for n in self.names})[0]
            parts.append(pooled(states, given["attention_mask"]))
        return numpy.concatenate(parts)

    def seconds(self, all_texts, batch):
        begin = time.perf_counter()
        self.embed(all_texts, batch)
        return time.perf_counter() - begin


def main():
    all_texts = texts(a.texts)
    result = {"model": os.path.basename(os.path.normpath(a.folder)), "texts": a.texts, "threads": a.threads}
    wanted, result["reference"] = reference(all_texts)
    found = ours(all_texts, 32, 1)
    result["same_ids"] = [t["ids"] for t in found["texts"]] == tokenizer(all_texts, truncation=True, max_length=longest)["input_ids"]
    vectors = numpy.array([t["embedding"] for t in found["texts"]], dtype=numpy.float32)
    result["distance"] = float(numpy.abs(vectors - wanted).max())
    lengths = [len(t["ids"]) for t in found["texts"]]
    result["tokens_of_a_text"] = {"least": min(lengths), "mean": statistics.mean(lengths), "most": max(lengths)}
    print(json.dumps(result), flush=True)
    work = a.work or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    peers = {os.path.basename(p).removesuffix(".onnx"): OnnxRuntime(p) for p in onnx_files(work)}
    for name, peer in peers.items():
        result["distance_of_onnxruntime_" + name] = float(numpy.abs(peer.embed(all_texts[:64], 8) - wanted[:64]).max())
    timed, result["speed"] = all_texts[:a.timed], []
    for batch in map(int, a.batches.split(",")):
        seconds = {name: [] for name in [*peers, "tilewright"]}
        for _ in range(a.rounds):
            for name, peer in peers.items():
                seconds[name].append(peer.seconds(timed, batch))
            seconds["tilewright"].append(min(ours(timed, batch, 3)["pass_s"][1:]))
        rate = {name: a.timed / statistics.median(s) for name, s in seconds.items()}
        best = max(rate[name] for name in peers)
        result["speed"].append({"batch": batch, "texts_per_s": {n: round(r, 1) for n, r in rate.items()},
                                "of_onnxruntime": round(rate["tilewright"] / best, 3)})
        print(json.dumps(result["speed"][-1]), flush=True)
    if a.store:
        with open(a.store, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


main()
