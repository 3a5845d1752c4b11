#!/usr/bin/env python3
"""The picture of docs/results/*.json: for each task and each system beside which it ran, the geometric mean of
that system's time over ours, on a logarithmic axis. Slower cases stand left of the line at 1, in
the same size. An SVG that follows the reader's light or dark scheme; figures.py stores it."""
import json
import math

# Name and colours in light and dark: of one lightness each, and told apart by the colour-blind.
systems = {"torch": ("PyTorch", "#c2410c", "#fb923c"), "inductor": ("Inductor", "#1d4ed8", "#7dabf8"),
           "onnxruntime": ("ONNX Runtime", "#7e22ce", "#c99bf5"),
           "llama.cpp": ("llama.cpp, llama2.c", "#0f766e", "#4fd1c0"),
           "best": ("the fastest of PyTorch, torch.compile, cuBLAS and cuDNN", "#be185d", "#f78fb9")}
cpu_tasks = {"gemm": "matrix products", "rows": "row kernels", "gemv": "products of one and eight rows",
             "attention": "attention", "scores": "attention with score functions",
             "models": "steps of GPT-2 and Llama 3.2 1B", "optim": "AdamW",
             "exported": "eight exported networks", "compile": "first calls, cold"}
gpu_tasks = {"gemm": "matrix products", "attention": "attention",
             "scores": "attention with score functions", "rows": "row kernels", "decode": "products of one row", "prefill": "linear layers of prompts", "models": "steps of Llama",
             "launch": "launches", "graphs": "launches in graphs"}
width, left, right, row_height = 760, 226, 584, 19  # of the picture; the axis lies from left to right
low, high = 0.16, 40.0


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def load(folder, name):
    path = folder / name
    return json.loads(path.read_text()) if path.exists() else None


def cpu_panel(folder, ending):
    """(device, [(task, {system: ratio})]) of one host; ONNX Runtime ran what it can be given."""
    device, tasks = "", []
    for section, task in cpu_tasks.items():
        result = load(folder, f"cpu_{section}{ending}.json")
        if not result:
            continue
        device, ratios = result["device"], {}
        for row in result["results"]:
            for system, peer in row.get("peers", {}).items():
                ratios.setdefault(system, []).append(peer["seconds"] / row["seconds"])
        tasks.append((task, {system: mean(list_) for system, list_ in ratios.items()}))
    return device, tasks


def llama_tasks(folder):
    rows = [r for r in load(folder, "cpu_llama_cpp.json")["results"] if "tilewright_over_llama_cpp" in r]
    for task, case in (("Llama 3.2 1B, prompts", "prompt"), ("Llama 3.2 1B, decoding", "decode")):
        yield task, {"llama.cpp": mean([r["tilewright_over_llama_cpp"] for r in rows if r["case"].startswith(case)])}
    rates = load(folder, "cpu_decode.json")["tokens_per_s"]
    yield "stories260K, decoding", {"llama.cpp": rates["reduce-overhead"] / rates["llama2.c"]}


def gpu_panels(folder):
    """A panel for each GPU on which a task was measured last."""
    tasks_of = {}
    for section, task in gpu_tasks.items():
        result = load(folder, f"gpu_{section}.json")
        if result:
            ratio = mean([r["ratio"] for r in result["results"] if r["ok"] and r["ratio"]])
            tasks_of.setdefault(result["device"], []).append((task, {"best": ratio}))
    return tasks_of.items()


def panels(folder):
    device, tasks = cpu_panel(folder, "")
    first = tasks.pop() if tasks[-1][0] == cpu_tasks["compile"] else None
    yield f"{device}, two threads", tasks + list(llama_tasks(folder)) + ([first] if first else [])
    device, tasks = cpu_panel(folder, "_intel")
    yield f"{device}, two threads", tasks
    yield from gpu_panels(folder)


def place(ratio):
    ratio = min(max(ratio, low), high)
    return left + (right - left) * math.log(ratio / low) / math.log(high / low)


def style():
    def scheme(ink, faint, line, paper, which):
        colours = "".join(f".{name.replace('.', '')}{{fill:{colours[which]}}}" for name, colours in systems.items())
        return f"text{{fill:{ink}}}.faint{{fill:{faint}}}.grid{{stroke:{line}}}.one{{stroke:{faint}}}" \
               f".paper{{fill:{paper}}}{colours}"
    return ("<style>text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
            ".title{font-weight:600}.value{font-size:12px;font-weight:600}.small{font-size:12px}"
            ".value{font-variant-numeric:tabular-nums}.end{text-anchor:end}.middle{text-anchor:middle}"
            + scheme("#1f2328", "#59636e", "#d9dee4", "#ffffff", 1) + "@media(prefers-color-scheme:dark){"
            + scheme("#e6edf3", "#9aa4af", "#353c45", "#14171b", 2) + "}</style>")


def text(x, y, words, kind=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"' + (f' class="{kind}"' if kind else "") + f">{words}</text>\n"


def legend():
    """The names of the systems in two lines, and the first y below them."""
    drawn, x, y = "", 12, 48
    for name, (words, _, _) in systems.items():
        if name == "best":
            x, y = 12, y + 20
        drawn += f'<circle cx="{x + 5}" cy="{y - 4}" r="5" class="{name.replace(".", "")}"/>\n'
        drawn += text(x + 15, y, words + (" (on the GPU)" if name == "best" else ""), "small")
        x += 40 + 7 * len(words)
    return drawn, y + 14


def axis(top, bottom):
    drawn = ""
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
        kind = "one" if tick == 1 else "grid"
        drawn += f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{top}" y2="{bottom}" class="{kind}"/>\n'
        drawn += text(place(tick), bottom + 15, f"{tick:g}x", "faint small middle")
    return drawn


def task_row(y, task, ratios):
    drawn = text(left - 12, y + 4, task, "end small")
    for system, ratio in ratios.items():
        kind = system.replace(".", "")
        column = {"inductor": 1, "onnxruntime": 2}.get(system, 0)
        drawn += f'<circle cx="{place(ratio):.1f}" cy="{y}" r="5" class="{kind}"/>\n'
        drawn += text(right + 14 + 54 * column, y + 4, f"{ratio:.{2 if ratio < 10 else 1}f}x", f"value {kind}")
    return drawn


def svg(folder):
    names, y = legend()
    drawn = text(12, 22, "How many times as fast as each other system: geometric means, right of 1x is faster", "title")
    drawn += names
    for device, tasks in panels(folder):
        drawn += text(12, y + 18, device, "title small")
        y += 26
        drawn += axis(y, y + row_height * len(tasks))
        for task, ratios in tasks:
            drawn += task_row(y + row_height // 2 + 1, task, ratios)
            y += row_height
        y += 22
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 6}" width="{width}" '
            f'height="{y + 6}" role="img" aria-label="Speed beside other systems">\n{style()}\n'
            f'<rect width="{width}" height="{y + 6}" rx="8" class="paper"/>\n{drawn}</svg>\n')
