// The character GPT of the reference data (a folder `nanogpt`), its optimizer and its rate: four
// layers of width 128, 804,096 parameters, as nanoGPT's configuration for CPUs.
#pragma once

#include <cmath>
#include <deque>
#include <memory>
#include <string_view>

#include "graph/functions/pointwise/elementary.h"
#include "models/layers/norms.h"
#include "models/layers/stateless.h"
#include "models/optimizers/rules/adam.h"
#include "runtime/base/error.h"

namespace tilewright::tools {

struct CharacterBlock : Module {
  static constexpr std::int64_t width = 128, heads = 4;
  Norm attention_norm{NormKind::layer_no_bias, width, 1e-5},
      mlp_norm{NormKind::layer_no_bias, width, 1e-5};
  Linear qkv{width, 3 * width, false}, attention_out{width, width, false},
      mlp_in{width, 4 * width, false}, mlp_out{4 * width, width, false};
  CharacterBlock() {
    register_module("attention_norm", attention_norm);
    register_module("qkv", qkv);
    register_module("attention_out", attention_out);
    register_module("mlp_norm", mlp_norm);
    register_module("mlp_in", mlp_in);
    register_module("mlp_out", mlp_out);
  }
  Tensor forward(const Tensor& x) const {
    const std::int64_t rows = x.size(0), length = x.size(1);
    const Tensor split = qkv(attention_norm(x)).reshape({rows, length, 3, heads, width / heads});
    auto part = [&](int i) { return split.select(2, i).permute({0, 2, 1, 3}); };
    const Tensor mixed = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
    const Tensor y = x + attention_out(mixed.permute({0, 2, 1, 3}).reshape({rows, length, width}));
    return y + mlp_out(gelu(mlp_in(mlp_norm(y))));
  }
};

struct CharacterGpt : Module {
  static constexpr std::int64_t width = CharacterBlock::width, length = 64;
  Embedding token_embedding{65, width}, position_embedding{length, width};
  std::deque<CharacterBlock> blocks{4};
  Norm final_norm{NormKind::layer_no_bias, width, 1e-5};
  CharacterGpt() {
    register_module("token_embedding", token_embedding);
    register_module("position_embedding", position_embedding);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      register_module(concat("blocks.", i), blocks[i]);
    register_module("final_norm", final_norm);
  }
  // Logits [rows of all texts, 65]; the head is the table of tokens.
  Tensor forward(const Tensor& tokens) const {
    Tensor x = token_embedding(tokens) + position_embedding.weight.slice(0, 0, tokens.size(1));
    for (const CharacterBlock& block : blocks) x = block.forward(x);
    return linear(final_norm(x), token_embedding.weight).reshape({-1, 65});
  }
};

// Decay of weights for matrices alone.
inline std::unique_ptr<AdamW> character_optimizer(CharacterGpt& model) {
  auto is_vector = [](std::string_view, const Tensor& parameter) { return parameter.rank() < 2; };
  return std::make_unique<AdamW>(
      model, AdamWOptions{.lr = 1e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1},
      std::vector<AdamW::Group>{
          {is_vector, [](AdamWOptions& options) { options.weight_decay = 0; }}});
}

// (step + 1) / 101 for 100 steps, then half a cosine from 1 to 0.1 at step 2,000.
inline Tensor character_rate(const Tensor& step) {
  const Tensor done = minimum((step - 100.0) / 1900.0, 1.0);
  const Tensor later = 0.1 + 0.45 * (1 + cos(std::acos(-1.0) * done));
  return where(step < 100.0, (step + 1.0) / 101.0, later);
}

}  // namespace tilewright::tools
