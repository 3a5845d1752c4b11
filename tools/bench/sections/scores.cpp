// The section scores: attention with functions of its scores, as flex_attention takes them.
#include <fmt/format.h>

#include "graph/functions/attending/flex_attention.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

struct Scores {
  const char* name;
  bool has_slopes, is_capped, is_causal;
  std::int64_t window;  // keys that a row sees; 0: all
};
constexpr Scores score_functions[] = {{"no function", false, false, false, 0},
                                      {"alibi", true, false, false, 0},
                                      {"alibi causal", true, false, true, 0},
                                      {"capped", false, true, false, 0},
                                      {"window", false, false, true, 1024}};
constexpr double cap = 20;

FlexAttentionOptions options_of(const Scores& scores, const Tensor& slopes) {
  FlexAttentionOptions options;
  if (scores.has_slopes)
    options.score_mod = [slopes](const Tensor& score, const ScorePlace& at) {
      return score + index(slopes, {at.head}) * (at.key - at.row);
    };
  if (scores.is_capped)
    options.score_mod = [](const Tensor& score, const ScorePlace&) {
      return tanh(score / cap) * cap;
    };
  if (scores.is_causal)
    options.mask_mod = [window = scores.window](const ScorePlace& at) {
      const Tensor is_before = at.key <= at.row;
      return window == 0 ? is_before : logical_and(is_before, at.row - at.key < window);
    };
  return options;
}

// The host computes the expected values of some heads.
KernelCase scores_case(const Scores& scores, DType dtype, std::int64_t batch, std::int64_t heads,
                       std::int64_t length, std::int64_t size) {
  KernelCase c;
  c.name = fmt::format("{} d{} {} s{}", name_of(dtype), size, scores.name, length);
  const CaseArgument tokens{.dtype = dtype, .shape = {batch, heads, length, size}, .sampled = 1};
  c.arguments = {tokens, tokens, tokens, {.shape = {heads}, .deviation = 0.1, .sampled = 0}};
  c.function = [scores](const Tensors& a) {
    return Tensors{flex_attention(a[0], a[1], a[2], options_of(scores, a[3]))};
  };
  const auto n = static_cast<double>(length), w = static_cast<double>(scores.window);
  const double seen = scores.window != 0 && w < n ? w / n * (1 - w / (2 * n)) : 0.5;
  c.flops = 4.0 * static_cast<double>(batch * heads * size) * n * n * (scores.is_causal ? seen : 1);
  c.sampled_result = 1;
  c.peer = {{"op", "flex attention"}, {"scores", scores.name}};
  return c;
}

}  // namespace

void bench_scores(BenchLog& log) {
  std::vector<KernelCase> cases;
  auto add = [&](DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                 std::int64_t size) {
    for (const Scores& scores : score_functions)
      cases.push_back(scores_case(scores, dtype, batch, heads, length, size));
  };
  if (log.settings().tiny)
    add(f32, 1, 2, 40, 16);
  else if (is_host(log.settings()))
    add(f32, 1, 8, 2048, 64);
  else
    for (std::int64_t size : {64, 128}) add(bf16, 2, 16, 4096, size);
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
