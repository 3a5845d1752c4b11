#include "autotune/search/strategies.h"

#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

struct NamedStrategy {
  const char* name;
  std::unique_ptr<Strategy> (*make)(const Problem&, std::uint64_t seed);
};
const NamedStrategy strategies[] = {{"model_guided", make_model_guided},
                                    {"exhaustive", make_exhaustive},
                                    {"random", make_random},
                                    {"evolutionary", make_evolutionary},
                                    {"successive_halving", make_successive_halving}};

}  // namespace

std::unique_ptr<Strategy> make_strategy(std::string_view name, const Problem& problem,
                                        std::uint64_t seed) {
  for (const NamedStrategy& known : strategies)
    if (known.name == name) return known.make(problem, seed);
  std::string names;
  for (const std::string& known : strategy_names()) names += (names.empty() ? "" : ", ") + known;
  raise_error(concat("[autotune] there is no strategy named \"", name, "\"; there are: ", names));
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> result;
  for (const NamedStrategy& known : strategies) result.push_back(known.name);
  return result;
}

}  // namespace tilewright::autotune
