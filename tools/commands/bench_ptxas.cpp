// `tilewright bench ptxas`: NVIDIA's assembler's report on the kernels that graphs become, for
// every GPU that code is made for. Nothing is run, so shapes are those of real models. Or of the
// programs of a folder: whatever a program or a test suite compiled, kept by
// TILEWRIGHT_DUMP_PROGRAMS.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/measure/program_output.h"
#include "tools/programs/named_kernels.h"
#include "tools/programs/ptxas.h"
#include "tools/programs/read_programs.h"

namespace tilewright::tools {
namespace {

struct Settings {
  std::string ptxas = default_ptxas(), nvdisasm;
  std::string programs;  // a folder instead of the kernels below
  std::vector<std::string> targets, kernels;
  int rounds = 5;
  int jobs = 1;
  bool may_spill = false;
  bool json = false;
};

struct CompiledPtx {
  dsl::gpu::Ptx ptx;
  double seconds;  // the median
};
CompiledPtx compiled(const NamedProgram& traced, const dsl::Target& target, int rounds) {
  CompiledPtx result;
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    NamedProgram program = traced;
    double start = now_s();
    dsl::run_passes(program.function, {.target = target});
    result.ptx = ptx_of(program, target);
    seconds.push_back(now_s() - start);
  }
  std::ranges::sort(seconds);
  result.seconds = seconds[seconds.size() / 2];
  return result;
}

// One program for one target, and what is wrong with it: it may fail, spill, or be warned of.
struct Job {
  std::string kernel, target;
  NamedProgram program;
};
struct Outcome {
  nlohmann::json record;
  std::vector<std::string> faults;
};

Outcome outcome_of(const Job& job, const Settings& a) {
  const auto& [kernel, target, program] = job;
  const std::string& name = program.function.name;
  Outcome result;
  auto fault = [&](const std::string& text) {
    result.faults.push_back(fmt::format("{} ({}) for {}: {}", kernel, name, target, text));
  };
  result.record = {{"kernel", kernel}, {"program", name}, {"target", target}};
  CompiledPtx code;
  try {
    code = compiled(program, dsl::target_named(target), a.rounds);
  } catch (const std::exception& error) {
    fault(error.what());
    result.record["error"] = error.what();
    return result;
  }
  Assembled assembled = assemble_ptx(code.ptx, target, {a.ptxas, a.nvdisasm});
  KeyInstructions key = key_instructions(code.ptx.text);
  result.record.update({{"threads", code.ptx.threads},
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
  for (const LoopInstructions& loop : assembled.loops)
    result.record["loops"].push_back(loop.counts);
  if (assembled.is_disassembled) result.record["local_accesses"] = assembled.local_accesses;
  if (!assembled.ok) fault(assembled.messages);
  if (assembled.spill_bytes > 0 && !a.may_spill)
    fault(fmt::format("{} bytes are spilled", assembled.spill_bytes));
  for (const std::string& warning : assembled.warnings) fault(warning);
  return result;
}

// In the order of the jobs.
std::vector<Outcome> outcomes_of(const std::vector<Job>& jobs, const Settings& a) {
  std::vector<Outcome> outcomes(jobs.size());
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) outcomes[i] = outcome_of(jobs[i], a);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < a.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

void show(const nlohmann::json& records) {
  Table table({"kernel", "target", "threads", "registers", "shared", "spilled", "mma", "wgmma",
               "TMA", "16 bytes", "compile"});
  for (const auto& r : records) {
    if (r.contains("error")) continue;
    auto text = [&](const char* field) { return r[field].dump(); };
    table.add({r["kernel"].get<std::string>(), r["target"].get<std::string>(), text("threads"),
               text("registers"), text("shared_bytes"), text("spill_bytes"), text("mma"),
               text("wgmma"), text("tma"),
               fmt::format("{} of {}", text("wide_accesses"), text("accesses")),
               duration_text(r["compile_s"])});
  }
  auto spills =
      std::ranges::count_if(records, [](const auto& r) { return r.value("spill_bytes", 0) > 0; });
  fmt::print("{}\n{} kernels, of which {} spill\n", table.text(), records.size(), spills);
  std::fflush(stdout);
}

// Programs that were chosen for a GPU whose code no other runs have what only that one has:
// clusters, warpgroups. The file's name ends with it.
bool is_for(const std::filesystem::path& file, const std::string& target) {
  std::string chosen = file.stem().extension().string();
  return !chosen.ends_with("a") || chosen == "." + target;
}

// The programs of a folder's *.tile files, in the order of their names.
std::vector<Job> jobs_of_folder(const Settings& a) {
  auto is_wanted = [&](const std::string& name) {
    return name.ends_with(".tile") &&
           (a.kernels.empty() || std::ranges::any_of(a.kernels, [&](const std::string& word) {
              return name.find(word) != std::string::npos;
            }));
  };
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(a.programs))
    if (is_wanted(entry.path().filename().string())) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Job> jobs;
  for (const auto& file : files)
    for (ir::Function& program : read_programs("ptxas", file.string()))
      for (const std::string& target : a.targets)
        if (is_for(file, target)) jobs.push_back({file.stem().string(), target, {program}});
  require(!jobs.empty(), "[ptxas] there is no *.tile file in ", a.programs,
          "; TILEWRIGHT_DUMP_PROGRAMS makes them");
  return jobs;
}

std::vector<Job> jobs_of_named_kernels(const Settings& a) {
  std::vector<Job> jobs;
  for (const NamedKernel& kernel : named_kernels(a.kernels))
    for (const std::string& target : a.targets)
      for (NamedProgram& program : programs_of(kernel, Device::emulated(target)))
        jobs.push_back({kernel.name, target, std::move(program)});
  return jobs;
}

void bench_ptxas(const Settings& a) {
  require(output_of({a.ptxas, "--version"}, "ptxas").ok, "[ptxas] cannot run \"", a.ptxas,
          "\"; name NVIDIA's assembler by --ptxas or TILEWRIGHT_PTXAS");
  std::vector<Job> jobs = a.programs.empty() ? jobs_of_named_kernels(a) : jobs_of_folder(a);
  nlohmann::json records = nlohmann::json::array();
  std::vector<std::string> faults;
  for (Outcome& outcome : outcomes_of(jobs, a)) {
    records.push_back(std::move(outcome.record));
    std::ranges::move(outcome.faults, std::back_inserter(faults));
  }
  if (a.json) {
    nlohmann::json whole = {
        {"bench", "ptxas"},
        {"command", a.nvdisasm.empty() ? "tilewright bench ptxas --json"
                                       : "tilewright bench ptxas --json --nvdisasm nvdisasm"},
        {"device", cpu_model()},
        {"date", date_today()},
        {"rounds", a.rounds},
        {"results", records}};
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
                     "NVIDIA's disassembler, which shows the loops of the machine code");
  command
      .add_option("--programs", a->programs,
                  "folder of tile programs (*.tile) to assemble instead of the kernels of models")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--may-spill", a->may_spill,
                   "spilled registers are shown, and are not a failure");
  command.add_option("--jobs", a->jobs, "programs to assemble at the same time")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--targets", a->targets, "GPUs to make code for")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--kernels", a->kernels, "only kernels with one of these words in their names")
      ->delimiter(',');
  command.add_option("--rounds", a->rounds, "compile so often and show the median time")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--json", a->json, "print JSON");
  command.callback([a] { bench_ptxas(*a); });
}

}  // namespace tilewright::tools
