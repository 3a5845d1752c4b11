#!/usr/bin/env python3
"""Writes gpt2_logits.h: what Hugging Face's GPT-2 says to the weights that gpt2_test.cpp makes.

Needs torch and transformers; run only to make the file again: gpt2_logits.py | clang-format
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

IDS = [3, 71, 15, 9, 88, 0, 42]

config = GPT2Config(vocab_size=96, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=95, eos_token_id=95,
                    attn_implementation="eager")
model = GPT2LMHeadModel(config).eval()
state = {n: p for n, p in model.named_parameters()}
with torch.no_grad():
    for order, name in enumerate(sorted(state)):
        p = state[name]
        i = torch.arange(p.numel(), dtype=torch.float64)
        wave = torch.sin(12.9898 * (i + 1) + 78.233 * (order + 1)).reshape(p.shape)
        is_norm = ".ln_" in name and name.endswith("weight")
        p.copy_((1 + 0.1 * wave if is_norm else 0.2 * wave).float())
    logits = model(torch.tensor([IDS])).logits[0]
print("// Made by gpt2_logits.py: logits of %d ids, a row each." % len(IDS))
print("#pragma once\n\n#include <cstdint>\n\nnamespace tilewright {\n")
print("constexpr std::int64_t gpt2_ids[] = {%s};" % ", ".join(map(str, IDS)))
print("constexpr float gpt2_logits[] = {")
flat = [("%.5g" if "." in "%.5g" % x or "e" in "%.5g" % x else "%.1f") % x + "F" for x in logits.flatten().tolist()]
line = ""
for word in flat:
    if len(line) + len(word) > 94:
        print("    " + line.rstrip())
        line = ""
    line += word + ", "
print("    " + line.rstrip(", ") + "};")
print("\n}  // namespace tilewright")
