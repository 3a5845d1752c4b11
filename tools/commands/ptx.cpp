// `tilewright ptx`: what a tile program becomes on a GPU, with what the assembler says of it.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/programs/named_kernels.h"
#include "tools/programs/ptxas.h"
#include "tools/programs/read_programs.h"

namespace tilewright::tools {
namespace {

struct PtxArguments {
  std::string file = "-", kernel, target = "sm_90a", emit = "report";
  Assembler assembler;
  int rounds = 1;
  bool json = false;
};

// Blocks that fit on a multiprocessor, by threads, registers and shared memory, as a fraction of
// its threads.
double occupancy(const dsl::gpu::Ptx& ptx, int registers, const dsl::GpuFacts& gpu) {
  int blocks = std::min(gpu.threads / ptx.threads, gpu.blocks);
  int each = (std::max(registers, 16) + 7) / 8 * 8 * ptx.threads;
  blocks = std::min(blocks, gpu.registers / each);
  if (ptx.shared_bytes > 0)
    blocks = std::min(
        blocks, static_cast<int>(gpu.shared_bytes / (ptx.shared_bytes + dsl::system_shared_bytes)));
  return static_cast<double>(blocks * ptx.threads) / gpu.threads;
}

void report(const ir::Function& function, const dsl::gpu::Ptx& ptx, double seconds,
            const PtxArguments& a) {
  Assembled assembled = assemble_ptx(ptx, a.target, a.assembler);
  bool known = assembled.ok;
  auto mix = instruction_mix(ptx.text);
  const dsl::GpuFacts& gpu = dsl::target_named(a.target).gpu();
  if (a.json) {
    nlohmann::json result = {{"kernel", function.name}, {"target", a.target},
                             {"threads", ptx.threads},  {"shared_bytes", ptx.shared_bytes},
                             {"compile_s", seconds},    {"instructions", mix}};
    if (known) {
      result["registers"] = assembled.registers;
      result["spill_bytes"] = assembled.spill_bytes;
      result["occupancy"] = occupancy(ptx, assembled.registers, gpu);
    }
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{} for {}: {} threads, {} bytes of shared memory, made in {}\n", function.name,
             a.target, ptx.threads, ptx.shared_bytes, duration_text(seconds));
  if (known)
    fmt::print("ptxas: {} registers, {} bytes spilled, {:.0f} % of the threads fit\n",
               assembled.registers, assembled.spill_bytes,
               100 * occupancy(ptx, assembled.registers, gpu));
  else
    fmt::print("ptxas: {}\n", assembled.messages.empty() ? "not found" : assembled.messages);
  for (const LoopInstructions& loop : assembled.loops) {
    fmt::print("a loop with");
    for (const auto& [name, count] : loop.counts) fmt::print(" {} {}", count, name);
    fmt::print("\n");
  }
  if (assembled.is_disassembled)
    fmt::print("{} accesses of local memory\n", assembled.local_accesses);
  Table table({"instruction", "count"});
  for (std::size_t i = 0; i < mix.size() && i < 12; ++i)
    table.add({mix[i].first, std::to_string(mix[i].second)});
  fmt::print("\n{}", table.text());
}

void report_barriers(const ir::Function& function, const dsl::Target& target) {
  dsl::gpu::BarrierAudit audit = dsl::gpu::audit_barriers(function, target);
  fmt::print("{}: proved in {}\n", function.name, duration_text(audit.proof_s));
  for (const auto& order : audit.orders)
    fmt::print("{} of line {}: {}\n", order.operation, order.line,
               order.problem.empty() ? "not needed" : "without it, " + order.problem);
}

std::string machine_code(const dsl::gpu::Ptx& ptx, const PtxArguments& a) {
  Assembler assembler = a.assembler;
  if (assembler.nvdisasm.empty()) assembler.nvdisasm = "nvdisasm";
  Assembled assembled = assemble_ptx(ptx, a.target, assembler);
  require(assembled.ok, "[ptx] ", assembler.ptxas, " failed: ", assembled.messages);
  return assembled.sass;
}

// The programs of a file, or of the kernel with a name.
std::vector<NamedProgram> wanted_programs(const PtxArguments& a) {
  if (a.kernel.empty()) {
    std::vector<NamedProgram> programs;
    for (ir::Function& function : read_programs("ptx", a.file))
      programs.push_back({std::move(function)});
    return programs;
  }
  for (const NamedKernel& kernel : named_kernels({}))
    if (kernel.name == a.kernel) return programs_of(kernel, Device::emulated(a.target));
  std::vector<std::string> known;
  for (const NamedKernel& kernel : named_kernels({})) known.push_back(kernel.name);
  std::string lines;
  for (const std::string& name : known) lines += "\n  " + name;
  throw Misuse(concat("[ptx] there is no kernel \"", a.kernel, "\"", suggestion(a.kernel, known),
                      "; known are", lines));
}

void ptx(const PtxArguments& a) {
  dsl::Target target = as_misuse([&] { return dsl::target_named(a.target); });
  require_use(target.is_gpu(), "[ptx] ", a.target, " is not a GPU; known are ", dsl::known_gpus());
  for (NamedProgram& program : wanted_programs(a)) {
    ir::Function& function = program.function;
    const ir::Function traced = function;
    std::vector<double> seconds;
    dsl::gpu::Ptx code;
    for (int round = 0; round < a.rounds; ++round) {
      function = traced;
      double start = now_s();
      dsl::run_passes(function, {.target = target});
      if (a.emit != "llvm" && a.emit != "barriers") code = ptx_of(program, target);
      seconds.push_back(now_s() - start);
    }
    if (a.emit == "barriers") {
      report_barriers(function, target);
      continue;
    }
    if (a.emit == "llvm") {
      fmt::print("{}", dsl::gpu::gpu_llvm_text(function, target));
      continue;
    }
    std::ranges::sort(seconds);
    if (a.emit == "tile")
      fmt::print("{}", ir::print(traced));
    else if (a.emit == "ptx")
      fmt::print("{}", code.text);
    else if (a.emit == "sass")
      fmt::print("{}", machine_code(code, a));
    else
      report(function, code, seconds[seconds.size() / 2], a);
  }
}

}  // namespace

void add_ptx(CLI::App& command) {
  auto a = std::make_shared<PtxArguments>();
  command.add_option("FILE", a->file, "tile IR text; - reads standard input")
      ->capture_default_str();
  command.add_option("--kernel", a->kernel,
                     "instead of a file, a kernel of `tilewright bench ptxas` by its name");
  command.add_option("--target", a->target, "the GPU: " + dsl::known_gpus())->capture_default_str();
  command.add_option("--emit", a->emit, "what to print: report, tile, ptx, llvm, sass or barriers")
      ->check(CLI::IsMember({"report", "tile", "ptx", "llvm", "sass", "barriers"}))
      ->capture_default_str();
  command.add_option("--ptxas", a->assembler.ptxas, "NVIDIA's assembler, for registers and spills")
      ->capture_default_str();
  command.add_option("--nvdisasm", a->assembler.nvdisasm,
                     "NVIDIA's disassembler, which shows the loops");
  command.add_option("--rounds", a->rounds, "compile so often and show the median time")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--json", a->json, "print the report as JSON, a line a kernel");
  command.callback([a] { ptx(*a); });
}

}  // namespace tilewright::tools
