// Tensors as arguments of kernels written by hand. Inside a captured function a launch is recorded:
// as a custom op that changes the tensor which the kernel writes. Several of them are parts of one
// that is put together before the launch and taken apart behind it.
//
// A tensor that is written is an argument, made by an operation, memory from `empty` that nothing
// has touched before, or one from outside the function (a cache), which is then written at each
// call. Other memory that the function makes would be the same in all calls, and results that lie
// there overwritten by the next one; a launch that writes it breaks the graph.
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

// A tensor that a launch writes, and where it begins in the operand that is written.
struct WrittenPart {
  Tensor tensor;
  std::int64_t offset = 0;
};

// The record of a launch.
struct RecordedLaunch {
  std::vector<Tensor> operands;       // the one that is written first
  std::vector<WrittenPart> written;   // the parts of it
  std::vector<std::size_t> pointers;  // the operand of each Pointer
  std::vector<graph::CustomDefinition::Part> parts;
  TileLaunch launch;
  Hash identity;
};

const Tensor& tensor_of(const dsl::LaunchArgument& argument) {
  return *static_cast<const Tensor*>(argument.recorded_value());
}

// Where parts begin, so that kernels may rely on alignment.
std::int64_t padded_count(const Tensor& tensor) {
  const std::int64_t most = 64 / size_bytes(tensor.dtype());
  return (tensor.count() + most - 1) / most * most;
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

// The tensors that the program writes, each of which a graph can write; none where one is not so.
std::vector<WrittenPart> written_by(const ir::Function& program, const dsl::Kernel& kernel,
                                    LaunchArguments arguments, std::source_location where) {
  const std::vector<dsl::ParameterUse> uses = dsl::parameter_use(program);
  std::vector<WrittenPart> result;
  std::size_t param = 0;
  std::int64_t offset = 0;
  Capture& capture = *Capture::active();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.parameter_kinds()[i] == ParameterKind::constexpr_number) continue;
    if (!uses[param++].is_written) continue;
    const Tensor& tensor = tensor_of(arguments[i]);
    if (!result.empty() && tensor.dtype() != result[0].tensor.dtype()) return {};
    result.push_back({tensor, offset});
    offset += padded_count(tensor);
  }
  for (const WrittenPart& part : result)
    if (!part.tensor.is_symbolic() && !capture.make_own(part.tensor, where) &&
        !capture.is_from_outside(*part.tensor.body()))
      return {};
  return result;
}

// The parts that the launch writes, as one tensor.
Tensor joined(const std::vector<WrittenPart>& written, std::source_location where) {
  if (written.size() == 1) return written[0].tensor;
  std::vector<Tensor> parts;
  for (const WrittenPart& part : written) {
    const std::int64_t filled = padded_count(part.tensor) - part.tensor.count();
    parts.push_back(part.tensor.reshape({-1}, where));
    if (filled > 0) parts.push_back(zeros({filled}, part.tensor.dtype()));
  }
  return cat(parts, 0, where);
}

std::optional<RecordedLaunch> recorded_launch(const dsl::Kernel& kernel, const Grid& grid,
                                              LaunchArguments arguments,
                                              std::source_location where) {
  if (!can_be_recorded(kernel, arguments)) return std::nullopt;
  const ir::Function program = kernel.trace(kernel.signature_of(arguments));
  RecordedLaunch recorded{
      {Tensor()}, written_by(program, kernel, arguments, where), {}, {}, {grid, {}}, {}};
  if (recorded.written.empty()) return std::nullopt;
  Hasher hasher;
  hasher.add("launch").add(kernel.name()).add(ir::content_hash(program));
  for (std::int64_t size : grid.size) hasher.add(size);
  if (const dsl::Check check = kernel.checks(); check != dsl::Check::none) hasher.add(check);
  for (const dsl::LaunchArgument& argument : arguments) {
    if (!argument.is_pointer()) {
      add_number(recorded, hasher, argument);
      continue;
    }
    const Tensor& tensor = tensor_of(argument);
    const auto part = std::ranges::find(recorded.written, tensor.body(),
                                        [](const WrittenPart& each) { return each.tensor.body(); });
    const bool is_written = part != recorded.written.end();
    recorded.pointers.push_back(is_written ? 0 : recorded.operands.size());
    const bool is_part = is_written && recorded.written.size() > 1;
    recorded.parts.push_back(is_part ? graph::CustomDefinition::Part{part->offset, tensor.count()}
                                     : graph::CustomDefinition::Part{});
    hasher.add(recorded.pointers.back()).add(recorded.parts.back().offset);
    if (!is_written) recorded.operands.push_back(tensor);
  }
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
  definition.parts = recorded.parts;
  return define_custom(std::move(definition));
}

void require_apart(const dsl::Kernel& kernel, LaunchArguments arguments,
                   const std::vector<WrittenPart>& written) {
  for (const WrittenPart& part : written) {
    auto is_it = [&](const dsl::LaunchArgument& argument) {
      return argument.is_pointer() && tensor_of(argument).body() == part.tensor.body();
    };
    require(std::ranges::count_if(arguments, is_it) == 1, "[", kernel.name(),
            "] a tensor is given twice, and the kernel writes it; give memory of its own, or have "
            "the kernel take one Pointer for both");
  }
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
  require_apart(kernel, arguments, recorded->written);
  recorded->operands[0] = joined(recorded->written, where);
  graph::Attributes attributes;
  attributes.custom = definition_of(kernel, *recorded);
  Capture& capture = *Capture::active();
  Tensor value = capture.append(graph::Op::custom, recorded->operands, std::move(attributes),
                                std::nullopt, where);
  if (recorded->written.size() == 1) {
    capture.write(recorded->written[0].tensor, value, kernel.name(), where);
    return true;
  }
  for (const WrittenPart& part : recorded->written)
    capture.write(part.tensor,
                  value.slice(0, part.offset, part.offset + part.tensor.count())
                      .reshape(part.tensor.shape(), where),
                  kernel.name(), where);
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
