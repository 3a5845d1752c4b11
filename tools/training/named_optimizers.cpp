#include "tools/training/named_optimizers.h"

#include <functional>
#include <map>

#include "models/optimizers/rules/adadelta.h"
#include "models/optimizers/rules/adafactor.h"
#include "models/optimizers/rules/adagrad.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/adamax.h"
#include "models/optimizers/rules/asgd.h"
#include "models/optimizers/rules/lamb.h"
#include "models/optimizers/rules/lion.h"
#include "models/optimizers/rules/muon.h"
#include "models/optimizers/rules/nadam.h"
#include "models/optimizers/rules/radam.h"
#include "models/optimizers/rules/rmsprop.h"
#include "models/optimizers/rules/rprop.h"
#include "models/optimizers/rules/sgd.h"
#include "runtime/base/error.h"

namespace tilewright::tools {
namespace {

using nlohmann::json;

// Takes one argument, if the options have it.
template <typename Options>
bool take(Options& options, const std::string& key, const json& value) {
  auto number = [&](double& option) { option = value.get<double>(); };
  auto flag = [&](bool& option) { option = value.get<bool>(); };
  auto pair = [&](double& first, double& second) {
    first = value.at(0).get<double>(), second = value.at(1).get<double>();
  };
#define TILEWRIGHT_TAKE(option, how)               \
  if constexpr (requires { how(options.option); }) \
    if (key == #option) return how(options.option), true;
  TILEWRIGHT_TAKE(lr, number)
  TILEWRIGHT_TAKE(momentum, number)
  TILEWRIGHT_TAKE(dampening, number)
  TILEWRIGHT_TAKE(weight_decay, number)
  TILEWRIGHT_TAKE(eps, number)
  TILEWRIGHT_TAKE(alpha, number)
  TILEWRIGHT_TAKE(rho, number)
  TILEWRIGHT_TAKE(lr_decay, number)
  TILEWRIGHT_TAKE(initial_accumulator_value, number)
  TILEWRIGHT_TAKE(momentum_decay, number)
  TILEWRIGHT_TAKE(lambd, number)
  TILEWRIGHT_TAKE(t0, number)
  TILEWRIGHT_TAKE(d, number)
  TILEWRIGHT_TAKE(beta2_decay, number)
  TILEWRIGHT_TAKE(nesterov, flag)
  TILEWRIGHT_TAKE(maximize, flag)
  TILEWRIGHT_TAKE(amsgrad, flag)
  TILEWRIGHT_TAKE(centered, flag)
  TILEWRIGHT_TAKE(decoupled_weight_decay, flag)
#undef TILEWRIGHT_TAKE
  if constexpr (requires { options.betas.first; })
    if (key == "betas") return pair(options.betas.first, options.betas.second), true;
  if constexpr (requires { options.etas.shrink; }) {
    if (key == "etas") return pair(options.etas.shrink, options.etas.grow), true;
    if (key == "step_sizes") return pair(options.step_sizes.least, options.step_sizes.most), true;
  }
  if constexpr (requires { options.eps.first = 1.0; })
    if (key == "eps")
      return options.eps.first = value.at(0), pair(*options.eps.first, options.eps.second), true;
  if constexpr (requires { options.adjust_lr; })
    if (key == "adjust_lr_fn") {
      require(value == "match_rms_adamw", "[training_cases] adjust_lr_fn ", value.dump());
      options.adjust_lr = MuonRate::match_rms_adamw;
      return true;
    }
  return false;
}

template <typename Options>
void take_all(Options& options, const json& arguments) {
  for (const auto& [key, value] : arguments.items())
    require(take(options, key, value), "[training_cases] ", Options::name, " has no argument ",
            key);
}

using Make = std::shared_ptr<Optimizer>(const std::vector<NamedParameter>&, const json&,
                                        const json&);
template <typename Options>
std::function<Make> maker(Options options = {}) {
  return [options](const std::vector<NamedParameter>& parameters, const json& arguments,
                   const json& groups) {
    Options common = options;
    take_all(common, arguments);
    std::vector<ParameterGroup<Options>> others;
    if (!groups.empty()) {
      others.push_back({[](std::string_view name, const Tensor&) { return name != "w"; },
                        [=, again = arguments](Options& o) {
                          o = options;
                          take_all(o, again);
                          take_all(o, groups.at(1));
                        }});
      take_all(common, groups.at(0));
    }
    return std::make_shared<OptimizerBy<Options>>(parameters, common, others);
  };
}

}  // namespace

std::shared_ptr<Optimizer> named_optimizer(const std::string& name,
                                           const std::vector<NamedParameter>& parameters,
                                           const json& arguments, const json& groups) {
  static const std::map<std::string, std::function<Make>> makers = {
      {"SGD", maker<SgdOptions>()},           {"Adam", maker<AdamOptions>()},
      {"AdamW", maker<AdamWOptions>()},       {"Adamax", maker<AdamaxOptions>()},
      {"NAdam", maker<NAdamOptions>()},       {"RAdam", maker<RAdamOptions>()},
      {"RMSprop", maker<RmsPropOptions>()},   {"Adagrad", maker<AdagradOptions>()},
      {"Adadelta", maker<AdadeltaOptions>()}, {"Rprop", maker<RpropOptions>()},
      {"ASGD", maker<AsgdOptions>()},         {"Adafactor", maker<AdafactorOptions>()},
      {"Lion", maker<LionOptions>()},         {"LAMB", maker<LambOptions>()},
      {"Muon", maker<MuonOptions>()},         {"MuonWide", maker<MuonOptions>({.products = f64})}};
  const auto found = makers.find(name);
  return found == makers.end() ? nullptr : found->second(parameters, arguments, groups);
}

}  // namespace tilewright::tools
