#include "models/decoder/experts.h"

#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/products.h"
#include "models/layers/invariant_step.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

Tensor stack(const ExpertsForm& form, std::int64_t rows, std::int64_t columns,
             const LayerOptions& options) {
  Tensor tensor = Tensor::empty({form.count, rows, columns}, options.dtype, options.device);
  if (options.init == Init::random) fill_normal(tensor, 0, 0.02, next_random_stream());
  return tensor;
}

}  // namespace

std::int64_t ExpertsForm::parameter_count(std::int64_t hidden) const {
  const std::int64_t shared = shared_inner == 0 ? 0 : 3 * hidden * shared_inner + hidden;
  const std::int64_t biases = has_bias ? count * (2 * inner + hidden + 1) : 0;
  return count * (3 * hidden * inner + hidden) + biases + shared;
}

Experts::Experts(std::int64_t hidden, Activation activation, const ExpertsForm& form,
                 LayerOptions options)
    : router(hidden, form.count, form.has_bias, options),
      gate(stack(form, form.inner, hidden, options)),
      up(stack(form, form.inner, hidden, options)),
      down(stack(form, hidden, form.inner, options)),
      activation_(activation),
      form_(form) {
  require(form.chosen >= 1 && form.chosen <= form.count, "[experts] ", form.chosen, " of ",
          form.count, " experts are chosen; at least 1 and at most all are needed");
  register_module(std::string(form.names.router), router);
  register_parameter("experts.gate", gate);
  register_parameter("experts.up", up);
  register_parameter("experts.down", down);
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

Tensor Experts::activated(const Tensor& gates, const Tensor& ups) const {
  if (form_.limit == 0) return activate(activation_, gates) * ups;
  const Tensor g = clamp(gates, std::nullopt, form_.limit);
  const Tensor u = clamp(ups, -form_.limit, form_.limit);
  return (u + 1) * (g * sigmoid(g * form_.alpha));
}

// A row times each of its experts: their weights are rows of the stacks.
Tensor Experts::of_each(const Tensor& rows, const Tensor& shares, const Tensor& ids) const {
  const std::int64_t count = rows.size(0), hidden = rows.size(1), all = count * form_.chosen;
  const Tensor flat = ids.reshape({all});
  const Tensor x = rows.reshape({count, 1, hidden, 1})
                       .expand({count, form_.chosen, hidden, 1})
                       .reshape({all, hidden, 1});
  auto times = [&](const Tensor& weights, const Tensor& bias, const Tensor& columns) {
    const Tensor y = matmul(weights.index_select(0, flat), columns);
    return bias.defined() ? y + bias.index_select(0, flat).unsqueeze(2) : y;
  };
  const Tensor inner = activated(times(gate, gate_bias, x), times(up, up_bias, x));
  const Tensor y = times(down, down_bias, inner);
  return sum(y.reshape({count, form_.chosen, hidden}) * shares.unsqueeze(2), {1});
}

// All pairs of a row and one of its experts in the order of experts, so that the rows of each are a
// group.
Tensor Experts::of_groups(const Tensor& rows, const Tensor& shares, const Tensor& ids) const {
  const std::int64_t count = rows.size(0), hidden = rows.size(1), all = count * form_.chosen;
  const Tensor flat = ids.reshape({all}), order = argsort(flat), own = flat.index_select(0, order);
  const Tensor ends =
      sum((flat.unsqueeze(0) <= arange(0, form_.count).unsqueeze(1)).to(DType::i64), {1});
  const Tensor x = rows.index_select(0, floor_divide(order, form_.chosen));
  auto times = [&](const Tensor& rows_of, const Tensor& weights, const Tensor& bias) {
    const Tensor y = grouped_mm(rows_of, weights.transpose(1, 2), ends);
    return bias.defined() ? y + bias.index_select(0, own) : y;
  };
  const Tensor inner = activated(times(x, gate, gate_bias), times(x, up, up_bias));
  const Tensor y = times(inner, down, down_bias).index_select(0, argsort(order));
  return sum(y.reshape({count, form_.chosen, hidden}) * shares.unsqueeze(2), {1});
}

Tensor Experts::forward(const Tensor& x) const {
  const std::int64_t hidden = x.size(-1);
  const Tensor rows = x.reshape({x.count() / hidden, hidden});
  const Tensor logits = router(rows);
  const Tensor all = softmax(logits.dtype() == f32 ? logits : logits.to(f32), 1);
  auto [shares, ids] = all.topk(form_.chosen, 1);
  if (form_.normalises) shares = shares / sum(shares, {1}, true);
  const std::int64_t count = rows.size(0), of_text = x.rank() > 1 ? x.size(-2) : 1;
  const bool is_alone = is_invariant_step(count / of_text, of_text);
  Tensor y = is_alone ? of_each(rows, shares, ids) : of_groups(rows, shares, ids);
  if (y.dtype() != x.dtype()) y = y.to(x.dtype());
  if (shared) y = y + (*shared)(rows)*sigmoid((*shared_gate)(rows));
  return y.reshape(x.shape());
}

namespace {

// Matrices of the same shape, one after the other.
DerivedTensor stacked(const Weights& weights, const std::vector<std::string>& names) {
  Shape shape = weights.shape(names[0]);
  for (const std::string& name : names)
    require(weights.shape(name) == shape && shape.rank() == 2, "[load_model] tensor \"", name,
            "\" is ", weights.shape(name), "; that of the first expert is ", shape,
            ", and all must be equal matrices");
  const Shape all = {std::ssize(names), shape[0], shape[1]};
  return {all, weights.dtype(names[0]), [weights, names] {
            std::vector<Tensor> parts;
            for (const std::string& name : names)
              parts.push_back(weights.tensor(name).unsqueeze(0));
            return cat(parts, 0).contiguous();
          }};
}

// The first or the second half of each matrix of a stack.
DerivedTensor half(const Weights& weights, const std::string& name, bool is_second) {
  const Shape shape = weights.shape(name);
  require(shape.rank() == 3 && shape[1] % 2 == 0, "[load_model] tensor \"", name, "\" is ", shape,
          "; [experts, 2 * inner, hidden] is needed");
  const std::int64_t rows = shape[1] / 2;
  return {{shape[0], rows, shape[2]}, weights.dtype(name), [weights, name, rows, is_second] {
            const std::int64_t first = is_second ? rows : 0;
            return weights.tensor(name).slice(1, first, first + rows).contiguous();
          }};
}

}  // namespace

namespace {

// gpt-oss: every other column of a stack [experts, hidden, 2 * inner], or of its biases.
DerivedTensor alternate(const Weights& weights, const std::string& name, std::int64_t first) {
  const Shape shape = weights.shape(name);
  const bool is_bias = shape.rank() == 2;
  require((is_bias || shape.rank() == 3) && shape[-1] % 2 == 0, "[load_model] tensor \"", name,
          "\" is ", shape, "; [experts, hidden, 2 * inner] is needed");
  const std::int64_t inner = shape[-1] / 2;
  const Shape all = is_bias ? Shape{shape[0], inner} : Shape{shape[0], inner, shape[1]};
  return {all, weights.dtype(name), [weights, name, first, is_bias] {
            const Tensor half = weights.tensor(name).slice(-1, first, weights.shape(name)[-1], 2);
            return (is_bias ? half : half.transpose(1, 2)).contiguous();
          }};
}

DerivedTensor turned(const Weights& weights, const std::string& name) {
  const Shape shape = weights.shape(name);
  require(shape.rank() == 3, "[load_model] tensor \"", name, "\" is ", shape,
          "; [experts, inner, hidden] is needed");
  return {{shape[0], shape[2], shape[1]}, weights.dtype(name), [weights, name] {
            return weights.tensor(name).transpose(1, 2).contiguous();
          }};
}

void stack_alternating(Weights& weights, const std::string& prefix) {
  const Weights stored = weights;
  const std::string stem = prefix + "experts.";
  const std::string both = stem + "gate_up_proj", down = stem + "down_proj";
  for (const std::string& name : {both, both + "_bias", down, down + "_bias"}) {
    require(stored.contains(name), "[load_model] there is no tensor \"", name,
            "\"; the experts of a layer are made of it");
    weights.hide(name);
  }
  weights.derive(stem + "gate", alternate(stored, both, 0));
  weights.derive(stem + "up", alternate(stored, both, 1));
  weights.derive(stem + "gate_bias", alternate(stored, both + "_bias", 0));
  weights.derive(stem + "up_bias", alternate(stored, both + "_bias", 1));
  weights.derive(stem + "down", turned(stored, down));
  const std::string bias = down + "_bias";
  weights.derive(stem + "down_bias", {stored.shape(bias), stored.dtype(bias),
                                      [stored, bias] { return stored.tensor(bias); }});
}

}  // namespace

void stack_experts(Weights& weights, const std::string& prefix, const ExpertsForm& form) {
  if (form.limit != 0) return stack_alternating(weights, prefix);
  const Weights stored = weights;
  const ExpertNames& names = form.names;
  auto add = [&](const char* name, DerivedTensor tensor) {
    weights.derive(concat(prefix, "experts.", name), std::move(tensor));
  };
  if (!names.stacked_gate_up.empty()) {
    const std::string both = concat(prefix, names.stacked_gate_up, ".weight"),
                      down = concat(prefix, names.stacked_down, ".weight");
    if (!stored.contains(both) || !stored.contains(down)) return;
    add("gate", half(stored, both, false));
    add("up", half(stored, both, true));
    add("down",
        {stored.shape(down), stored.dtype(down), [stored, down] { return stored.tensor(down); }});
    weights.hide(both);
    weights.hide(down);
    return;
  }
  for (const auto& [ours, theirs] :
       {std::pair{"gate", names.gate}, {"up", names.up}, {"down", names.down}}) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < form.count; ++i) {
      all.push_back(concat(prefix, "experts.", i, ".", theirs, ".weight"));
      require(stored.contains(all.back()), "[load_model] there is no tensor \"", all.back(),
              "\"; there must be ", form.count, " experts");
    }
    add(ours, stacked(stored, all));
    for (const std::string& name : all) weights.hide(name);
  }
}

}  // namespace tilewright
