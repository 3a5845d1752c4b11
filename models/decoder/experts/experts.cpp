#include "models/decoder/experts/experts.h"

#include <algorithm>

#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/cumulative.h"
#include "models/layers/invariant_step.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// For packed weights, the rows of an expert that a block has, and how many rows for each expert, on
// average, are multiplied one by one.
constexpr std::int64_t rows_of_a_block = 16, rows_alone = 8;

}  // namespace

std::int64_t ExpertsForm::parameter_count(std::int64_t hidden) const {
  const std::int64_t shared = shared_inner == 0 ? 0 : 3 * hidden * shared_inner + hidden;
  const std::int64_t biases = has_bias ? count * (2 * inner + hidden + 1) : 0;
  return count * (3 * hidden * inner + hidden) + biases + shared;
}

Experts::Experts(std::int64_t hidden, Activation activation, const ExpertsForm& form,
                 LayerOptions options)
    : router(hidden, form.count, form.has_bias, options),
      gate(form.count, form.inner, hidden, options.dtype, options.device),
      up(form.count, form.inner, hidden, options.dtype, options.device),
      down(form.count, hidden, form.inner, options.dtype, options.device),
      activation_(activation),
      form_(form) {
  require(form.chosen >= 1 && form.chosen <= form.count, "[experts] ", form.chosen, " of ",
          form.count, " experts are chosen; at least 1 and at most all are needed");
  register_module(std::string(form.names.router), router);
  for (auto& [name, stack] : stacks()) {
    if (options.init == Init::random) fill_normal(stack.dense, 0, 0.02, next_random_stream());
    register_parameter(name, stack.dense);
  }
  auto add_bias = [&](const char* name, Tensor& bias, std::int64_t width) {
    bias = Tensor::empty({form.count, width}, options.dtype, options.device);
    if (options.init == Init::random) fill_value(bias, 0);
    register_parameter(name, bias);
  };
  if (form.has_bias) {
    add_bias("experts.gate_bias", gate_bias, form.inner);
    add_bias("experts.up_bias", up_bias, form.inner);
    add_bias("experts.down_bias", down_bias, hidden);
  }
  if (form.shared_inner == 0) return;
  shared.emplace(hidden, form.shared_inner, MlpForm{.activation = activation}, options);
  register_module("shared_expert", *shared);
  shared_gate.emplace(hidden, 1, false, options);
  register_module("shared_expert_gate", *shared_gate);
}

std::vector<std::pair<const char*, ExpertStack&>> Experts::stacks() {
  return {{"experts.gate", gate}, {"experts.up", up}, {"experts.down", down}};
}

void Experts::pack_weights(const Weights& weights, PackedNames& names) {
  Module::pack_weights(weights, names);
  for (auto& [own, stack] : stacks()) {
    const std::string name = concat(path(), ".", own);
    if (stack.is_packed() || !weights.contains(name)) continue;
    const std::optional<quant::GroupedCodes> codes = weights.codes(name);
    std::optional<quant::PackedWeight> packed;
    if (codes) packed = quant::packed(*codes);
    if (!packed || !stack.pack(*packed)) continue;
    names.emplace(name, packed->format);
    retire_parameter(own);
    for (Tensor* tensor : stack.packed_tensors()) register_buffer(*tensor);
  }
}

Tensor Experts::activated(const Tensor& gates, const Tensor& ups) const {
  if (form_.limit == 0) return activate(activation_, gates) * ups;
  const Tensor g = clamp(gates, std::nullopt, form_.limit);
  const Tensor u = clamp(ups, -form_.limit, form_.limit);
  return (u + 1) * (g * sigmoid(g * form_.alpha));
}

Tensor Experts::of_blocks(const Tensor& x, const Tensor& experts) const {
  auto times = [&](const ExpertStack& stack, const Tensor& bias, const Tensor& rows) {
    const Tensor y = stack.of_blocks(rows, experts);
    return bias.defined() ? y + bias.index_select(0, experts).unsqueeze(1) : y;
  };
  return times(down, down_bias, activated(times(gate, gate_bias, x), times(up, up_bias, x)));
}

Tensor Experts::of_each(const Tensor& rows, const Tensor& ids) const {
  const std::int64_t count = rows.size(0), hidden = rows.size(1), all = count * form_.chosen;
  const Tensor x = rows.reshape({count, 1, hidden})
                       .expand({count, form_.chosen, hidden})
                       .reshape({all, 1, hidden});
  return of_blocks(x, ids).reshape({all, hidden});
}

