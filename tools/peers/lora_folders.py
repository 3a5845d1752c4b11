#!/usr/bin/env python3
"""Writes folders of PEFT adapters of many ranks, with the logits and greedy ids that peft has with them.

    tools/peers/lora_folders.py MODELS OUT [--count 64] [--seed 1]

MODELS has tiny-llama3.2 and tiny-qwen3 (tests/data). OUT gets a copy of both and OUT/published/peft-*; then
`tools/published_models.py OUT` compares. Ranks go from 1 to 256; adapters differ in their layers, alpha, rsLoRA and DoRA.
"""
import argparse
import json
import os
import random
import shutil

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PROMPTS = ["First Citizen:", "We know it.", "What is the city but the people?"]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("models")
parser.add_argument("out")
parser.add_argument("--count", type=int, default=64)
parser.add_argument("--seed", type=int, default=1)
a = parser.parse_args()


def greedy(model, ids, count):
    leads, new = [], []
    ids = torch.tensor([ids])
    first = None
    with torch.no_grad():
        for _ in range(count):
            logits = model(ids).logits[0, -1]
            first = logits if first is None else first
            two = logits.topk(2).values
            leads.append(float(two[0] - two[1]))
            new.append(int(logits.argmax()))
            ids = torch.cat([ids, torch.tensor([[new[-1]]])], 1)
    return first, new, min(leads)


def write(number, draw):
    base = ["tiny-llama3.2", "tiny-qwen3"][number % 2]
    rank = round(256 ** (number / (a.count - 1))) if a.count > 1 else 8
    torch.manual_seed(a.seed * 1000 + number)
    model = AutoModelForCausalLM.from_pretrained(os.path.join(a.models, base), dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(os.path.join(a.models, base))
    settings = LoraConfig(r=rank, lora_alpha=draw.choice([1, 8, 16, 2 * rank]), use_rslora=draw.random() < 0.3,
                          use_dora=draw.random() < 0.2, init_lora_weights=False,
                          target_modules=draw.sample(LAYERS, draw.randint(1, len(LAYERS))), task_type="CAUSAL_LM")
    adapted = get_peft_model(model, settings).eval()
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            parameter.data *= 0.1
    folder = os.path.join(a.out, "published", f"peft-many{number:02}-r{rank}-{base}")
    adapted.save_pretrained(folder)
    cases = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt)["input_ids"]
        logits, new, lead = greedy(adapted, ids, 12)
        cases.append({"prompt": prompt, "prompt_ids": ids, "max_tokens": 12, "ids": new, "smallest_lead": lead,
                      "last_logits_of_prompt": [round(float(v), 6) for v in logits[:16]]})
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"made_by": "peft", "base": base, "cases": cases}, file)


draw = random.Random(a.seed)
for base in ("tiny-llama3.2", "tiny-qwen3"):
    shutil.copytree(os.path.join(a.models, base), os.path.join(a.out, base), dirs_exist_ok=True)
for number in range(a.count):
    write(number, draw)
