// `tilewright bench ptxas`: what NVIDIA's assembler says of the kernels that graphs become, for
// every GPU that code is made for. Nothing is run, so shapes are those of real models.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tools/command.h"
#include "tools/measure.h"
#include "tools/named_kernels.h"
#include "tools/ptxas.h"
#include "tools/table.h"

namespace tilewright::tools {
namespace {

struct Settings {
  std::string ptxas = default_ptxas(), nvdisasm;
  std::vector<std::string> targets, kernels;
  int rounds = 5;
  bool json = false;
};

struct Compiled {
  dsl::gpu::Ptx ptx;
  double seconds;  // the median
};
Compiled compiled(const ir::Function& traced, const dsl::Target& target, int rounds) {
  Compiled result;
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    ir::Function function = traced;
    double start = now_s();
    dsl::run_passes(function, {.machine = dsl::Machine::gpu});
    result.ptx = dsl::gpu::generate_ptx(function, target);
    seconds.push_back(now_s() - start);
  }
  std::ranges::sort(seconds);
  result.seconds = seconds[seconds.size() / 2];
  return result;
}

// One program for one target as a record; what is wrong with it is added to `faults`.
nlohmann::json record_of(const std::string& kernel, const ir::Function& program,
                         const std::string& target, const Settings& a,
                         std::vector<std::string>& faults) {
  std::string what = fmt::format("{} ({}) for {}", kernel, program.name, target);
  nlohmann::json record = {{"kernel", kernel}, {"program", program.name}, {"target", target}};
  Compiled code;
  try {
    code = compiled(program, dsl::target_named(target), a.rounds);
  } catch (const std::exception& error) {
    faults.push_back(fmt::format("{}: {}", what, error.what()));
    record["error"] = error.what();
    return record;
  }
  Assembled assembled = assemble_ptx(code.ptx, target, {a.ptxas, a.nvdisasm});
  KeyInstructions key = key_instructions(code.ptx.text);
  record.update({{"threads", code.ptx.threads},
                 {"registers", assembled.registers},
                 {"shared_bytes", code.ptx.shared_bytes},
                 {"spill_bytes", assembled.spill_bytes},
                 {"mma", key.mma},
                 {"wgmma", key.wgmma},
                 {"tma", key.tma},
                 {"wide_accesses", key.wide_accesses},
                 {"accesses", key.accesses},
                 {"warnings", assembled.warnings},
                 {"compile_s", code.seconds}});
  for (const LoopInstructions& loop : assembled.loops) record["loops"].push_back(loop.counts);
  if (assembled.is_disassembled) record["local_accesses"] = assembled.local_accesses;
  if (!assembled.ok) faults.push_back(fmt::format("{}: {}", what, assembled.messages));
  if (assembled.spill_bytes > 0)
    faults.push_back(fmt::format("{}: {} bytes are spilled", what, assembled.spill_bytes));
  for (const std::string& warning : assembled.warnings)
    faults.push_back(fmt::format("{}: {}", what, warning));
  return record;
}

void show(const nlohmann::json& records) {
  Table table({"kernel", "target", "threads", "registers", "shared", "spilled", "mma", "wgmma",
               "TMA", "16 bytes", "compile"});
  for (const auto& r : records) {
    if (r.contains("error")) continue;
    auto text = [&](const char* field) { return r[field].dump(); };
    table.add({r["kernel"], r["target"], text("threads"), text("registers"), text("shared_bytes"),
               text("spill_bytes"), text("mma"), text("wgmma"), text("tma"),
               fmt::format("{} of {}", text("wide_accesses"), text("accesses")),
               duration_text(r["compile_s"])});
  }
  fmt::print("{}", table.text());
}

void bench_ptxas(const Settings& a) {
  require(std::system(fmt::format("'{}' --version >/dev/null 2>&1", a.ptxas).c_str()) == 0,
          "[ptxas] cannot run \"", a.ptxas,
          "\"; name NVIDIA's assembler by --ptxas or TILEWRIGHT_PTXAS");
  nlohmann::json records = nlohmann::json::array();
  std::vector<std::string> faults;
  for (const NamedKernel& c : named_kernels(a.kernels))
    for (const std::string& target : a.targets)
      for (const ir::Function& program : programs_of(c, Device::emulated(target)))
        records.push_back(record_of(c.name, program, target, a, faults));
  if (a.json) {
    nlohmann::json whole = {{"bench", "ptxas"},      {"command", "tilewright bench ptxas --json"},
                            {"device", cpu_model()}, {"date", date_today()},
                            {"rounds", a.rounds},    {"results", records}};
    fmt::print("{}\n", whole.dump(2));
  } else {
    show(records);
  }
  std::string list;
  for (const std::string& fault : faults) list += "\n  " + fault;
  require(faults.empty(), "[ptxas] ", faults.size(),
          " kernels fail to assemble, spill, or lose performance by a warning; smaller blocks need "
          "fewer registers:",
          list);
}

}  // namespace

void add_bench_ptxas(CLI::App& command) {
  auto a = std::make_shared<Settings>();
  for (std::string_view name : dsl::gpu_names()) a->targets.emplace_back(name);
  command.add_option("--ptxas", a->ptxas,
                     "NVIDIA's assembler (default: TILEWRIGHT_PTXAS, or ptxas)");
  command.add_option("--nvdisasm", a->nvdisasm,
                     "NVIDIA's disassembler: what stands in the loops of the machine code");
  command.add_option("--targets", a->targets, "GPUs to make code for")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--kernels", a->kernels, "only kernels with one of these words in their names")
      ->delimiter(',');
  command.add_option("--rounds", a->rounds, "compile so often and show the median time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_flag("--json", a->json, "print JSON");
  command.callback([a] { bench_ptxas(*a); });
}

}  // namespace tilewright::tools