Tensor Experts::of_groups(const Tensor& rows, const Tensor& ids) const {
  const Tensor order = argsort(ids), own = ids.index_select(0, order);
  const Tensor x = rows.index_select(0, floor_divide(order, form_.chosen));
  const Tensor ends = ends_of_experts(ids);
  auto times = [&](const ExpertStack& stack, const Tensor& bias, const Tensor& rows_of) {
    const Tensor y = stack.of_groups(rows_of, ends);
    return bias.defined() ? y + bias.index_select(0, own) : y;
  };
  const Tensor inner = activated(times(gate, gate_bias, x), times(up, up_bias, x));
  return times(down, down_bias, inner).index_select(0, argsort(order));
}

// Each expert's rows begin a block. How many blocks there are is known to a bound; those behind the
// last repeat rows that nobody reads.
Tensor Experts::of_filled_blocks(const Tensor& rows, const Tensor& ids) const {
  const std::int64_t hidden = rows.size(1), all = ids.count();
  const std::int64_t filled = std::min(all, form_.count),
                     blocks = (all - filled) / rows_of_a_block + filled;
  const Tensor order = argsort(ids), own = ids.index_select(0, order);
  const Tensor ends = ends_of_experts(ids);
  const Tensor starts = cat({zeros({1}, i64), ends.slice(0, 0, form_.count - 1)}, 0);
  const Tensor behind =
      cumsum(floor_divide(ends - starts + (rows_of_a_block - 1), rows_of_a_block), 0);
  // The expert of each block, and its rows in their order.
  const Tensor block = arange(0, blocks);
  const Tensor expert = clamp(sum((behind.unsqueeze(0) <= block.unsqueeze(1)).to(i64), {1}),
                              std::nullopt, form_.count - 1);
  const Tensor first_blocks = cat({zeros({1}, i64), behind.slice(0, 0, form_.count - 1)}, 0);
  const Tensor firsts = starts.index_select(0, expert) +
                        (block - first_blocks.index_select(0, expert)) * rows_of_a_block;
  const Tensor places =
      clamp(firsts.unsqueeze(1) + arange(0, rows_of_a_block), std::nullopt, all - 1);
  const Tensor x = rows.index_select(
      0, floor_divide(order.index_select(0, places.reshape({blocks * rows_of_a_block})),
                      form_.chosen));
  const Tensor y = of_blocks(x.reshape({blocks, rows_of_a_block, hidden}), expert);
  const Tensor place = arange(0, all) - starts.index_select(0, own) +
                       first_blocks.index_select(0, own) * rows_of_a_block;
  return y.reshape({blocks * rows_of_a_block, hidden})
      .index_select(0, place.index_select(0, argsort(order)));
}

Tensor Experts::ends_of_experts(const Tensor& ids) const {
  return sum((ids.unsqueeze(0) <= arange(0, form_.count).unsqueeze(1)).to(i64), {1});
}

Tensor Experts::forward(const Tensor& x) const {
  const std::int64_t hidden = x.size(-1);
  const Tensor rows = x.reshape({x.count() / hidden, hidden});
  const Tensor logits = router(rows);
  const Tensor all = softmax(logits.dtype() == f32 ? logits : logits.to(f32), 1);
  auto [shares, ids] = all.topk(form_.chosen, 1);
  if (form_.normalises) shares = shares / sum(shares, {1}, true);
  const std::int64_t count = rows.size(0), of_text = x.rank() > 1 ? x.size(-2) : 1;
  const bool is_packed = gate.is_packed() || up.is_packed() || down.is_packed();
  const bool is_alone = is_invariant_step(count / of_text, of_text) ||
                        (is_packed && count * form_.chosen <= rows_alone * form_.count);
  const Tensor flat = ids.reshape({count * form_.chosen});
  const Tensor each = is_alone    ? of_each(rows, flat)
                      : is_packed ? of_filled_blocks(rows, flat)
                                  : of_groups(rows, flat);
  Tensor y = sum(each.reshape({count, form_.chosen, hidden}) * shares.unsqueeze(2), {1});
  if (y.dtype() != x.dtype()) y = y.to(x.dtype());
  if (shared) y = y + (*shared)(rows)*sigmoid((*shared_gate)(rows));
  return y.reshape(x.shape());
}

}  // namespace tilewright
