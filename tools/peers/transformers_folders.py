#!/usr/bin/env python3
"""Writes folders of small models with random weights as transformers writes them, with what it says
to some prompts, for the tests of models.

  tools/peers/transformers_folders.py FOLDER [words in names ...]
  TILEWRIGHT_TEST_MODELS=FOLDER build/release/tests/models_tests --gtest_filter='*TransformersFolder*'

Needs torch and transformers. A folder is made with save_pretrained, read again in float32 and asked:
expected.json holds the ids of prompts, the first logits after each, 32 greedy ids (what ends a text is
passed over) and the smallest lead of a chosen logit over the next one. Sizes are odd on purpose: heads
that do not fill the width, groups of heads, a vocabulary that is no power of two.
"""
import argparse
import json
import pathlib

import torch
import transformers

SIZES = dict(vocab_size=211, hidden_size=48, intermediate_size=104, num_hidden_layers=3, num_attention_heads=6,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=None,
             initializer_range=0.2)
GPT2 = dict(vocab_size=211, n_embd=48, n_layer=3, n_head=6, n_positions=128, bos_token_id=1, eos_token_id=2,
            initializer_range=0.2)
NEOX = {k: v for k, v in SIZES.items() if k != "num_key_value_heads"}
OPT = {k: v for k, v in NEOX.items() if k not in ("intermediate_size", "initializer_range")} | dict(init_std=0.2)
LONG = dict(rope_type="longrope", rope_theta=10000.0)


def factors(count, start):
    return [start + 0.37 * i for i in range(count)]


def rope(kind, **members):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **members))


# name: (family, members of the configuration, options of saving)
FOLDERS = {
    "llama-default": ("Llama", {}, {}),
    "llama-theta": ("Llama", rope("default") | dict(tie_word_embeddings=True), {}),
    "llama-linear": ("Llama", rope("linear", factor=4.0), {}),
    "llama-dynamic": ("Llama", rope("dynamic", factor=4.0), {}),
    "llama-yarn": ("Llama", rope("yarn", factor=4.0, original_max_position_embeddings=64), {}),
    "llama-yarn-betas": ("Llama", rope("yarn", factor=8.0, original_max_position_embeddings=32, beta_fast=16.0,
                                       beta_slow=2.0, mscale=0.7, mscale_all_dim=0.9, truncate=False), {}),
    "llama-yarn-length": ("Llama", rope("yarn", factor=4.0, original_max_position_embeddings=64,
                                        attention_factor=1.3), {}),
    "llama-longrope": ("Llama", rope("longrope", original_max_position_embeddings=128, short_factor=factors(4, 1.0),
                                     long_factor=factors(4, 2.0)), {}),
    "llama3": ("Llama", rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32), {}),
    "llama-biases": ("Llama", dict(attention_bias=True, mlp_bias=True), {}),
    "llama-head-dim": ("Llama", dict(head_dim=20), {}),
    "llama-bf16": ("Llama", {}, dict(dtype=torch.bfloat16)),
    "llama-f16-shards": ("Llama", dict(num_hidden_layers=4), dict(dtype=torch.float16, max_shard_size="60KB")),
    "mistral-window": ("Mistral", dict(sliding_window=9), {}),
    "mistral-no-window": ("Mistral", dict(sliding_window=None, head_dim=10), {}),
    "qwen2": ("Qwen2", {}, {}),
    "qwen2-tied": ("Qwen2", dict(tie_word_embeddings=True, num_key_value_heads=6), {}),
    "qwen2-windows": ("Qwen2", dict(use_sliding_window=True, sliding_window=7, max_window_layers=1), {}),
    "qwen3": ("Qwen3", dict(head_dim=8), {}),
    "qwen3-head-dim": ("Qwen3", dict(head_dim=32, tie_word_embeddings=True, attention_bias=True), {}),
    "qwen3-bf16-shards": ("Qwen3", dict(head_dim=16), dict(dtype=torch.bfloat16, max_shard_size="50KB")),
    "gpt2-inner": ("GPT2", dict(n_inner=72), {}),
    "gpt2-gelu": ("GPT2", dict(activation_function="gelu"), {}),
    "gpt2-relu": ("GPT2", dict(activation_function="relu"), {}),
    "gpt2-unscaled": ("GPT2", dict(scale_attn_weights=False), {}),
    "gpt2-by-layer": ("GPT2", dict(scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True), {}),
    "gpt2-untied": ("GPT2", dict(tie_word_embeddings=False), {}),
    "phi3": ("Phi3", {}, {}),
    "phi3-window-partial": ("Phi3", dict(sliding_window=11, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)), {}),
    "phi3-long": ("Phi3", dict(original_max_position_embeddings=32, rope_parameters=LONG | dict(
        short_factor=factors(4, 1.0), long_factor=factors(4, 2.0))), {}),
    "gemma": ("Gemma", dict(head_dim=16), {}),
    "gemma2": ("Gemma2", dict(head_dim=16, sliding_window=9, query_pre_attn_scalar=24), {}),
    "gemma2-no-caps": ("Gemma2", dict(head_dim=16, sliding_window=9, attn_logit_softcapping=None,
                                      final_logit_softcapping=None), {}),
    "gemma3-text": ("Gemma3Text", dict(head_dim=16, sliding_window=9, num_hidden_layers=7), {}),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=5), {}),
    "smollm3-windows": ("SmolLM3", dict(num_hidden_layers=5, use_sliding_window=True, sliding_window=9,
                                        no_rope_layers=[1, 0, 1, 1, 0]), {}),
    "granite": ("Granite", dict(embedding_multiplier=3.0, logits_scaling=2.5, residual_multiplier=0.4,
                                attention_multiplier=0.3), {}),
    "olmo": ("Olmo", {}, {}),
    "olmo2": ("Olmo2", {}, {}),
    "olmo3": ("Olmo3", dict(num_hidden_layers=5, sliding_window=9), {}),
    "stablelm": ("StableLm", dict(use_qkv_bias=True), {}),
    "stablelm-parallel": ("StableLm", dict(use_parallel_residual=True, head_dim=None), {}),
    "phi": ("Phi", {}, {}),
    "phi-norms": ("Phi", dict(qk_layernorm=True), {}),
    "starcoder2": ("Starcoder2", dict(sliding_window=9), {}),
    "starcoder2-no-bias": ("Starcoder2", dict(use_bias=False, tie_word_embeddings=False), {}),
    "gpt-neox": ("GPTNeoX", {}, {}),
    "gpt-neox-sequential": ("GPTNeoX", dict(use_parallel_residual=False, attention_bias=False), {}),
    "cohere": ("Cohere", {}, {}),
    "glm": ("Glm", dict(head_dim=16), {}),
    "glm4": ("Glm4", dict(head_dim=16), {}),
    "ministral": ("Ministral", dict(head_dim=8, sliding_window=9, layer_types=["sliding_attention", "full_attention",
                                                                   "sliding_attention"]), {}),
    "arcee": ("Arcee", dict(mlp_bias=True), {}),
    "seed-oss": ("SeedOss", dict(head_dim=16), {}),
    "cohere2": ("Cohere2", dict(num_hidden_layers=5, sliding_window=9), {}),
    "gptj": ("GPTJ", dict(rotary_dim=4), {}),
    "opt": ("OPT", dict(ffn_dim=72), {}),
    "opt-no-bias": ("OPT", dict(ffn_dim=72, enable_bias=False, layer_norm_elementwise_affine=False), {}),
}


