// Tensors as arguments of kernels written by hand. Inside a captured function a launch is recorded:
// as a custom op that changes the one tensor which the kernel writes. That must be a value of the
// function's own: an argument, made by an operation, or memory from `empty` that nothing has
// touched before. Other memory would be the same in all calls, and results that lie there
// overwritten by the next one; a launch that writes it breaks the graph.
#include <algorithm>
#include <cctype>
#include <optional>

#include "dsl/analysis/parameter_use.h"
#include "dsl/language/kernel_knobs.h"
#include "dsl/language/launch_checks.h"
#include "graph/custom/definition.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using dsl::LaunchArguments;
using dsl::ParameterKind;
using graph::Capture;

void require_contiguous(const Tensor& tensor) {
  if (tensor.is_symbolic()) return;
  require(tensor.is_contiguous(), "[launch] a tensor of shape ", tensor.shape(),
          " has the strides ", tensor.strides(),
          "; strides are not passed to kernels: launch it on contiguous()");
}

dsl::LaunchArgument concrete_argument(const Tensor& tensor) {
  // Not to be written, where it is frozen.
  const void* data = tensor.const_data();
  require_contiguous(tensor);
  dsl::LaunchArgument argument(data, tensor.dtype(), tensor.count());
  argument.lies_in(tensor.device().memory());
  argument.before_write(
      [](const void* owner) {
        graph::require_writable(*static_cast<const TensorBody*>(owner), "launch",
                                std::source_location());  // the launch names its line
      },
      tensor.body().get());
  return argument;
}

// The record of a launch.
struct RecordedLaunch {
  std::vector<Tensor> operands;       // the one that is written first
  std::vector<std::size_t> pointers;  // the operand of each Pointer
  TileLaunch launch;
  Hash identity;
};

const Tensor& tensor_of(const dsl::LaunchArgument& argument) {
  return *static_cast<const Tensor*>(argument.recorded_value());
}

// The Pointer that the program writes, counted among the parameters that it has; none where there
// is not exactly one.
std::optional<std::size_t> only_written(std::span<const dsl::ParameterUse> uses) {
  auto is_written = [](const dsl::ParameterUse& use) { return use.is_written; };
  if (std::ranges::count_if(uses, is_written) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find_if(uses, is_written) - uses.begin());
}

// A graph cannot express memory that is no tensor's, and scalars of bool.
bool can_be_recorded(const dsl::Kernel& kernel, LaunchArguments arguments) {
  return !kernel.has_device() &&
         std::ranges::all_of(arguments, [](const dsl::LaunchArgument& argument) {
           return argument.is_pointer() ? argument.record() != nullptr
                                        : !is_boolean(argument.dtype());
         });
}

void add_number(RecordedLaunch& recorded, Hasher& hasher, const dsl::LaunchArgument& argument) {
  if (argument.is_integer())
    recorded.launch.numbers.emplace_back(argument.value().integer);
  else if (argument.dtype() == DType::f32)
    recorded.launch.numbers.emplace_back(argument.value().single);
  else
    recorded.launch.numbers.emplace_back(argument.value().floating);
  hasher.add(argument.dtype());
  std::visit([&](auto number) { hasher.add(number); }, recorded.launch.numbers.back());
}

