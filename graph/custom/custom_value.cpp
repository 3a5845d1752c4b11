// The computation of a custom op of a kernel or of C++, on host arrays; and the kernel's program.
#include <cstring>

#include "dsl/interpret/interpret.h"
#include "dsl/language/tracer.h"
#include "graph/custom/definition.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
double number_of(T element) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(element);
  else
    return static_cast<double>(static_cast<float>(element));
}

Bytes bytes_of(const HostTensor& tensor) {
  Bytes bytes(static_cast<std::size_t>(tensor.count() * size_bytes(tensor.dtype)));
  dispatch(tensor.dtype, [&](auto host) {
    using T = decltype(host);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if constexpr (std::is_integral_v<T>)
        host = static_cast<T>(tensor.get(i).integer);
      else if constexpr (std::is_arithmetic_v<T>)
        host = static_cast<T>(tensor.number(i));
      else
        host = T(static_cast<float>(tensor.number(i)));
      std::memcpy(bytes.data() + i * std::int64_t{sizeof host}, &host, sizeof host);
    }
  });
  return bytes;
}

void take_bytes(HostTensor& tensor, const Bytes& bytes) {
  dispatch(tensor.dtype, [&](auto host) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      std::memcpy(&host, bytes.data() + i * std::int64_t{sizeof host}, sizeof host);
      if constexpr (std::is_integral_v<decltype(host)>)
        tensor.set(i, {tensor.dtype, static_cast<std::int64_t>(host), 0});
      else
        tensor.set_number(i, number_of(host));
    }
  });
}

void run_kernel(const CustomDefinition& definition, const CustomCall& call, std::span<Bytes> memory,
                std::span<const TensorType> types) {
  dsl::Tracer tracer(definition.name);
  std::vector<dsl::Tile> pointers;
  std::vector<Argument> arguments;
  std::vector<ir::Memory> known;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    pointers.push_back(tracer.pointer_param(concat("p", i), types[i].dtype));
    arguments.push_back({.pointer = memory[i].data()});
    known.push_back({memory[i].data(), std::ssize(memory[i])});
  }
  Grid grid = trace_custom(definition, call, pointers);
  if (grid.count() != 0) ir::interpret(tracer.finish(), grid, arguments, known);
}

dsl::Tile constant_of(const std::variant<std::int64_t, float, double>& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number))
    return dsl::constant(ir::Scalar::of_integer(DType::i64, *integer));
  if (const auto* single = std::get_if<float>(&number))
    return dsl::constant(ir::Scalar::of(DType::f32, double{*single}));
  return dsl::constant(ir::Scalar::of(DType::f64, std::get<double>(number)));
}

}  // namespace

Grid trace_custom(const CustomDefinition& definition, const CustomCall& call,
                  std::span<const dsl::Tile> pointers) {
  const dsl::Kernel& kernel = definition.kernel->kernel;
  const TileLaunch launch = definition.kernel->launch(call);
  std::vector<dsl::detail::BoundParameter> values;
  std::size_t pointer = 0, number = 0;
  for (std::size_t i = 0; i < kernel.parameter_kinds().size(); ++i) {
    const dsl::ParameterKind kind = kernel.parameter_kinds()[i];
    if (kind == dsl::ParameterKind::pointer) {
      const dsl::Tile& begin = pointers[definition.operand_of_pointer(pointer)];
      const std::int64_t offset = definition.part_of_pointer(pointer++).offset;
      values.emplace_back(offset == 0 ? begin : begin + offset);
      continue;
    }
    require(number < launch.numbers.size(), "[", definition.name, "] the launch gives ",
            launch.numbers.size(), " numbers, and none for ", kernel.parameter_names()[i],
            "; give one for each Scalar and Constexpr of the kernel ", kernel.name());
    const auto& given = launch.numbers[number++];
    if (kind == dsl::ParameterKind::scalar) {
      values.emplace_back(constant_of(given));
      continue;
    }
    require(std::holds_alternative<std::int64_t>(given), "[", definition.name,
            "] the number for the Constexpr ", kernel.parameter_names()[i],
            " is a fraction; a Constexpr takes an integer");
    values.emplace_back(std::get<std::int64_t>(given));
  }
  require(number == launch.numbers.size(), "[", definition.name, "] the launch gives ",
          launch.numbers.size(), " numbers; the kernel ", kernel.name(), " takes ", number);
  kernel.trace_into(values);
  return launch.grid;
}

dsl::Knobs knobs_of(const CustomCall& call) {
  dsl::Knobs knobs;
  for (const auto& [name, value] : call.configuration()) dsl::set_knob(knobs, name, value);
  return knobs;
}

HostTensor custom_value(const CustomDefinition& definition,
                        const std::vector<const HostTensor*>& operands) {
  std::vector<TensorType> types;
  std::vector<Bytes> memory;
  for (const HostTensor* operand : operands) {
    types.push_back({operand->dtype, operand->shape});
    memory.push_back(bytes_of(*operand));
  }
  const std::size_t inputs = types.size();
  CustomCall call = custom_call(definition, types, 1);
  if (!definition.changes_operand)
    for (const TensorType& result : call.results()) {
      types.push_back(result);
      memory.emplace_back(static_cast<std::size_t>(result.count() * size_bytes(result.dtype)));
    }
  if (definition.kernel) {
    run_kernel(definition, call, memory, types);
  } else {
    std::vector<BufferView> views;
    for (std::size_t i = 0; i < types.size(); ++i) views.push_back({types[i], memory[i].data()});
    std::span all(views);
    definition.buffers(all.first(inputs),
                       definition.changes_operand ? all.first(1) : all.subspan(inputs));
  }
  HostTensor value;
  for (std::size_t i = 0; i < call.results().size(); ++i) {
    HostTensor result(call.result(i).dtype, call.result(i).shape);
    take_bytes(result, memory[definition.changes_operand ? 0 : inputs + i]);
    if (i == 0)
      value = std::move(result);
    else
      value.others.push_back(std::move(result));
  }
  return value;
}

}  // namespace tilewright::graph
