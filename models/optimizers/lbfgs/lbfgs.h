// Limited-memory BFGS (Liu and Nocedal, 1989), as torch.optim.LBFGS.
//
//   Lbfgs optimizer(net, {.line_search = LineSearchOf::strong_wolfe});
//   auto evaluate = compile([&](const Tensor& x, const Tensor& y) {
//     return value_and_grad(net, loss_of)(x, y);
//   });
//   for (int i = 0; i < 20; ++i) Tensor loss = optimizer.step([&] { return evaluate(x, y); });
//
// It goes along a direction that takes the curvature of the loss into account, as the changes of
// the gradient in the last `history_size` iterations have shown it. That suits losses of few
// parameters without noise: whole data in each evaluation, not batches of it.
//
// A step is up to `max_iter` iterations, each of which evaluates the loss once, or several times
// with a line search, and writes the parameters in place. The values decide how it goes on, so a
// step is a loop of the host around a compiled function, and an Error in a graph that is captured.
//
// Vectors are f32, or f64 if a parameter is, with an element for each of all parameters: besides
// the parameters it takes 2 * history_size + 5 times their memory. Misuse raises `Error` with the
// line of the call. Refers to the parameters' handles, which must outlive it. One call at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/tensor/tensor.h"
#include "models/layers/gradients.h"
#include "models/layers/module.h"
#include "models/optimizers/lbfgs/strong_wolfe.h"
#include "models/optimizers/parameter_groups.h"
#include "models/weights/weights.h"

namespace tilewright {

enum class LineSearchOf : std::uint8_t {
  none,         // each iteration goes `lr` along its direction
  strong_wolfe  // to a point that fulfils the strong Wolfe conditions
};

// The options of torch.optim.LBFGS.
struct LbfgsOptions {
  double lr = 1;
  std::int64_t max_iter = 20;  // iterations a step
  // Evaluations a step, of which the last line search may make one more; none: 5/4 of max_iter.
  std::optional<std::int64_t> max_eval = std::nullopt;
  double tolerance_grad = 1e-7;    // a step ends where no element of the gradient is greater,
  double tolerance_change = 1e-9;  // or where parameters or the loss change by less
  std::int64_t history_size = 100;
  LineSearchOf line_search = LineSearchOf::none;
};

class Lbfgs {
 public:
  // All floating parameters of a module, or those of a list.
  explicit Lbfgs(Module& module, const LbfgsOptions& options = {},
                 std::source_location w = std::source_location::current())
      : Lbfgs(trainable_parameters(module), options, w) {}
  explicit Lbfgs(const std::vector<NamedParameter>& parameters, const LbfgsOptions& options = {},
                 std::source_location w = std::source_location::current());
  Lbfgs(const Lbfgs&) = delete;
  Lbfgs& operator=(const Lbfgs&) = delete;

  // One step. `evaluate` gives the pair of the loss, a tensor of one element, and the gradients by
  // the parameters' names, for the parameters as they are when it is called. Returns the loss
  // before the step. Raises `Error` where that or its gradient is not finite; if `evaluate`
  // raises, parameters and state are as they were after the last iteration. Parameters keep their
  // shapes and dtypes.
  template <typename Evaluate>
  Tensor step(const Evaluate& evaluate, std::source_location w = std::source_location::current()) {
    return step_by(
        [&] {
          auto [loss, gradients] = evaluate();
          return std::pair<Tensor, NamedTensors>(std::move(loss), std::move(gradients));
        },
        w);
  }

  double lr() const { return options_.lr; }
  void set_lr(double lr, std::source_location w = std::source_location::current());
  std::int64_t iterations() const { return memory_.iterations; }
  std::int64_t evaluations() const { return evaluations_; }

  // The state under PyTorch's names: "state.n_iter", "state.func_evals", "state.t", "state.d",
  // "state.old_dirs.0" and so on, and "param_groups.0.lr". Handles that share their bytes, for
  // save_safetensors; a step makes others.
  NamedTensors state() const;
  // Goes on from such a state; the rate may be missing. Raises `Error` that names what does not
  // fit, and changes nothing.
  void load(const Weights& weights, std::source_location w = std::source_location::current());
  // Moves the state to a device, after the parameters (`Module::to`).
  void to(const Device& device);

 private:
  using Evaluation = std::function<std::pair<Tensor, NamedTensors>()>;
  // How the gradient and the parameters changed in an iteration, and 1 over their product.
  struct Change {
    Tensor gradient, parameters, factor;
  };
  // The result of the iterations so far.
  struct Memory {
    std::int64_t iterations = 0;
    double step = 0, loss = 0;  // of the last one
    Tensor direction, gradient, diagonal;
    std::deque<Change> changes;
  };
  struct Evaluated {
    Tensor tensor;  // the loss as it was given
    double loss = 0;
    Tensor gradient;
  };
  struct Form {
    Shape shape;
    DType dtype;
  };

  // The evaluations of one step.
  struct Calls {
    const Evaluation& evaluate;
    std::source_location where;
    std::int64_t end = 0;  // value of evaluations_ at which the step ends
    DType loss_dtype = f64;
  };

  static void require_options(const LbfgsOptions& options, std::source_location w);
  Tensor step_by(const Evaluation& evaluate, std::source_location w);
  void require_parameters(std::source_location w) const;
  Evaluated evaluated(const Calls& calls);
  Tensor joined(const NamedTensors& gradients, std::source_location w) const;
  // An iteration from `at`, which becomes the point that it has come to. False: the last one.
  bool iterate(const Calls& calls, bool is_last, detail::LinePoint& at);
  void choose_direction(const Tensor& gradient);
  Tensor next_direction(const Tensor& gradient);
  void remember(const Tensor& gradient);
  detail::LinePoint arrived(const Calls& calls, bool is_last, const detail::LinePoint& start,
                            const std::vector<Tensor>& from);
  std::vector<Tensor> copied() const;
  void go(const std::vector<Tensor>& from, double step);
  void write(const std::vector<Tensor>& values);
  double dot(const Tensor& a, const Tensor& b) const;

  std::vector<NamedParameter> parameters_;
  std::vector<Form> forms_;  // of the parameters
  LbfgsOptions options_;
  DType dtype_ = f32;
  std::int64_t size_ = 0;                  // elements of all parameters
  Compiled dot_, share_, without_, with_;  // of the two loops

  std::int64_t evaluations_ = 0;
  Memory memory_;
};

}  // namespace tilewright