def config_of(family, members):
    name = {"Gemma3Text": "Gemma3Text"}.get(family, family) + "Config"
    base = {"GPT2": GPT2, "GPTJ": GPT2, "GPTNeoX": NEOX, "OPT": OPT}.get(family, SIZES)
    members = {k: v for k, v in (base | members).items() if not (k == "head_dim" and v is None)}
    return getattr(transformers, name)(**members)


def class_of(family):
    name = {"Gemma3Text": "Gemma3ForCausalLM", "GPT2": "GPT2LMHeadModel"}.get(family, family + "ForCausalLM")
    return getattr(transformers, name)


@torch.no_grad()
def write(folder, family, members, saving):
    torch.manual_seed(sum(map(ord, folder.name)))
    model = class_of(family)(config_of(family, members)).eval()
    for parameter in model.parameters():  # norms and biases are 1 and 0 else
        if parameter.dim() == 1:
            parameter.add_(torch.randn_like(parameter) * 0.2)
    options = {k: v for k, v in saving.items() if k != "dtype"}
    model.to(saving.get("dtype", torch.float32)).save_pretrained(folder, **options)
    model = class_of(family).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    cases = []
    for length in (5, 1, 17, 30):
        ids = torch.randint(3, 211, (1, length))
        reply = model.generate(ids, do_sample=False, max_new_tokens=32, output_logits=True, return_dict_in_generate=True)
        best = torch.cat(reply.logits).topk(2).values
        cases.append({"prompt_ids": ids[0].tolist(), "max_tokens": 32, "ids": reply.sequences[0, length:].tolist(),
                      "smallest_lead": (best[:, 0] - best[:, 1]).min().item(),
                      "last_logits_of_prompt": [round(x, 6) for x in reply.logits[0][0, :16].tolist()]})
    made_by = f"transformers {transformers.__version__}, f32, greedy, end of text ignored"
    (folder / "expected.json").write_text(json.dumps({"made_by": made_by, "cases": cases}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("words", nargs="*", help="only folders whose names hold one of these")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    for name, (family, members, saving) in FOLDERS.items():
        if arguments.words and not any(word in name for word in arguments.words):
            continue
        write(arguments.folder / name, family, members, saving)
        print(name)


if __name__ == "__main__":
    main()