std::optional<RecordedLaunch> recorded_launch(const dsl::Kernel& kernel, const Grid& grid,
                                              LaunchArguments arguments,
                                              std::source_location where) {
  if (!can_be_recorded(kernel, arguments)) return std::nullopt;
  const ir::Function program = kernel.trace(kernel.signature_of(arguments));
  std::optional<std::size_t> written = only_written(dsl::parameter_use(program));
  if (!written) return std::nullopt;
  RecordedLaunch recorded{{Tensor()}, {}, {grid, {}}, {}};
  Hasher hasher;
  hasher.add("launch").add(kernel.name()).add(ir::content_hash(program));
  for (std::int64_t size : grid.size) hasher.add(size);
  if (const dsl::Check check = kernel.checks(); check != dsl::Check::none) hasher.add(check);
  std::size_t param = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_param = kernel.parameter_kinds()[i] != ParameterKind::constexpr_number;
    const bool is_written = is_param && param++ == *written;
    if (!arguments[i].is_pointer()) {
      add_number(recorded, hasher, arguments[i]);
      continue;
    }
    recorded.pointers.push_back(is_written ? 0 : recorded.operands.size());
    if (is_written)
      recorded.operands[0] = tensor_of(arguments[i]);
    else
      recorded.operands.push_back(tensor_of(arguments[i]));
  }
  Capture& capture = *Capture::active();
  if (!recorded.operands[0].is_symbolic() && !capture.make_own(recorded.operands[0], where))
    return std::nullopt;
  recorded.identity = hasher.finish();
  return recorded;
}

std::string word_of(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name.empty() ? "kernel" : name;
}

graph::CustomReference definition_of(const dsl::Kernel& kernel, const RecordedLaunch& recorded) {
  graph::CustomDefinition definition;
  definition.name = word_of(kernel.name());
  definition.identity = recorded.identity;
  definition.rule = [](std::span<const TensorType> operands) {
    return std::vector<TensorType>{operands[0]};
  };
  definition.changes_operand = true;
  definition.kernel = {kernel,
                       [launch = recorded.launch](const CustomCall&) { return launch; },
                       {dsl::values_of(kernel.knobs())}};
  definition.pointers = recorded.pointers;
  return define_custom(std::move(definition));
}

void require_apart(const dsl::Kernel& kernel, const std::vector<Tensor>& operands) {
  for (std::size_t i = 1; i < operands.size(); ++i)
    require(operands[i].body() != operands[0].body(), "[", kernel.name(),
            "] a tensor is given twice, and the kernel writes it; give memory of its own, or have "
            "the kernel take one Pointer for both");
}

// Breaks the graph, and runs the kernel on what is there then.
void launch_behind_break(const dsl::Kernel& kernel, const Grid& grid, LaunchArguments arguments,
                         std::source_location where) {
  std::vector<dsl::LaunchArgument> concrete;
  for (const dsl::LaunchArgument& argument : arguments) {
    if (argument.record() == nullptr) {
      concrete.push_back(argument);
      continue;
    }
    if (Capture* capture = Capture::active())
      capture->before_address(*tensor_of(argument).body(), "launch", where);
    concrete.push_back(concrete_argument(tensor_of(argument)));
  }
  kernel.launch_with({grid, where}, concrete);
}

bool record(const dsl::Kernel& kernel, const Grid& grid, LaunchArguments arguments,
            std::source_location where) {
  std::optional<RecordedLaunch> recorded = recorded_launch(kernel, grid, arguments, where);
  if (!recorded) {
    launch_behind_break(kernel, grid, arguments, where);
    return true;
  }
  if (dsl::require_grid(kernel.name(), grid) == 0) return true;
  require_apart(kernel, recorded->operands);
  graph::Attributes attributes;
  attributes.custom = definition_of(kernel, *recorded);
  Capture& capture = *Capture::active();
  Tensor value = capture.append(graph::Op::custom, recorded->operands, std::move(attributes),
                                std::nullopt, where);
  capture.write(recorded->operands[0], value, kernel.name(), where);
  return true;
}

}  // namespace

dsl::LaunchArgument launch_argument(const Tensor& tensor) {
  require(tensor.defined(), "[launch] a tensor is undefined; give it a value before the launch");
  if (Capture::active() == nullptr) return concrete_argument(tensor);
  require_contiguous(tensor);
  dsl::LaunchArgument argument(nullptr, tensor.dtype(), tensor.count());
  argument.is_recorded_by(record, &tensor);
  return argument;
}

}  // namespace tilewright
