// Optimizers by the names and arguments that they have in torch.optim.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace tilewright::tools {

// Null for a class that the library does not have. `groups`: the arguments of each group, or none;
// the first is that of parameters called "w", the second that of all others.
std::shared_ptr<Optimizer> named_optimizer(const std::string& name,
                                           const std::vector<NamedParameter>& parameters,
                                           const nlohmann::json& arguments,
                                           const nlohmann::json& groups);

}  // namespace tilewright::tools
