#include "runtime/package/loaded_package.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/code/callable_functions.h"
#include "runtime/code/object.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/cpu/parallel.h"
#include "runtime/files/foreign_text.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/package_run.h"
#include "runtime/plan/refused_call.h"

namespace tilewright {
namespace {

std::size_t place_of(std::string_view instruction_set) {
  return static_cast<std::size_t>(std::ranges::find(instruction_sets, instruction_set) -
                                  instruction_sets.begin());
}

std::string known_instruction_sets() {
  std::string names;
  for (std::string_view name : instruction_sets) names += concat(names.empty() ? "" : ", ", name);
  return names;
}

// The place of the best instruction set whose code may run: the one that was asked for, or that of
// this processor.
std::size_t best_to_run(const PackageLoadOptions& options) {
  const std::size_t best = best_instruction_set();
  const bool is_option = !options.instruction_set.empty();
  const std::string wish = is_option ? options.instruction_set : env::cpu();
  if (wish.empty()) return best;
  const char* setting = is_option ? "PackageLoadOptions::instruction_set" : "TILEWRIGHT_CPU";
  const std::size_t place = place_of(wish);
  require(place < instruction_sets.size(), setting, " is \"", shown(wish),
          "\", no instruction set; known are ", known_instruction_sets());
  require(place >= best, setting, " is ", wish, ", and this processor has no more than ",
          instruction_sets[best]);
  return place;
}

PackageContents chosen(PackageTargets targets, const PackageLoadOptions& options) {
  const std::size_t best = best_to_run(options);
  for (PackageContents& contents : targets)
    if (place_of(contents.instruction_set) >= best && !is_foreign(contents.instruction_set))
      return std::move(contents);
  require(!is_foreign(targets.front().instruction_set), "its code is for processors with ",
          targets.front().instruction_set,
          ", and this is x86-64; write_c_library() and `tilewright package -o NAME.c` make it a C "
          "library for them");
  while (is_foreign(targets.back().instruction_set)) targets.pop_back();
  const bool is_asked_for = best > best_instruction_set();
  raise_error(concat(
      "its code is for processors with ", targets.back().instruction_set,
      is_asked_for ? ", and no more was asked for than " : ", and this one has no more than ",
      instruction_sets[best], "; package the model with TILEWRIGHT_CPU=", instruction_sets[best]));
}

std::shared_ptr<const Artifact> loaded_kernel(const PackageKernel& kernel,
                                              const PackageBlob& object) try {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = kernel.name;
  artifact->params = kernel.params;
  artifact->scratch_bytes = kernel.scratch_bytes;
  const std::span bytes(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
  artifact->code = load_object(bytes, kernel_entry, callable_functions());
  artifact->host = reinterpret_cast<HostFunction>(artifact->code.get());
  return artifact;
} catch (const OutOfMemory&) {
  throw;
} catch (const Error& error) {
  raise_error(concat("kernel \"", kernel.name, "\": ", error.what()));
}

ExecutableKernel kernel_of_code(const std::shared_ptr<const Artifact>& artifact, bool is_batched) {
  return {artifact->name, artifact, is_batched ? artifact : nullptr, nullptr};
}

std::string text_of(const PackageFunction& function) {
  std::string text;
  for (const PackageTensor& input : function.inputs)
    text += concat(text.empty() ? "" : ", ", input.dtype, " ", input.shape);
  return concat("(", text, ")");
}

std::string name_of_argument(const PackageFunction& function, std::size_t number) {
  const std::string& name = function.inputs[number].name;
  return name.empty() ? concat("argument ", number) : concat("argument ", number, " '", name, "'");
}

bool takes(const PackageFunction& function, std::span<const PackageArgument> arguments) {
  return std::ranges::equal(function.inputs, arguments,
                            [](const PackageTensor& a, const PackageArgument& b) {
                              return a.dtype == b.dtype && a.shape == b.shape;
                            });
}

}  // namespace

LoadedPackage::LoadedPackage(const std::filesystem::path& file, const PackageLoadOptions& options)
    : LoadedPackage(read_package(file, options), file.string(), options) {}

LoadedPackage::LoadedPackage(PackageTargets targets, std::string name,
                             const PackageLoadOptions& options)
    : name_(std::move(name)) {
  for (const PackageContents& contents : targets)
    instruction_sets_.push_back(contents.instruction_set);
  load(std::move(targets), options);
}

// Bodies of control flow come before the executables that have it as a kernel.
void LoadedPackage::load(PackageTargets targets, const PackageLoadOptions& options) try {
  contents_ = chosen(std::move(targets), options);
  std::vector<std::shared_ptr<const Artifact>> code;
  for (const PackageKernel& kernel : contents_.kernels)
    code.push_back(loaded_kernel(kernel, contents_.blobs[kernel.object]));
  for (const PackageExecutable& executable : contents_.executables) {
    Executable run = executable.run;
    for (const PackageKernelUse& use : executable.kernels)
      run.kernels.push_back(kernel_of(use, code));
    for (std::uint32_t blob : executable.constants)
      run.constants.push_back(buffer_of(contents_.blobs[blob]));
    executables_.push_back(std::make_shared<const Executable>(std::move(run)));
  }
} catch (const OutOfMemory&) {
  throw;
} catch (const Error& error) {
  raise_error(concat("[load_package] ", name_, ": ", error.what()));
}

ExecutableKernel LoadedPackage::kernel_of(
    const PackageKernelUse& use, std::span<const std::shared_ptr<const Artifact>> code) const {
  switch (use.kind) {
    case PackageKernelUse::Kind::code: return kernel_of_code(code[use.index], use.is_batched);
    case PackageKernelUse::Kind::control_flow:
      return kernel_of_control_flow(contents_.control_flow[use.index]);
    case PackageKernelUse::Kind::refusal:
      return {.name = "refusal", .call = RefusedCall{contents_.refusals[use.index]}};
  }
  __builtin_unreachable();
}

ExecutableKernel LoadedPackage::kernel_of_control_flow(const PackageControlFlow& own) const {
  auto control = std::make_shared<ControlFlow>(own.control);
  for (std::size_t i = 0; i < own.bodies.size(); ++i)
    control->bodies[i].run = executables_[own.bodies[i]];
  return {.name = "control_flow", .call = [control](const Grid&, const Argument* arguments) {
            run_control_flow(*control, arguments);
          }};
}

std::string LoadedPackage::signatures_text() const {
  constexpr std::size_t most = 16;
  const auto& functions = contents_.functions;
  std::string text;
  for (const PackageFunction& function :
       std::span(functions).first(std::min(most, functions.size())))
    text += concat(text.empty() ? "" : ", ", text_of(function));
  return functions.size() > most ? concat(text, " and ", functions.size() - most, " more") : text;
}

const PackageFunction& LoadedPackage::function_for(
    std::span<const PackageArgument> arguments) const {
  for (const PackageFunction& function : contents_.functions)
    if (takes(function, arguments)) return function;
  const PackageFunction& first = contents_.functions.front();
  require(first.inputs.size() == arguments.size(), "[run_package] ", name_, " takes ",
          first.inputs.size(), " arguments, and the call has ", arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const PackageArgument& given = arguments[i];
    auto fits = [&](const PackageFunction& function) {
      return function.inputs[i].dtype == given.dtype && function.inputs[i].shape == given.shape;
    };
    require(std::ranges::any_of(contents_.functions, fits), "[run_package] ",
            name_of_argument(first, i), " is ", given.dtype, " ", given.shape, ", and ", name_,
            " was made for ", signatures_text(),
            "; pass one of these, or package the model for this size too");
  }
  raise_error(concat("[run_package] ", name_, " was made for ", signatures_text(),
                     ", and the arguments are of several of these; pass those of one"));
}

std::vector<std::shared_ptr<Buffer>> LoadedPackage::run(const PackageFunction& function,
                                                        std::span<void* const> arguments,
                                                        std::span<void* const> outputs) const {
  return PackageRun(contents_, function, *executables_[function.executable], arguments, outputs)
      .run();
}

void LoadedPackage::run(std::span<const PackageArgument> arguments,
                        std::span<const PackageArgument> outputs) const {
  const PackageFunction& function = function_for(arguments);
  require(outputs.size() == function.outputs.size(), "[run_package] ", name_, " gives ",
          function.outputs.size(), " outputs, and the call has room for ", outputs.size());
  std::vector<void*> from, to;
  for (const PackageArgument& argument : arguments) from.push_back(argument.data);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const PackageTensor& own = function.outputs[i];
    require(own.dtype == outputs[i].dtype && own.shape == outputs[i].shape, "[run_package] output ",
            i, " '", own.name, "' is ", own.dtype, " ", own.shape, ", and the call has room for ",
            outputs[i].dtype, " ", outputs[i].shape);
    to.push_back(outputs[i].data);
  }
  run(function, from, to);
}

}  // namespace tilewright
