// Stacks of experts made of what files have: matrices one by one, gate and up in one stack, or in
// alternate columns.
#include "models/decoder/experts/experts.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {

// Matrices of the same shape, one after the other.
DerivedTensor stacked(const Weights& weights, const std::vector<std::string>& names) {
  Shape shape = weights.shape(names[0]);
  for (const std::string& name : names)
    require(weights.shape(name) == shape && shape.rank() == 2, "[load_model] tensor \"", name,
            "\" is ", weights.shape(name), "; that of the first expert is ", shape,
            ", and all must be equal matrices");
  const Shape all = {std::ssize(names), shape[0], shape[1]};
  auto make = [weights, names] {
    std::vector<Tensor> parts;
    for (const std::string& name : names) parts.push_back(weights.tensor(name).unsqueeze(0));
    return cat(parts, 0).contiguous();
  };
  auto codes = [weights, names]() -> std::optional<quant::GroupedCodes> {
    std::vector<quant::GroupedCodes> matrices;
    for (const std::string& name : names) {
      std::optional<quant::GroupedCodes> one = weights.codes(name);
      if (!one) return std::nullopt;
      matrices.push_back(std::move(*one));
    }
    return quant::stacked(matrices);
  };
  return {all, weights.dtype(names[0]), make, codes, weights.format(names[0])};
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
  auto make = [weights, name, first, is_bias] {
    const Tensor half = weights.tensor(name).slice(-1, first, weights.shape(name)[-1], 2);
    return (is_bias ? half : half.transpose(1, 2)).contiguous();
  };
  // Those of a file are rows, as products have them.
  auto codes = [weights, name, first]() -> std::optional<quant::GroupedCodes> {
    const std::optional<quant::GroupedCodes> both = weights.codes(name);
    return both ? std::optional(quant::alternate_rows(*both, first)) : std::nullopt;
  };
  return {all, weights.dtype(name), make, codes, weights.format(name)};
}

DerivedTensor turned(const Weights& weights, const std::string& name) {
  const Shape shape = weights.shape(name);
  require(shape.rank() == 3, "[load_model] tensor \"", name, "\" is ", shape,
          "; [experts, inner, hidden] is needed");
  return {{shape[0], shape[2], shape[1]},
          weights.dtype(name),
          [weights, name] { return weights.tensor(name).transpose(1, 2).contiguous(); },
          [weights, name] { return weights.codes(name); },
          weights.format(name)};
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
