// Launching a kernel: the part of dsl/language/kernel.h that needs the code generator.
#include <algorithm>
#include <typeinfo>

#include "dsl/emulator/known_memory.h"
#include "dsl/language/kernel.h"
#include "dsl/language/kernel_knobs.h"
#include "dsl/language/kernel_state.h"
#include "dsl/language/launch_checks.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "dsl/launch/launch.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/trace.h"

namespace tilewright::dsl {
namespace {

// A short list that a launch needs for a moment; on the stack if the kernel has few parameters.
template <typename T>
class Few {
 public:
  void push_back(const T& value) {
    if (count_ < few_.size())
      few_[count_++] = value;
    else
      spill(value);
  }
  std::span<const T> all() const {
    return many_.empty() ? std::span<const T>(few_.data(), count_) : std::span<const T>(many_);
  }

 private:
  void spill(const T& value) {
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(value);
  }
  std::array<T, 16> few_;
  std::size_t count_ = 0;
  std::vector<T> many_;
};

Fact fact_of(const LaunchArgument& argument, bool is_constexpr) {
  if (argument.is_pointer())
    return reinterpret_cast<std::uintptr_t>(argument.value().pointer) % 16 == 0
               ? Fact::multiple_of_16
               : Fact::none;
  if (is_constexpr || !argument.is_integer()) return Fact::none;
  const std::int64_t number = argument.value().integer;
  if (number == 1) return Fact::one;
  // Sizes and strides of arrays that Hopper's copies go by are not 0.
  return number > 0 && number % 16 == 0 ? Fact::multiple_of_16 : Fact::none;
}

bool answers(const Signature& signature, std::span<const LaunchArgument> arguments) {
  if (signature.size() != arguments.size()) return false;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const LaunchArgument& argument = arguments[i];
    const auto* number = std::get_if<std::int64_t>(&signature[i]);
    if (number != nullptr) {
      if (!argument.is_integer() || argument.value().integer != *number) return false;
    } else if (std::get<DType>(signature[i]) != argument.dtype()) {
      return false;
    }
  }
  return true;
}

Hash key_of(const Signature& signature, std::span<const Fact> facts, const Device& device,
            const Knobs& knobs) {
  Hasher hasher;
  hasher.add(device.text()).add(signature.size());
  for (const auto& entry : signature) {
    hasher.add(entry.index());
    std::visit([&](auto value) { hasher.add(value); }, entry);
  }
  for (Fact fact : facts) hasher.add(fact);
  for (const auto& [name, value] : values_of(knobs)) hasher.add(value);
  return hasher.finish();
}

// The memory that the kernel may access in the emulator; nothing if a size is not known.
std::optional<emulator::KnownMemory> known_memory_of(std::span<const ArgumentMemory> memories) {
  std::vector<emulator::KnownArray> arrays;
  for (const ArgumentMemory& memory : memories) {
    const LaunchArgument& argument = *memory.argument;
    if (!argument.knows_size()) return std::nullopt;
    arrays.push_back({*memory.name, argument.value().pointer, argument.size_bytes(),
                      size_bytes(argument.dtype())});
  }
  return emulator::KnownMemory(std::move(arrays));
}

void launch_emulated(const Device& device, const Artifact& artifact, const Grid& grid,
                     std::span<const Argument> values, std::span<const ArgumentMemory> memories) {
  std::optional<emulator::KnownMemory> known = known_memory_of(memories);
  Artifact watched = artifact;
  watched.emulated = [&](const Argument* arguments, const std::int64_t* sizes, std::int64_t begin,
                         std::int64_t end) {
    emulator::KnownMemoryScope scope(known ? &*known : nullptr);
    artifact.emulated(arguments, sizes, begin, end);
  };
  launch_on(device, watched, grid, values.data());
}

}  // namespace

Fact Kernel::known_fact(const LaunchArgument& argument, std::size_t i) const {
  const KernelState& kernel = *state_;
  if (i < kernel.is_not_known.size() && kernel.is_not_known[i]) return Fact::none;
  return fact_of(argument, kernel.kinds[i] == ParameterKind::constexpr_number);
}

bool Kernel::have_facts(LaunchArguments arguments, std::span<const Fact> facts) const {
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (known_fact(arguments[i], i) != facts[i]) return false;
  return true;
}

ir::Function Kernel::program_of(LaunchArguments arguments, const Device& device) const {
  return program_of(arguments, device, state_->knobs);
}

ir::Function Kernel::program_of(LaunchArguments arguments, const Device& device,
                                const Knobs& knobs) const {
  std::vector<Fact> facts;
  Signature signature = signature_of(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) facts.push_back(known_fact(arguments[i], i));
  return trace(signature, facts, device.target().is_gpu() ? knobs : Knobs{});
}

