#include "tools/training/optimizer_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "models/optimizers/clipping.h"
#include "tools/training/named_optimizers.h"

namespace tilewright::tools {
namespace {

using nlohmann::json;

constexpr int resumed_after = 37;
constexpr double infinity = std::numeric_limits<double>::infinity();

double distance(const Tensor& a, const Tensor& b) {
  const auto x = a.to(f64).to_vector<double>(), y = b.to(f64).to_vector<double>();
  if (x.size() != y.size()) return infinity;
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]);
    if (!(apart <= most)) most = std::isnan(apart) ? infinity : apart;
  }
  return most;
}

// The distance that rounding alone may lead to after so many steps.
double allowed_distance(const json& entry, int steps, DType dtype) {
  const char* after = steps <= 10 ? "10" : steps <= 37 ? "37" : "100";
  if (entry.at("optimizer") == "Muon") return 5e-3;  // rounds to bf16: other orders of sums
  if (dtype == f32) return 1e-6 + 10 * entry.at("distance_of_f32").at(after).get<double>();
  return 1e-12 + 1000 * entry.at("distance_of_nudged").at(after).get<double>();
}

// The step after which paths are no longer compared, since they are chaotic: changes of the last
// bit grow a hundredfold and more.
int compared_steps(const std::string& name, DType dtype) {
  auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* one) { return name == one; });
  };
  if (is_one_of({"adamax_weight_decay", "nadam_weight_decay", "muon"})) return 37;
  if (dtype == f32 && is_one_of({"rmsprop", "rmsprop_centered", "adafactor_weight_decay",
                                 "adam_amsgrad_weight_decay"}))
    return 37;
  return 100;
}

class Path {
 public:
  Path(const PathReference& reference, const std::string& name, DType dtype)
      : name_(name),
        entry_(reference.index().at(name)),
        dtype_(dtype),
        stored_(reference.tensors(name)) {
    x_ = reference.problem("x").to(dtype), y_ = reference.problem("y").to(dtype);
    for (const json& parameter : entry_.at("parameters")) used_.push_back(parameter);
    for (const char* parameter : {"w", "b", "s"})
      parameters_[parameter] = reference.problem(parameter).to(dtype).clone();
    std::vector<NamedParameter> named;
    for (const std::string& parameter : used_) named.push_back({parameter, parameters_[parameter]});
    optimizer_ = named_optimizer(entry_.at("optimizer"), named, entry_.at("arguments"),
                                 entry_.value("groups", json::array()));
  }

  PathComparison compared() {
    PathComparison result;
    result.is_supported = optimizer_ != nullptr;
    if (!result.is_supported) return result;
    result.steps = compared_steps(name_, dtype_);
    result.allowed = allowed_distance(entry_, result.steps, dtype_);
    auto step = compile([this](const Tensor& x, const Tensor& y) { return stepped(x, y); },
                        {.fullgraph = true});
    const bool has_norm = stored_.contains("norm");
    const Tensor losses = stored_.at("loss"), norms = has_norm ? stored_.at("norm") : Tensor();
    for (int k = 0; k < 100; ++k) {
      const auto [loss, norm] = step(x_, y_);
      if (k < result.steps) {
        raise(result.losses, distance(loss, losses.select(0, k)));
        if (has_norm) raise(result.losses, distance(norm, norms.select(0, k)));
        raise(result.parameters, distance_after(k));
      }
      if (k + 1 == resumed_after) result.state = distance_of_state();
    }
    resume();
    for (int k = resumed_after; k < result.steps; ++k) {
      step(x_, y_);
      raise(result.resumed, distance_after(k));
    }
    result.plans = step.report().size();
    return result;
  }

 private:
  static void raise(double& most, double value) { most = std::max(most, value); }

  Tensor loss_of(const NamedTensors& p, const Tensor& x, const Tensor& y) const {
    return mean(square(p.at("s") * tanh(matmul(x, p.at("w")) + p.at("b")) - y));
  }
  std::pair<Tensor, Tensor> stepped(const Tensor& x, const Tensor& y) {
    auto [loss, gradients] =
        value_and_grad([this](const NamedTensors& p, const Tensor& a, const Tensor& b) {
          return loss_of(p, a, b);
        })(parameters_, x, y);
    NamedTensors used;
    for (const std::string& name : used_) used.emplace(name, gradients.at(name));
    Tensor norm = loss;
    if (entry_.contains("clip")) {
      const json& clip = entry_.at("clip");
      const double limit = clip.at("limit");
      if (clip.at("kind") == "value") {
        used = clip_by_value(used, limit);
      } else {
        auto clipped = clip_by_global_norm(
            used, limit, clip.contains("order") ? number_of(clip.at("order")) : 2);
        used = clipped.gradients, norm = clipped.norm;
      }
    }
    optimizer_->step(used);
    return {loss, norm + 0.0};
  }

  // The row of a stored path that is that of step k, if it is there.
  std::optional<int> row_of(int k) const {
    if (!stored_.contains("kept")) return k;
    const auto kept = stored_.at("kept").to_vector<std::int64_t>();
    const auto found = std::ranges::find(kept, k);
    if (found == kept.end()) return {};
    return static_cast<int>(found - kept.begin());
  }
  double distance_after(int k) const {
    const std::optional<int> row = row_of(k);
    if (!row) return 0;
    double most = 0;
    for (const std::string& name : used_)
      most = std::max(most,
                      distance(parameters_.at(name), stored_.at("path." + name).select(0, *row)));
    return most;
  }

  // The state of PyTorch under the names that ours has: parameters by name in place of number.
  NamedTensors stored_state() const {
    NamedTensors state;
    for (const auto& [name, tensor] : stored_) {
      if (!name.starts_with("state.")) continue;
      const std::size_t dot = name.find('.', 6);
      const std::string& parameter = used_.at(std::stoul(name.substr(6, dot - 6)));
      state.emplace("state." + parameter + name.substr(dot), tensor);
    }
    return state;
  }
  double distance_of_state() const {
    const NamedTensors own = optimizer_->state(), stored = stored_state();
    double most = 0;
    for (const auto& [name, tensor] : stored) {
      if (!own.contains(name)) return infinity;
      const double scale = std::max(1e-300, max_of(tensor));
      most = std::max(most, distance(own.at(name), tensor) / scale);
    }
    return most;
  }
  static double max_of(const Tensor& tensor) { return amax(abs(tensor.to(f64))).item<double>(); }

  void resume() {
    const std::optional<int> row = row_of(resumed_after - 1);
    for (const std::string& name : used_)
      parameters_.at(name).copy_from(stored_.at("path." + name).select(0, row.value()).to(dtype_));
    optimizer_->load(Weights::of(stored_state()));
  }

  const std::string name_;
  const json& entry_;
  const DType dtype_;
  const NamedTensors stored_;
  Tensor x_, y_;
  std::vector<std::string> used_;
  NamedTensors parameters_;
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace

PathComparison compared_path(const PathReference& reference, const std::string& name, DType dtype) {
  return Path(reference, name, dtype).compared();
}

}  // namespace tilewright::tools
