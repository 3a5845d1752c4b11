// The section experts: the products of a mixture of experts, for rows that each chose some of many.
#include <fmt/format.h>

#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/products.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

// Experts of a layer and of a row, the model's width and an expert's.
struct Mixture {
  const char* name;
  std::int64_t experts, chosen, hidden, inner;
};
constexpr Mixture qwen{"Qwen3-30B-A3B", 128, 8, 2048, 768};
constexpr Mixture mixtral{"8 of 3584", 8, 2, 2048, 3584};
constexpr Mixture tiny{"tiny", 4, 2, 32, 16};

// x, the router's logits, and the stacks gate, up and down.
Tensor experts_of(const Tensors& a, std::int64_t chosen) {
  const Tensor &x = a[0], &logits = a[1], &gate = a[2], &up = a[3], &down = a[4];
  const std::int64_t rows = x.size(0), experts = gate.size(0);
  auto [shares, ids] = softmax(logits, 1).topk(chosen, 1);
  const Tensor flat = ids.reshape({rows * chosen}), order = argsort(flat);
  const Tensor ends = sum((flat.unsqueeze(0) <= arange(0, experts).unsqueeze(1)).to(i64), {1});
  const Tensor sorted = x.index_select(0, floor_divide(order, chosen));
  auto times = [&](const Tensor& rows_of, const Tensor& weights) {
    return grouped_mm(rows_of, weights.transpose(1, 2), ends);
  };
  const Tensor y = times(silu(times(sorted, gate)) * times(sorted, up), down);
  const Tensor each = y.index_select(0, argsort(order)).reshape({rows, chosen, x.size(1)});
  return sum(each * shares.unsqueeze(2), {1}).to(x.dtype());
}

KernelCase experts_case(const Mixture& m, DType dtype, std::int64_t rows) {
  KernelCase c;
  c.name = fmt::format("{} {} {} rows", m.name, name_of(dtype), rows);
  const CaseArgument wide{
      .dtype = dtype, .shape = {m.experts, m.inner, m.hidden}, .deviation = 0.02, .constant = true};
  CaseArgument down = wide;
  down.shape = {m.experts, m.hidden, m.inner};
  c.arguments = {
      {.dtype = dtype, .shape = {rows, m.hidden}}, {.shape = {rows, m.experts}}, wide, wide, down};
  c.function = [chosen = m.chosen](const Tensors& a) { return Tensors{experts_of(a, chosen)}; };
  c.flops = 6.0 * static_cast<double>(rows * m.chosen * m.hidden * m.inner);
  c.peer = {{"op", "experts"}, {"chosen", m.chosen}};
  return c;
}

}  // namespace

void bench_experts(BenchLog& log) {
  std::vector<KernelCase> cases;
  if (log.settings().tiny) {
    cases = {experts_case(tiny, f32, 5), experts_case(tiny, bf16, 1)};
  } else {
    for (const Mixture& m : {qwen, mixtral})
      for (std::int64_t rows : {1, 4, 16, 64, 256}) cases.push_back(experts_case(m, bf16, rows));
  }
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
