#!/usr/bin/env python3
"""Writes the README's table of figures from docs/results/*.json, between its two markers."""
import json
import pathlib

root = pathlib.Path(__file__).resolve().parent.parent
results = root / "docs" / "results"
begin, end = "<!-- figures: tools/readme_tables.py -->\n", "<!-- end of figures -->"


def load(name):
    return json.loads((results / name).read_text())


def rows():
    regional, decode, kernels = (load(f"cpu_{n}.json") for n in ("regional", "decode", "rows"))
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
    for row in kernels["results"]:
        yield (f"{row['kernel']}, {row['shape']} f32", f"{row['fraction']:.2f} of a copy of its bytes",
               "cpu_rows.json")


def main():
    readme = root / "README.md"
    text = readme.read_text()
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    table = "| what | result | file |\n|---|---|---|\n"
    table += "".join(f"| {a} | {b} | [`{c}`](docs/results/{c}) |\n" for a, b, c in rows())
    readme.write_text(head + begin + table + end + tail)


if __name__ == "__main__":
    main()
