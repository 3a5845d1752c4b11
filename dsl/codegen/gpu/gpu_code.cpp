#include "dsl/codegen/gpu/gpu_code.h"

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/emitter.h"
#include "dsl/codegen/gpu/emit/grid_wait.h"
#include "dsl/codegen/gpu/emulate/program_observers.h"
#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/gpu/plan/cache_policy.h"
#include "dsl/codegen/gpu/plan/program_bounds.h"
#include "dsl/codegen/gpu/proof/barrier_proof.h"
#include "dsl/codegen/llvm/jit.h"
#include "dsl/codegen/llvm/llvm_passes.h"
#include "dsl/codegen/nvptx/nvptx.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

// O2 and O3 do no better for kernels; these take a quarter of their time.
constexpr const char* passes =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),"
    "early-cse<memssa>,adce)";
// For PTX, once device operations are expanded: arguments in the form that NVPTX wants, and
// ld.global.nc for arrays that nobody writes. Not where launches overlap: the kernel before may be
// writing them as this one begins, and ptxas puts such loads before griddepcontrol.wait.
std::string nvptx_passes(const GpuFacts& gpu) {
  return concat(
      "function(nvptx-lower-args,sroa,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(licm),early-cse<memssa>,adce",
      gpu.overlaps_launches ? ")" : ",nvptx-tag-invariant-loads)");
}

struct Generated {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string entry;
  KernelShape shape;
  std::optional<WarpSpecialisation> roles;
  bool has_products_over_turns = false;
};

// A name that PTX allows, different for each kernel.
std::string entry_name(const ir::Function& function, const std::optional<LaunchTable>& table) {
  std::string name = "tw_";
  for (char c : function.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (table) name += "_batch_of_" + std::to_string(table->capacity);
  return name + "_" + ir::content_hash(function).hex().substr(0, 8);
}

void generate(const ir::Function& given, const Target& target,
              const std::optional<LaunchTable>& table, Generated& g) {
  require_within_bounds(given, target, table.has_value());
  const ir::Function function = scheduled(given, target, table.has_value());
  check(function.stage == ir::Stage::synchronised, "code generation needs a synchronised function");
  Uses uses(function);
  std::vector<ScalarFacts> facts = scalar_facts(function);
  g.roles = warp_roles_of(function, uses, facts, target);
  require(!g.roles || !table, "[codegen] ", given.name,
          ": several launches are one only where warps have no roles");
  g.context = std::make_unique<llvm::LLVMContext>();
  g.module = std::make_unique<llvm::Module>(function.name, *g.context);
  g.machine = nvptx_machine(target);
  g.module->setTargetTriple(g.machine->getTargetTriple());
  g.module->setDataLayout(g.machine->createDataLayout());
  g.entry = entry_name(given, table);
  tell_of_program(given, target, g.entry);
  Emitter emitter(*g.module, function, target, uses, facts, g.roles, table);
  emitter.run(g.entry);
  g.shape = emitter.shape();
  g.has_products_over_turns = emitter.has_products_over_turns();
  verify_llvm(*g.module, function.name);
  prove_barriers(*g.module->getFunction(g.entry), g.roles);
  if (target.gpu().overlaps_launches) check_grid_wait(*g.module->getFunction(g.entry));
}

// The result of `use` on the function's module.
template <typename Use>
auto of_generated(const ir::Function& function, const Target& target,
                  const std::optional<LaunchTable>& table, const Use& use) {
  initialise_llvm();
  Generated g;
  return or_leave_behind(
      [&] {
        generate(function, target, table, g);
        return use(g);
      },
      g.module, g.machine, g.context);
}

constexpr int ptx_of_vector_additions = 81, ptx_of_ordered_evictions = 74;

// The oldest version that has what the kernel does, since an older driver may have to read it: most
// kernels need less than some do.
void choose_ptx_version(Generated& g, Target target) {
  bool adds_to_vectors = llvm::any_of(*g.module, [](const llvm::Function& function) {
    return function.getName().starts_with("td.reduce_add_") && function.getName().contains("_v");
  });
  const int usual = target.gpu().ptx;
  int version = usual;
  if (adds_to_vectors) version = std::max(version, ptx_of_vector_additions);
  if (orders_evictions(*g.module)) version = std::max(version, ptx_of_ordered_evictions);
  if (version == usual) return;
  target.features = ptx_feature(version);
  g.machine = nvptx_machine(target);
}

Ptx ptx_of(Generated& g, const Target& target) {
  choose_ptx_version(g, target);
  expand_device_ops(*g.module);
  apply_cache_policies(*g.module, target.gpu());
  run_llvm_passes(*g.module, g.machine.get(), nvptx_passes(target.gpu()).c_str());
  bool joins_copies = !g.roles || g.has_products_over_turns;
  std::string text = ptx_text(*g.module, *g.machine, joins_copies);
  Ptx ptx{std::move(text), g.entry, g.shape.threads, g.shape.shared_bytes};
  ptx.persistent = g.roles.has_value();
  ptx.cluster = g.shape.cluster;
  if (g.roles) ptx.tensor_maps = g.roles->maps;
  ptx.key = Hasher().add(ptx.text).finish();
  return ptx;
}

}  // namespace

