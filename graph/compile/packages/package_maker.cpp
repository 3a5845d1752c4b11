#include "graph/compile/packages/package_maker.h"

#include <algorithm>
#include <set>

#include "dsl/launch/compiler_identity.h"
#include "dsl/launch/kept_objects.h"
#include "graph/compile/bindings/host_arguments.h"
#include "graph/compile/packages/unpackable.h"
#include "graph/run/plan_body.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/package/content_hash.h"
#include "runtime/plan/refused_call.h"

namespace tilewright::graph {
namespace {

std::string_view instruction_set_of(const dsl::Target& target) {
  for (std::string_view name : foreign_instruction_sets)
    if (dsl::target_named(std::string(name)).features == target.features) return name;
  for (std::string_view name : instruction_sets)
    if (dsl::target_named(std::string(name)).features == target.features) return name;
  raise_error(concat("[save_package] no known processor has the features ", target.features));
}

// "batch.1[2]" of "argument 0 'batch'.1[2]"; "in.0" of an argument without a name.
std::string name_of_input(const std::vector<std::string>& places, std::size_t number) {
  const std::string unnamed = concat("in.", number);
  if (number >= places.size()) return unnamed;
  std::string name = places[number];
  const std::size_t quote = name.find('\'');
  if (quote == std::string::npos) return unnamed;
  name.erase(0, quote);
  std::erase(name, '\'');
  return name;
}

// The inputs that steps use, or that results are.
std::set<std::size_t> used_inputs(const FunctionParts& parts, const PackageFunction& function) {
  std::set<std::size_t> used;
  for (const ArgumentSlot& slot : parts.plan.executable()->slots)
    if (slot.kind == SlotKind::input) used.insert(slot.index);
  for (const PackageResult& result : function.results)
    if (result.is_input) used.insert(result.index);
  return used;
}

// Where the elements of an input lie, from its first one on.
StridedView layout_of(const FunctionParts& parts, std::size_t input) {
  if (input < parts.signature.size()) return row_major(parts.signature[input].shape);
  StridedView view = parts.inputs.at(input, {}).body()->view;
  view.offset = 0;
  return view;
}

PackageRange range_of(const IndexRange& range) {
  OutsideText text = text_of_outside(range);
  return {range.least, range.end, range.ignored, std::move(text.before), std::move(text.after)};
}

struct ResultSource {
  Shape shape;
  PackageResult from;
};
ResultSource source_of(const FunctionParts& parts, std::size_t number) {
  using Kind = ResultChange::Kind;
  auto input = [&](std::size_t i, const StridedView& view) {
    return ResultSource{view.shape,
                        {true, static_cast<std::uint32_t>(i), view.strides, view.offset}};
  };
  const auto& changes = parts.results.changes();
  const auto change = std::ranges::find(changes, number, &ResultChange::result);
  if (change != changes.end() && change->kind == Kind::view)
    return input(change->other,
                 *place_of(parts.results.origins()[number].views, layout_of(parts, change->other)));
  if (change != changes.end() && change->kind == Kind::input)
    return input(change->other, layout_of(parts, change->other));
  const PlanOutput& output = parts.plan.outputs()[number];
  const std::optional<std::uint32_t> buffer = parts.plan.executable()->results[number];
  if (buffer) return {output.shape, {false, *buffer, {}, 0}};
  const auto of = static_cast<std::size_t>(*output.input);
  return input(of, layout_of(parts, of));
}

}  // namespace

// The plans for a foreign instruction set are those of the plainest host, whose vectors are as wide
// and which computes their frozen values.
PackageMaker::PackageMaker(std::vector<std::string> output_names, int threads,
                           const std::string& foreign_instruction_set)
    : output_names_(std::move(output_names)), threads_(threads) {
  if (!foreign_instruction_set.empty()) {
    require(is_foreign(foreign_instruction_set), "[save_package] \"", foreign_instruction_set,
            "\" is no foreign instruction set; known is ", foreign_instruction_sets.front(),
            "; for those of x86-64 set TILEWRIGHT_CPU");
    require(dsl::host_target() == dsl::target_named("sse"), "[save_package] code for ",
            foreign_instruction_set,
            " is made by a process with TILEWRIGHT_CPU=sse; set it, or run `tilewright package "
            "--cpu ",
            foreign_instruction_set, "`");
    foreign_ = dsl::target_named(foreign_instruction_set);
  }
  contents_.producer = concat("tilewright ", dsl::compiler_identity().version);
}

void PackageMaker::add(const FunctionParts& parts) {
  const dsl::Target target = parts.plan.device().target();
  require(!target.is_gpu(), "[save_package] the function is compiled for ",
          parts.plan.device().text(),
          "; a package holds code of the host: compile it with "
          "Options::device = Device::cpu()");
  contents_.instruction_set = instruction_set_of(foreign_.value_or(target));
  PackageFunction function;
  function.threads = threads_;
  add_inputs(parts, function);
  require_distinct(function);
  function.executable = executable_of(parts.graph, parts.plan);
  add_results(parts, function);
  add_bindings(parts, function);
  add_checks(parts, function);
  function.weights = hashes_of_weights(parts);
  contents_.functions.push_back(std::move(function));
}

PackageContents PackageMaker::take() {
  require(
      !contents_.functions.empty(),
      "[save_package] nothing was compiled yet; call the function with tensors of each size that "
      "the package is to have");
  return std::move(contents_);
}

void PackageMaker::add_inputs(const FunctionParts& parts, PackageFunction& function) const {
  for (std::size_t i = 0; i < parts.signature.size(); ++i) {
    const ArgumentType& type = parts.signature[i];
    const std::string name = name_of_input(parts.places, i);
    require(is_row_major(type.shape, type.strides), "[save_package] argument '", name,
            "' has the strides ", type.strides, " in the shape ", type.shape,
            "; a package takes row-major tensors: compile the function for a clone() of it");
    const bool is_written = std::ranges::find(parts.written, i) != parts.written.end();
    function.inputs.push_back({name, type.dtype, type.shape, is_written});
  }
  for (std::size_t i : parts.written)
    if (i >= parts.signature.size() && !parts.inputs.at(i, {}).body()->is_setting)
      raise_written(parts.graph, i, parts.inputs.at(i, {}));
  for (std::size_t i = 0; i < offsets_of(parts).size(); ++i)
    function.inputs.push_back(
        {i == 0 ? concat(random_offset) : concat(random_offset, ".", i), DType::i64, {}, true});
}

// The inputs of the plan that say how many numbers a generator has drawn, each of which is an
// argument of the package behind those of the function.
std::vector<std::size_t> PackageMaker::offsets_of(const FunctionParts& parts) {
  std::vector<std::size_t> offsets;
  for (std::size_t i : parts.written)
    if (i >= parts.signature.size()) offsets.push_back(i);
  return offsets;
}

// Without the numbers that generators have drawn.
std::vector<Hash> PackageMaker::hashes_of_weights(const FunctionParts& parts) {
  std::vector<Hash> hashes;
  for (std::size_t i = parts.signature.size(); i < parts.inputs.size(); ++i) {
    const Tensor& tensor = parts.inputs.at(i, {});
    if (tensor.body()->is_setting) continue;
    const ByteRange range = bytes_spanned(tensor);
    const auto size = static_cast<std::size_t>(range.size());
    auto [known, is_new] = hashes_.try_emplace({range.begin, size});
    if (is_new) known->second = hash_of_content({range.begin, size});
    hashes.push_back(known->second);
  }
  return hashes;
}

void PackageMaker::require_distinct(const PackageFunction& function) const {
  auto is_same = [&](const PackageFunction& other) {
    return std::ranges::equal(function.inputs, other.inputs, [](const auto& a, const auto& b) {
      return a.dtype == b.dtype && a.shape == b.shape;
    });
  };
  require(std::ranges::none_of(contents_.functions, is_same),
          "[save_package] two plans take arguments of the same dtypes and shapes: they differ in "
          "values that the function is guarded by, or in the form of its arguments; package one "
          "function for each");
}

std::uint32_t PackageMaker::executable_of(const Graph& graph, const Plan& plan) {
  const Executable& run = *plan.executable();
  PackageExecutable own;
  own.run.steps = run.steps;
  own.run.grids = run.grids;
  own.run.slots = run.slots;
  own.run.output_bytes = run.output_bytes;
  own.run.results = run.results;
  own.run.arena_bytes = run.arena_bytes;
  for (std::size_t i = 0; i < run.kernels.size(); ++i)
    own.kernels.push_back(kernel_of(graph, plan, i));
  for (const std::shared_ptr<Buffer>& constant : run.constants)
    own.constants.push_back(blob({static_cast<const std::byte*>(constant->data()),
                                  static_cast<std::size_t>(constant->size_bytes())},
                                 constant));
  contents_.executables.push_back(std::move(own));
  return static_cast<std::uint32_t>(contents_.executables.size() - 1);
}

PackageKernelUse PackageMaker::kernel_of(const Graph& graph, const Plan& plan,
                                         std::size_t program) {
  const ExecutableKernel& kernel = plan.executable()->kernels[program];
  if (const auto* planned = kernel.call.target<PlannedControlFlow>())
    return {PackageKernelUse::Kind::control_flow, control_flow_of(graph, *planned)};
  if (const auto* refused = kernel.call.target<RefusedCall>()) {
    contents_.refusals.push_back(refused->error);
    return {PackageKernelUse::Kind::refusal,
            static_cast<std::uint32_t>(contents_.refusals.size() - 1)};
  }
  return {PackageKernelUse::Kind::code, code_of(graph, plan, program), kernel.batched != nullptr};
}

// Its bodies' executables come before that of the plan that it is in. `graph` has their graphs.
std::uint32_t PackageMaker::control_flow_of(const Graph& graph, const PlannedControlFlow& planned) {
  PackageControlFlow own{*planned.control, {}};
  for (ControlBody& body : own.control.bodies) body.run = nullptr;
  for (const std::shared_ptr<const Plan>& body : planned.bodies)
    own.bodies.push_back(executable_of(graph, *body));
  contents_.control_flow.push_back(std::move(own));
  return static_cast<std::uint32_t>(contents_.control_flow.size() - 1);
}

std::uint32_t PackageMaker::code_of(const Graph& graph, const Plan& plan, std::size_t program) {
  const ExecutableKernel& kernel = plan.executable()->kernels[program];
  const auto& artifact = kernel.single ? kernel.single : kernel.batched;
  if (artifact == nullptr || !artifact->host) raise_call(graph, plan, program);
  const auto known = kernels_.find(artifact->key);
  if (known != kernels_.end()) return known->second;
  dsl::HostObject object =
      dsl::host_object(*plan.body().functions[program], foreign_.value_or(plan.device().target()));
  auto owner = std::make_shared<const std::vector<char>>(std::move(object.bytes));
  const auto number = static_cast<std::uint32_t>(contents_.kernels.size());
  const std::uint32_t bytes = blob(std::as_bytes(std::span(*owner)), owner);
  contents_.kernels.push_back({artifact->name, artifact->params, object.scratch_bytes, bytes});
  return kernels_[artifact->key] = number;
}

std::uint32_t PackageMaker::blob(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner) {
  const auto number = static_cast<std::uint32_t>(contents_.blobs.size());
  auto [known, is_new] = blobs_.try_emplace({bytes.data(), bytes.size()}, number);
  if (is_new) contents_.blobs.push_back({bytes, std::move(owner)});
  return known->second;
}

void PackageMaker::add_results(const FunctionParts& parts, PackageFunction& function) const {
  const std::size_t extrema = 2 * parts.checks.computed().size();
  const std::size_t outputs = parts.plan.outputs().size() - extrema;
  for (std::size_t i = 0; i < outputs + extrema; ++i) {
    ResultSource source = source_of(parts, i);
    function.results.push_back(std::move(source.from));
    if (i >= outputs) continue;
    const std::string name = i < output_names_.size() ? output_names_[i] : concat("out.", i);
    function.outputs.push_back({name, parts.plan.outputs()[i].dtype, std::move(source.shape)});
  }
}

void PackageMaker::add_bindings(const FunctionParts& parts, PackageFunction& function) {
  const std::set<std::size_t> used = used_inputs(parts, function);
  const std::size_t count = parts.inputs.size() + parts.inputs.packed().size();
  for (std::size_t i = 0; i < count; ++i)
    function.bindings.push_back(used.contains(i) ? binding_of(parts, i) : PackageBinding());
}

PackageBinding PackageMaker::binding_of(const FunctionParts& parts, std::size_t input) {
  using Kind = PackageBinding::Kind;
  if (input < parts.signature.size()) return {Kind::argument, static_cast<std::uint32_t>(input), 0};
  const std::vector<std::size_t> offsets = offsets_of(parts);
  if (const auto offset = std::ranges::find(offsets, input); offset != offsets.end())
    return {Kind::argument,
            static_cast<std::uint32_t>(parts.signature.size() + (offset - offsets.begin())), 0};
  if (input >= parts.inputs.size()) {
    const std::shared_ptr<Buffer>& copy = parts.inputs.packed()[input - parts.inputs.size()];
    const std::span bytes(static_cast<const std::byte*>(copy->data()),
                          static_cast<std::size_t>(copy->size_bytes()));
    return {Kind::blob, blob(bytes, copy), 0};
  }
  const Tensor& tensor = parts.inputs.at(input, {});
  const ByteRange range = bytes_spanned(tensor);
  const std::span bytes(range.begin, static_cast<std::size_t>(range.size()));
  const auto* first = static_cast<const std::byte*>(address_of(*tensor.body()));
  return {Kind::blob, blob(bytes, tensor.body()->buffer), first - range.begin};
}

void PackageMaker::add_checks(const FunctionParts& parts, PackageFunction& function) {
  for (const IndexSites::Known& known : parts.checks.known()) {
    const InputElements& elements = known.elements;
    if (elements.input >= parts.signature.size()) continue;  // it was right when it was compiled
    function.checks.push_back({static_cast<std::uint32_t>(elements.input), elements.offsets,
                               elements.count, range_of(known.range)});
  }
  for (const IndexRange& range : parts.checks.computed())
    function.extrema.push_back(range_of(range));
}

}  // namespace tilewright::graph
