#include "tools/training/schedule_rates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "graph/compile/compile.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "models/optimizers/schedules/plateau.h"
#include "runtime/base/error.h"

namespace tilewright::tools {
namespace {

using nlohmann::json;
using Steps = std::int64_t;

PerGroup per_group(const json& value) {
  if (value.is_array()) return value.get<std::vector<double>>();
  return value.get<double>();
}

// "0.95", or "0.9 if epoch % 10 == 0 else 1.0".
schedules::StepFunction function_of(const std::string& text) {
  double factor = 0, other = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lf if epoch %% %lf == 0 else %lf", &factor, &period, &other) == 3)
    return [=](const Tensor& t) {
      return where(floor(t / period) * period == t, full({}, factor, f64), other);
    };
  require(std::sscanf(text.c_str(), "%lf", &factor) == 1, "[training_cases] lr_lambda ", text);
  return [=](const Tensor&) { return full({}, factor, f64); };
}

LrSchedule cyclic_of(const json& a) {
  schedules::CyclicOptions options{.base_lr = per_group(a.at("base_lr")),
                                   .max_lr = per_group(a.at("max_lr"))};
  options.step_size_up = a.value("step_size_up", Steps{2000});
  if (a.contains("step_size_down")) options.step_size_down = a.at("step_size_down").get<Steps>();
  const std::string mode = a.value("mode", "triangular");
  options.mode = mode == "triangular2" ? schedules::CyclicMode::triangular2
                 : mode == "exp_range" ? schedules::CyclicMode::exp_range
                                       : schedules::CyclicMode::triangular;
  options.gamma = a.value("gamma", 1.0);
  options.cycle_momentum = a.value("cycle_momentum", true);
  return schedules::cyclic(options);
}

LrSchedule one_cycle_of(const json& a) {
  schedules::OneCycleOptions options{
      .max_lr = per_group(a.at("max_lr")),
      .total_steps = a.contains("total_steps")
                         ? a.at("total_steps").get<Steps>()
                         : a.at("epochs").get<Steps>() * a.at("steps_per_epoch").get<Steps>()};
  options.pct_start = a.value("pct_start", 0.3);
  if (a.value("anneal_strategy", "cos") == "linear")
    options.anneal_strategy = schedules::Annealing::linear;
  options.base_momentum = a.value("base_momentum", 0.85);
  options.max_momentum = a.value("max_momentum", 0.95);
  options.div_factor = a.value("div_factor", 25.0);
  options.final_div_factor = a.value("final_div_factor", 1e4);
  options.three_phase = a.value("three_phase", false);
  return schedules::one_cycle(options);
}

LrSchedule schedule_of(const std::string& kind, const json& a);

LrSchedule composed_of(const json& entry) {
  std::vector<LrSchedule> parts;
  for (const json& part : entry.at("parts")) parts.push_back(schedule_of(part.at(0), part.at(1)));
  if (entry.at("schedule") == "ChainedScheduler") return schedules::chained(parts);
  return schedules::sequential(parts,
                               entry.at("arguments").at("milestones").get<std::vector<Steps>>());
}

LrSchedule schedule_of(const std::string& kind, const json& a) {
  const double gamma = a.value("gamma", 0.1);
  if (kind == "StepLR") return schedules::step({a.at("step_size").get<Steps>(), gamma});
  if (kind == "MultiStepLR")
    return schedules::multi_step({a.at("milestones").get<std::vector<Steps>>(), gamma});
  if (kind == "ConstantLR")
    return schedules::constant({a.value("factor", 1.0 / 3), a.value("total_iters", Steps{5})});
  if (kind == "LinearLR")
    return schedules::linear({a.value("start_factor", 1.0 / 3), a.value("end_factor", 1.0),
                              a.value("total_iters", Steps{5})});
  if (kind == "ExponentialLR") return schedules::exponential(gamma);
  if (kind == "PolynomialLR")
    return schedules::polynomial({a.value("total_iters", Steps{5}), a.value("power", 1.0)});
  if (kind == "CosineAnnealingLR")
    return schedules::cosine_annealing({a.at("T_max").get<Steps>(), a.value("eta_min", 0.0)});
  if (kind == "CosineAnnealingWarmRestarts")
    return schedules::cosine_annealing_warm_restarts(
        {a.at("T_0").get<Steps>(), a.value("T_mult", Steps{1}), a.value("eta_min", 0.0)});
  if (kind == "CyclicLR") return cyclic_of(a);
  if (kind == "OneCycleLR") return one_cycle_of(a);
  if (kind == "LambdaLR") return schedules::lambda(function_of(a.at("lr_lambda")));
  require(kind == "MultiplicativeLR", "[training_cases] the schedule ", kind, " is not known");
  return schedules::multiplicative(function_of(a.at("lr_lambda")));
}

PlateauOptions plateau_of(const json& a) {
  PlateauOptions options;
  if (a.value("mode", "min") == "max") options.mode = PlateauMode::max;
  if (a.value("threshold_mode", "rel") == "abs") options.threshold_mode = PlateauThreshold::abs;
  options.factor = a.value("factor", 0.1);
  options.patience = a.value("patience", Steps{10});
  options.threshold = a.value("threshold", 1e-4);
  options.cooldown = a.value("cooldown", Steps{0});
  if (a.contains("min_lr")) options.min_lr = per_group(a.at("min_lr"));
  options.eps = a.value("eps", 1e-8);
  return options;
}

// An optimizer of two groups with these rates.
template <typename Options>
std::shared_ptr<Optimizer> optimizer_of(const std::vector<NamedParameter>& parameters,
                                        Options options, const std::vector<double>& rates) {
  options.lr = rates.at(0);
  auto other = [rate = rates.at(1)](Options& o) { o.lr = rate; };
  return std::make_shared<OptimizerBy<Options>>(parameters, options,
                                                std::vector<ParameterGroup<Options>>{{"b", other}});
}

// The largest distance from the row of a group, relative to the largest number in it.
class Distance {
 public:
  explicit Distance(const json& rows) : rows_(rows.get<std::vector<std::vector<double>>>()) {}
  void add(std::size_t group, std::size_t step, double value) {
    const std::vector<double>& row = rows_.at(group);
    const double scale = *std::ranges::max_element(row);
    most_ = std::max(most_, std::abs(value - row.at(step)) / scale);
  }
  double most() const { return most_; }

