#include "models/optimizers/update_rule.h"

#include "graph/functions/random/random.h"
#include "models/optimizers/block_states.h"
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

void detail::check_at(std::source_location w, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    raise_error(concat(error.what(), " (at ", describe(w), ")"));
  }
}

const Tensor& GroupUpdate::operator[](std::string_view name) const { return named(values_, name); }
void GroupUpdate::store(std::string_view name, const Tensor& value) {
  writes_.write(named(kept_, name), value);
}

void StepWrites::write(Tensor kept, const Tensor& value) const {
  const Tensor rounded = value.to(kept.dtype());
  kept.copy_from(skip.defined() ? where(skip, kept, rounded) : rounded);
}
void StepWrites::write_stochastically(Tensor kept, const Tensor& value) const {
  const bool is_rounded = is_float16(kept.dtype()) && !is_float16(value.dtype());
  write(kept, is_rounded ? round_stochastically(value, kept.dtype(), rounding) : value);
}

Tensor ParameterUpdate::state(std::string_view name) const {
  const Tensor& kept = named(state_, name);
  if (is_floating(kept.dtype())) return kept.to(parameter.dtype());
  return detail::decode_state({kept, named(state_, detail::name_of_greatest(name))})
      .to(parameter.dtype());
}
Tensor ParameterUpdate::store(std::string_view name, const Tensor& value) const {
  const Tensor& kept = named(state_, name);
  const StepWrites& writes = group_.writes();
  if (is_floating(kept.dtype())) {
    writes.write_stochastically(kept, value);
    return value;
  }
  const detail::BlockCodes coded = detail::encode_state(value, kept.dtype());
  writes.write(kept, coded.codes);
  writes.write(named(state_, detail::name_of_greatest(name)), coded.greatest);
  return value;
}

GroupUpdate::GroupUpdate(Tensor step, NamedScalars values, NamedScalars kept, StepWrites writes)
    : step_(std::move(step)),
      values_(std::move(values)),
      kept_(std::move(kept)),
      writes_(std::move(writes)) {}

const StepWrites& GroupUpdate::writes() const { return writes_; }

const Tensor& GroupUpdate::step() const { return step_; }

void GroupUpdate::give(std::string name, Tensor value) {
  values_[std::move(name)] = std::move(value);
}

ParameterUpdate::ParameterUpdate(Tensor parameter, Tensor gradient, const GroupUpdate& group,
                                 NamedScalars state)
    : parameter(std::move(parameter)),
      gradient(std::move(gradient)),
      group_(group),
      state_(std::move(state)) {}

const Tensor& ParameterUpdate::step() const { return group_.step(); }

const Tensor& ParameterUpdate::operator[](std::string_view name) const { return group_[name]; }

}  // namespace tilewright
