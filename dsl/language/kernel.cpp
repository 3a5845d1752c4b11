#include "dsl/language/kernel.h"

#include <algorithm>

#include "dsl/language/kernel_knobs.h"
#include "dsl/language/kernel_state.h"
#include "dsl/language/tracer.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"

namespace tilewright::dsl {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Kernel::Kernel(std::string name, std::vector<ParameterKind> kinds, std::vector<std::string> names,
               detail::KernelBody body)
    : state_(std::make_shared<KernelState>()) {
  require(names.empty() || names.size() == kinds.size(), "[", name, "] there are ", names.size(),
          " parameter names; the kernel takes ", kinds.size(), " parameters");
  for (std::size_t i = names.size(); i < kinds.size(); ++i) names.push_back(concat("p", i));
  state_->name = std::move(name);
  state_->kinds = std::move(kinds);
  state_->names = std::move(names);
  state_->body = std::move(body);
}

const std::string& Kernel::name() const { return state_->name; }
const std::vector<ParameterKind>& Kernel::parameter_kinds() const { return state_->kinds; }
const std::vector<std::string>& Kernel::parameter_names() const { return state_->names; }

namespace {

// The value of a parameter in the trace. One that is known to be 1 is a constant, and its parameter
// remains, so that launches are alike.
Tile traced_scalar(Tracer& tracer, const std::string& name, DType dtype, Fact fact) {
  Tile scalar = tracer.scalar_param(name, dtype, fact == Fact::multiple_of_16 ? 16 : 1);
  return fact == Fact::one ? constant(ir::Scalar::of_integer(dtype, 1)) : scalar;
}

// Nothing is known of a pointer but that its elements lie where such elements may.
Tile traced_pointer(Tracer& tracer, const std::string& name, DType dtype,
                    std::span<const Fact> facts, std::size_t i) {
  if (facts.empty()) return tracer.pointer_param(name, dtype);
  const int bytes = static_cast<int>(size_bytes(dtype));
  return tracer.pointer_param(name, dtype, facts[i] == Fact::none ? bytes : std::max(16, bytes));
}

}  // namespace

ir::Function Kernel::trace(const Signature& signature) const {
  return trace(signature, {}, state_->knobs);
}

ir::Function Kernel::trace(const Signature& signature, std::span<const Fact> facts,
                           const Knobs& knobs) const {
  const KernelState& kernel = *state_;
  require(signature.size() == kernel.kinds.size(), "[", kernel.name, "] the signature has ",
          signature.size(), " entries; the kernel takes ", kernel.kinds.size(), " parameters");
  Tracer tracer(kernel.name);
  std::vector<detail::BoundParameter> values;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    bool number = kernel.kinds[i] == ParameterKind::constexpr_number;
    require(number == std::holds_alternative<std::int64_t>(signature[i]), "[", kernel.name,
            "] entry ", i, " of the signature is ", number ? "an element type" : "a number",
            "; the parameter ", kernel.names[i], " needs ",
            number ? "the number of a Constexpr" : "an element type");
    if (number)
      values.emplace_back(std::get<std::int64_t>(signature[i]));
    else if (DType dtype = std::get<DType>(signature[i]); kernel.kinds[i] == ParameterKind::pointer)
      values.emplace_back(traced_pointer(tracer, kernel.names[i], dtype, facts, i));
    else
      values.emplace_back(
          traced_scalar(tracer, kernel.names[i], dtype, facts.empty() ? Fact::none : facts[i]));
  }
  kernel.body(values);
  ir::Function function = tracer.finish();
  follow(knobs, function);
  return function;
}

void Kernel::trace_into(std::span<const detail::BoundParameter> values) const {
  check(values.size() == state_->kinds.size(), "a kernel is traced with too few values");
  state_->body(values);
}

Signature Kernel::signature_of(std::span<const LaunchArgument> arguments) const {
  const KernelState& kernel = *state_;
  require(arguments.size() == kernel.kinds.size(), "[", kernel.name, "] there are ",
          arguments.size(), " arguments; the kernel takes ", kernel.kinds.size());
  Signature signature;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const LaunchArgument& argument = arguments[i];
    ParameterKind kind = kernel.kinds[i];
    require(argument.is_pointer() == (kind == ParameterKind::pointer), "[", kernel.name,
            "] the argument for ", kernel.names[i], " is ",
            argument.is_pointer() ? "a pointer; it must be a number"
                                  : "a number; it must be a pointer");
    if (kind == ParameterKind::constexpr_number) {
      require(argument.is_integer(), "[", kernel.name, "] the argument for ", kernel.names[i],
              " is ", argument.dtype(), "; a Constexpr takes an integer");
      signature.emplace_back(argument.value().integer);
    } else {
      signature.emplace_back(argument.dtype());
    }
  }
  return signature;
}

Kernel Kernel::copy() const {
  Kernel kernel(name(), parameter_kinds(), parameter_names(), state_->body);
  kernel.state_->check = state_->check;
  kernel.state_->knobs = state_->knobs;
  kernel.state_->device = state_->device;
  kernel.state_->is_not_known = state_->is_not_known;
  return kernel;
}

Kernel Kernel::with(Check check) const {
  Kernel kernel = copy();
  kernel.state_->check = check;
  return kernel;
}

Kernel Kernel::with(const Knobs& knobs) const {
  require_knobs(name(), knobs);
  Kernel kernel = copy();
  kernel.state_->knobs = knobs;
  return kernel;
}
const Knobs& Kernel::knobs() const { return state_->knobs; }
bool Kernel::has_device() const { return state_->device.has_value(); }

Kernel Kernel::on(const Device& device) const {
  Kernel kernel = copy();
  kernel.state_->device = device;
  return kernel;
}

Kernel Kernel::without_facts_of(const std::vector<std::string>& names) const {
  Kernel kernel = copy();
  std::vector<bool>& unknown = kernel.state_->is_not_known;
  unknown.resize(parameter_names().size());
  for (const std::string& name : names) {
    auto at = std::ranges::find(parameter_names(), name);
    require(at != parameter_names().end(), "[", this->name(), "] there is no parameter ", name,
            "; there are ", listed(parameter_names()));
    unknown[static_cast<std::size_t>(at - parameter_names().begin())] = true;
  }
  return kernel;
}

std::int64_t Config::operator[](std::string_view name) const {
  const std::vector<std::string>& names = kernel_.parameter_names();
  std::vector<std::string> known;
  for (std::size_t i = 0; i < std::min(names.size(), arguments_.size()); ++i) {
    if (!arguments_[i].is_integer()) continue;
    if (names[i] == name) return arguments_[i].value().integer;
    known.push_back(names[i]);
  }
  raise_error(concat("[", kernel_.name(), "] a launch has no number \"", name, "\"; it has ",
                     known.empty() ? "none" : listed(known)));
}

std::size_t Kernel::compiled_count() const {
  GatedLock lock(state_->mutex);
  return static_cast<std::size_t>(state_->compiled.size());
}

}  // namespace tilewright::dsl
