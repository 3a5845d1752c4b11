#include "models/optimizers/update_rule.h"

#include "runtime/base/error.h"

namespace tilewright {
namespace {

const Tensor& named(const NamedScalars& tensors, std::string_view name) {
  const auto found = tensors.find(name);
  require(found != tensors.end(), "[optimizer] the rule asks for \"", name,
          "\", which is neither a setting nor a part of its state; name it in settings(), "
          "scalars() or states()");
  return found->second;
}

}  // namespace

const Tensor& GroupUpdate::operator[](std::string_view name) const { return named(values_, name); }
void GroupUpdate::store(std::string_view name, const Tensor& value) {
  Tensor kept = named(kept_, name);
  kept.copy_from(value.to(kept.dtype()));
}

Tensor ParameterUpdate::state(std::string_view name) const {
  return named(state_, name).to(parameter.dtype());
}
Tensor ParameterUpdate::store(std::string_view name, const Tensor& value) const {
  Tensor kept = named(state_, name);
  kept.copy_from(value.to(kept.dtype()));
  return value;
}

}  // namespace tilewright