// Blocks that take several launches from a table are no persistent ones.
ir::Function scheduled(const ir::Function& function, const Target& target, bool has_table) {
  ir::Function result = function;
  PipelineOptions options{.target = target};
  if (has_table) options.skip = {"specialise_warps"};
  schedule(result, options);
  return result;
}

Ptx generate_ptx(const ir::Function& function, const Target& target,
                 const std::optional<LaunchTable>& table) {
  return of_generated(function, target, table, [&](Generated& g) { return ptx_of(g, target); });
}

// Sizes of grids are wanted where programs look at more than their number.
LaunchTable launch_table(const ir::Function& function, std::size_t launches) {
  bool has_sizes = false;
  ir::for_each_inst(function.body, [&](const ir::Inst& inst) {
    has_sizes = has_sizes || inst.op == ir::Op::num_programs_ ||
                (inst.op == ir::Op::program_id_ && inst.get<ir::Axis>().axis > 0);
  });
  return LaunchTable::of(function.params.size(), has_sizes, launches);
}

std::string gpu_llvm_text(const ir::Function& function, const Target& target) {
  return of_generated(function, target, {}, [](Generated& g) {
    run_llvm_passes(*g.module, g.machine.get(), passes);
    std::string text;
    llvm::raw_string_ostream stream(text);
    g.module->print(stream, nullptr);
    return text;
  });
}

namespace {

std::vector<ArtifactParam> params_of(const ir::Function& function) {
  std::vector<ArtifactParam> params;
  for (const ir::Param& param : function.params) {
    const ir::Type& type = function.type(param.value);
    params.push_back({param.name, type.is_pointer(), type.dtype});
  }
  return params;
}

std::shared_ptr<Artifact> artifact_of(const ir::Function& function, const Target& target,
                                      const std::optional<LaunchTable>& table) {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = function.name;
  artifact->key = Hasher().add(ir::content_hash(function)).add(target.hash()).finish();
  artifact->params = params_of(function);
  if (table) artifact->table = std::make_shared<const LaunchTable>(*table);
  return artifact;
}

}  // namespace

BarrierAudit audit_barriers(const ir::Function& function, const Target& target) {
  return of_generated(function, target, {}, [](Generated& g) {
    return audit_barriers(*g.module->getFunction(g.entry), g.roles);
  });
}

EmulatedPtx emulate_ptx(const ir::Function& function, const Target& target,
                        emulator::EmulatorOptions options,
                        const std::optional<LaunchTable>& table) {
  return of_generated(function, target, table, [&](Generated& g) {
    run_llvm_passes(*g.module, g.machine.get(), passes);
    EmulatedPtx kernel{
        {}, params_of(function), g.entry, g.shape.threads, g.shape.shared_bytes, g.shape.cluster};
    kernel.table = table;
    kernel.persistent = g.roles.has_value();
    if (g.roles) kernel.tensor_maps = g.roles->maps;
    kernel.run = link_emulated(std::move(g.module), std::move(g.context), g.entry, g.shape,
                               std::move(options));
    return kernel;
  });
}

std::shared_ptr<const Artifact> generate_gpu_code(const ir::Function& function,
                                                  const Target& target,
                                                  const std::optional<LaunchTable>& table) {
  auto artifact = artifact_of(function, target, table);
  artifact->gpu = std::make_shared<const GpuCode>(generate_ptx(function, target, table));
  return artifact;
}

std::shared_ptr<const Artifact> generate_emulated(const ir::Function& function,
                                                  const Target& target,
                                                  emulator::EmulatorOptions options,
                                                  const std::optional<LaunchTable>& table) {
  EmulatedPtx kernel = emulate_ptx(function, target, std::move(options), table);
  auto artifact = artifact_of(function, target, table);
  artifact->emulated = std::move(kernel.run);
  if (kernel.persistent)
    artifact->emulated = persistent_launch(std::move(artifact->emulated), artifact->params,
                                           std::move(kernel.tensor_maps), kernel.cluster);
  return artifact;
}

}  // namespace tilewright::dsl::gpu
