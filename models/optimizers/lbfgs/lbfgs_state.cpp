// The state of L-BFGS as named tensors.
#include <cmath>
#include <set>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/tensor/user/functions.h"
#include "models/optimizers/lbfgs/lbfgs.h"
#include "runtime/base/error.h"

namespace tilewright {

void Lbfgs::to(const Device& device) {
  auto move = [&](Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.to(device);
  };
  for (Tensor* tensor : {&memory_.direction, &memory_.gradient, &memory_.diagonal}) move(*tensor);
  for (Change& change : memory_.changes)
    for (Tensor* tensor : {&change.gradient, &change.parameters, &change.factor}) move(*tensor);
}

NamedTensors Lbfgs::state() const {
  NamedTensors all;
  auto add_number = [&](const char* name, double value) {
    all.emplace(name, full({}, value, f64).clone());
  };
  add_number("param_groups.0.lr", options_.lr);
  add_number("state.n_iter", static_cast<double>(memory_.iterations));
  add_number("state.func_evals", static_cast<double>(evaluations_));
  if (memory_.iterations == 0) return all;
  add_number("state.t", memory_.step);
  add_number("state.prev_loss", memory_.loss);
  all.emplace("state.d", memory_.direction);
  all.emplace("state.prev_flat_grad", memory_.gradient);
  all.emplace("state.H_diag", memory_.diagonal);
  for (std::size_t i = 0; i < memory_.changes.size(); ++i) {
    all.emplace(concat("state.old_dirs.", i), memory_.changes[i].gradient);
    all.emplace(concat("state.old_stps.", i), memory_.changes[i].parameters);
    all.emplace(concat("state.ro.", i), memory_.changes[i].factor);
  }
  return all;
}

void Lbfgs::load(const Weights& weights, std::source_location w) {
  std::set<std::string> known;
  auto read = [&](const std::string& name, const Shape& shape, DType dtype) {
    require(weights.contains(name), "[LBFGS] the state has no ", name, " (at ", describe(w),
            "); names are those of state()");
    require(weights.shape(name) == shape && is_floating(weights.dtype(name)), "[LBFGS] ", name,
            " is ", weights.dtype(name), " ", weights.shape(name), " (at ", describe(w),
            "); for these parameters it is ", dtype, " ", shape);
    Tensor tensor = full(shape, 0, dtype).clone();
    weights.read(name, tensor);
    require(all(isfinite(tensor)).item<bool>(), "[LBFGS] ", name, " has NaN or infinity (at ",
            describe(w), "); a state is finite");
    known.insert(name);
    return tensor.to(parameters_.front().tensor.device());
  };
  auto number = [&](const char* name) { return read(name, {}, f64).item<double>(); };
  auto count = [&](const char* name) {
    const double value = number(name);
    require(value >= 0 && value < 0x1p53 && value == std::floor(value), "[LBFGS] ", name, " is ",
            value, " (at ", describe(w), "); it must be a number of times");
    return static_cast<std::int64_t>(value);
  };
  auto vector = [&](const std::string& name) { return read(name, {size_}, dtype_); };
  LbfgsOptions options = options_;
  if (weights.contains("param_groups.0.lr")) options.lr = number("param_groups.0.lr");
  require_options(options, w);
  const std::int64_t evaluations = count("state.func_evals");
  Memory memory{.iterations = count("state.n_iter")};
  if (memory.iterations > 0) {
    memory.step = number("state.t");
    memory.loss = number("state.prev_loss");
    memory.direction = vector("state.d");
    memory.gradient = vector("state.prev_flat_grad");
    memory.diagonal = read("state.H_diag", {}, dtype_);
    for (std::size_t i = 0; weights.contains(concat("state.old_dirs.", i)); ++i) {
      memory.changes.push_back({vector(concat("state.old_dirs.", i)),
                                vector(concat("state.old_stps.", i)),
                                read(concat("state.ro.", i), {}, dtype_)});
      if (std::ssize(memory.changes) > options.history_size) memory.changes.pop_front();
    }
  }
  for (const std::string& name : weights.names())
    require(known.contains(name), "[LBFGS] ", name, " is no part of a state with ",
            memory.iterations, " iterations and a history of ", memory.changes.size(), " (at ",
            describe(w), "); names are those of state()");
  options_ = options;
  evaluations_ = evaluations;
  memory_ = std::move(memory);
}

}  // namespace tilewright
