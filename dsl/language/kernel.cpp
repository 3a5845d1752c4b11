#include "dsl/language/kernel.h"

#include "dsl/language/kernel_state.h"
#include "dsl/language/tracer.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"

namespace tilewright::dsl {

Kernel::Kernel(std::string name, std::vector<ParameterKind> kinds, std::vector<std::string> names,
               Body body)
    : state_(std::make_shared<State>()) {
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

ir::Function Kernel::trace(const Signature& signature) const {
  const State& kernel = *state_;
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
      values.emplace_back(tracer.pointer_param(kernel.names[i], dtype));
    else
      values.emplace_back(tracer.scalar_param(kernel.names[i], dtype));
  }
  kernel.body(values);
  return tracer.finish();
}

Signature Kernel::signature_of(std::span<const LaunchArgument> arguments) const {
  const State& kernel = *state_;
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

Kernel Kernel::with(Check check) const {
  Kernel kernel(name(), parameter_kinds(), parameter_names(), state_->body);
  kernel.state_->check = check;
  return kernel;
}

std::size_t Kernel::compiled_count() const {
  GatedLock lock(state_->mutex);
  return static_cast<std::size_t>(state_->compiled.size());
}

}  // namespace tilewright::dsl