std::shared_ptr<const CompiledKernel> Kernel::compiled_for(LaunchArguments arguments,
                                                           const Device& device,
                                                           const Knobs& given) const {
  std::vector<std::shared_ptr<const CompiledKernel>> given_up;  // destroyed when the lock is free
  const Knobs knobs = given == Knobs{} ? state_->knobs : joined(given, state_->knobs);
  // Held while compiling, so that threads that meet a new signature together compile it once.
  GatedLock lock(state_->mutex);
  std::shared_ptr<const CompiledKernel>& latest = state_->latest;
  if (latest != nullptr && latest->device == device && latest->knobs == knobs && fits(arguments) &&
      answers(latest->signature, arguments) && have_facts(arguments, latest->facts)) [[likely]]
    return latest;
  auto made = std::make_shared<CompiledKernel>();
  made->signature = signature_of(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    made->facts.push_back(known_fact(arguments[i], i));
  made->device = device;
  made->knobs = knobs;
  const Hash key = key_of(made->signature, made->facts, device, knobs);
  if (auto found = state_->compiled.find(key)) return latest = std::move(found);
  require_knobs(name(), knobs);
  ir::Function program = program_of(arguments, device, knobs);
  made->uses = parameter_use(program);
  const Check check = checks();
  const bool bounds = check == Check::bounds || check == Check::all;
  const bool asserts = check == Check::asserts || check == Check::all;
  if (bounds && device == Device::cpu()) {
    made->checks = check_bounds(program);
    program = made->checks->function;
  }
  if (asserts && !device.is_cuda() && has_asserts(program)) {
    made->asserts = check_asserts(program);
    program = made->asserts->function;
  }
  made->artifact =
      made->checks || made->asserts ? compile(program, device) : compile_watched(program, device);
  given_up = state_->compiled.insert(key, made, code_bytes(*made->artifact), bounds_of_tables());
  return latest = std::move(made);
}

// True if each argument is a number or a pointer as its parameter wants it.
bool Kernel::fits(std::span<const LaunchArgument> arguments) const {
  return std::ranges::equal(state_->kinds, arguments,
                            [](ParameterKind kind, const LaunchArgument& argument) {
                              return argument.is_pointer() == (kind == ParameterKind::pointer);
                            });
}

std::vector<LaunchArgument> Kernel::without_constexprs(
    std::span<const LaunchArgument> arguments) const {
  std::vector<LaunchArgument> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (state_->kinds[i] != ParameterKind::constexpr_number) rest.push_back(arguments[i]);
  return rest;
}

// The device that was asked for, or that of the first tensor on a GPU; memory without a known
// device belongs to the default one.
Device Kernel::device_of(LaunchArguments arguments) const {
  if (state_->device) return *state_->device;
  for (const LaunchArgument& argument : arguments)
    if (argument.place() != nullptr) return Device::of(argument.place());
  return default_device();
}

void Kernel::launch_with(const LaunchGrid& grid, LaunchArguments arguments,
                         const Knobs& knobs) const {
  try {
    for (const LaunchArgument& argument : arguments)
      if (argument.record() != nullptr) [[unlikely]]
        if (argument.record()(*this, grid.of(*this, arguments), arguments, grid.where())) return;
    run(grid, arguments, knobs);
  } catch (const Error& error) {
    // Errors that mean more than their text go on as they are.
    if (typeid(error) != typeid(Error) || grid.where().line() == 0) throw;
    raise_error(concat(error.what(), " (launched at ", describe(grid.where()), ")"));
  }
}

void Kernel::run(const LaunchGrid& launch_grid, LaunchArguments arguments,
                 const Knobs& knobs) const {
  const Device device = device_of(arguments);
  std::shared_ptr<const CompiledKernel> compiled = compiled_for(arguments, device, knobs);
  const KernelState& kernel = *state_;
  const Grid grid = launch_grid.of(*this, arguments);
  if (require_grid(kernel.name, grid) == 0) return;
  Few<Argument> values;
  Few<ArgumentMemory> memories;  // of what the kernel reads or writes
  std::size_t param = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.kinds[i] == ParameterKind::constexpr_number) continue;
    values.push_back(arguments[i].value());
    ParameterUse use = compiled->uses[param++];
    if (use.is_read || use.is_written) memories.push_back({&arguments[i], &kernel.names[i], use});
  }
  require_memory(kernel.name, memories.all(), device);
  TraceSpan span("launch", kernel.name);
  const Artifact& artifact = *compiled->artifact;
  if (compiled->checks || compiled->asserts)
    return run_checked(*compiled, grid, values.all(), without_constexprs(arguments));
  if (artifact.emulated)
    return launch_emulated(device, artifact, grid, values.all(), memories.all());
  launch_on(device, artifact, grid, values.all().data());
}

}  // namespace tilewright::dsl
