#!/usr/bin/env python3
"""Times tokenizers beside the library `tokenizers`, one thread each, in turns, as a table or a file.

    cmake --build --preset release --target tokenizer_speed
    tools/peers/tokenizer_speed.py TEXT NAME=TOKENIZER_JSON ... [--store FILE.json]

TEXT is encoded line by line. `tokenizers` is given all lines in one call, which is its faster way.
"""
import argparse
import json
import os
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("text")
parser.add_argument("files", nargs="+", metavar="NAME=FILE")
parser.add_argument("--program", default=os.path.join(HERE, "../../build/release/tools/peers/tokenizer_speed"))
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--store")
a = parser.parse_args()
with open(a.text, encoding="utf-8", newline="\n") as file:
    text = file.read()
lines = text.removesuffix("\n").split("\n")
megabytes = sum(len(line.encode()) for line in lines) / 1e6
rows = []
for name, path in (item.split("=", 1) for item in a.files):
    theirs = Tokenizer.from_file(path)
    theirs.no_padding()
    own, other = [], []
    for _ in range(a.rounds):
        begin = time.perf_counter()
        ids = sum(len(e.ids) for e in theirs.encode_batch(lines))
        other.append(time.perf_counter() - begin)
        done = json.loads(subprocess.run([a.program, path, a.text, "3"], check=True, stdout=subprocess.PIPE).stdout)
        own.append(done["seconds"])
    rows.append({"tokenizer": name, "megabytes": round(megabytes, 3), "same_number_of_ids": done["ids"] == ids,
                 "mb_per_s": round(megabytes / min(own), 2), "mb_per_s_of_tokenizers": round(megabytes / min(other), 2),
                 "ratio": round(min(other) / min(own), 2)})
    print(json.dumps(rows[-1]), flush=True)
if a.store:
    with open(a.store, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
