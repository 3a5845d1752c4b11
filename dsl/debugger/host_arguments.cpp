#include "dsl/debugger/host_arguments.h"

#include <cstring>

#include "dsl/debugger/element_value.h"
#include "dsl/language/launch_checks.h"
#include "runtime/base/error.h"
#include "runtime/device_memory.h"

namespace tilewright::dsl {
namespace {

// Where the first tensor lies that is on a GPU: the others must be there too.
Device device_of(LaunchArguments arguments) {
  for (const LaunchArgument& argument : arguments)
    if (argument.place() != nullptr) return Device::of(argument.place());
  return Device::cpu();
}

// True if a number of one type can be given for one of the other: i64 for integers, f64 for floats.
bool kinds_agree(DType given, DType wanted) {
  if (given == wanted) return true;
  return is_floating(wanted) ? given == DType::f64 : is_integer(wanted) && given == DType::i64;
}

void require_one(const ir::Function& program, const LaunchArgument& argument, std::size_t i) {
  const ir::Param& param = program.params[i];
  const ir::Type& type = program.type(param.value);
  require(argument.record() == nullptr, "[", program.name, "] the argument for ", param.name,
          " is a value inside compile(), which is not there yet; debug the kernel outside");
  // A number may come as a wider one of its kind: C++ has no literals of all types.
  const bool fits = argument.is_pointer() ? argument.dtype() == type.dtype
                                          : kinds_agree(argument.dtype(), type.dtype);
  require(argument.is_pointer() == type.is_pointer() && fits, "[", program.name,
          "] the argument for ", param.name, " is ",
          argument.is_pointer() ? "memory of " : "a number of ", argument.dtype(),
          "; the parameter is ", type);
  if (argument.is_pointer() || !is_integer(type.dtype) || param.align_bytes >= 64) return;
  require(argument.value().integer % param.align_bytes == 0, "[", program.name,
          "] the argument for ", param.name, " is ", argument.value().integer,
          ", and the program was traced for multiples of ", param.align_bytes);
}

// The number in the low bytes, as the parameter's type has it.
Argument number_argument(const LaunchArgument& argument, DType dtype) {
  if (argument.dtype() == dtype) return argument.value();
  Argument value{.integer = 0};
  set_element(dtype, &value, 0, {argument.value().floating, argument.value().integer});
  return value;
}

}  // namespace

std::vector<LaunchArgument> arguments_of_program(const Kernel& kernel, LaunchArguments arguments) {
  std::vector<LaunchArgument> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kernel.parameter_kinds()[i] != ParameterKind::constexpr_number)
      rest.push_back(arguments[i]);
  return rest;
}

void require_arguments(const ir::Function& program, LaunchArguments arguments) {
  require(arguments.size() == program.params.size(), "[", program.name, "] there are ",
          arguments.size(), " arguments; the program takes ", program.params.size());
  std::vector<ParameterUse> uses = parameter_use(program);
  std::vector<ArgumentMemory> memories;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    require_one(program, arguments[i], i);
    if (uses[i].is_read || uses[i].is_written)
      memories.push_back({&arguments[i], &program.params[i].name, uses[i]});
  }
  require_memory(program.name, memories, device_of(arguments));
}

HostArguments::HostArguments(const ir::Function& program, LaunchArguments arguments, bool as_copies)
    : arguments_(arguments), uses_(parameter_use(program)), copies_(arguments.size()) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const LaunchArgument& argument = arguments[i];
    const std::int64_t bytes = argument.is_pointer() ? argument.size_bytes() : 0;
    const DType dtype = program.type(program.params[i].value).dtype;
    Argument value = argument.is_pointer() ? argument.value() : number_argument(argument, dtype);
    const bool is_copied = argument.is_pointer() && (as_copies || argument.place() != nullptr);
    require(!is_copied || argument.knows_size(), "[", program.name,
            "] how much memory the pointer ", "for ", program.params[i].name,
            " has is not known, and it must be copied; give a vector, a span or a tensor");
    if (is_copied) {
      copies_[i] = Buffer::allocate(bytes);
      if (argument.place() != nullptr)
        argument.place()->copy_to_host(copies_[i]->data(), value.pointer, bytes);
      else if (bytes > 0)
        std::memcpy(copies_[i]->data(), value.pointer, static_cast<std::size_t>(bytes));
      value.pointer = copies_[i]->data();
    }
    values_.push_back(value);
    memories_.push_back({argument.is_pointer() ? value.pointer : nullptr, bytes});
  }
}

void HostArguments::write_back() {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!copies_[i] || !uses_[i].is_written || arguments_[i].place() == nullptr) continue;
    arguments_[i].place()->copy_from_host(const_cast<void*>(arguments_[i].value().pointer),
                                          copies_[i]->data(), arguments_[i].size_bytes());
  }
}

}  // namespace tilewright::dsl