 private:
  std::vector<std::vector<double>> rows_;
  double most_ = 0;
};

}  // namespace

RateComparison compared_rates(const json& entry) {
  Tensor w = full({2}, 0).clone(), b = full({2}, 0).clone();
  const std::vector<NamedParameter> parameters = {{"w", w}, {"b", b}};
  const auto rates = entry.at("initial").get<std::vector<double>>();
  const bool is_adam = entry.at("optimizer") == "AdamW";
  auto optimizer = is_adam ? optimizer_of(parameters, AdamWOptions{}, rates)
                           : optimizer_of(parameters, SgdOptions{.momentum = 0.9}, rates);
  std::unique_ptr<LrScheduler> scheduler;
  std::unique_ptr<ReduceLrOnPlateau> plateau;
  const std::string kind = entry.at("schedule");
  if (kind == "ReduceLROnPlateau")
    plateau = std::make_unique<ReduceLrOnPlateau>(*optimizer, plateau_of(entry.at("arguments")));
  else
    scheduler = std::make_unique<LrScheduler>(
        *optimizer,
        entry.contains("parts") ? composed_of(entry) : schedule_of(kind, entry.at("arguments")));
  auto step = compile(
      [&](const Tensor& metric) {
        plateau ? plateau->step(metric) : scheduler->step();
        return metric + 0.0;
      },
      {.fullgraph = true});
  const char* momentum = is_adam ? "beta1" : "momentum";
  Distance lr(entry.at("lr"));
  Distance moved(entry.value(momentum, json::array()));
  const std::size_t steps = entry.at("lr").at(0).size();
  for (std::size_t k = 0; k < steps; ++k) {
    for (std::size_t group = 0; group < 2; ++group) {
      lr.add(group, k, optimizer->value("lr", group));
      if (entry.contains(momentum)) moved.add(group, k, optimizer->value(momentum, group));
    }
    step(Tensor::scalar(entry.contains("metric") ? entry.at("metric").at(k).get<double>() : 0.0));
  }
  return {lr.most(), moved.most(), step.report().size()};
}

}  // namespace tilewright::tools
