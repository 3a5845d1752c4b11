// `tilewright bench ptxas`: what NVIDIA's assembler says of the kernels that graphs become, for
// every GPU that code is made for. Nothing is run, so shapes are those of real models.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "dsl/ir/text.h"
#include "dsl/passes/pipeline.h"
#include "graph/capture.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "runtime/base/error.h"
#include "tools/command.h"
#include "tools/measure.h"
#include "tools/ptxas.h"
#include "tools/table.h"

namespace tilewright::tools {
namespace {

struct Argument {
  DType dtype;
  Shape shape;
};
struct Case {
  std::string name;
  std::vector<Argument> arguments;
  Tensor (*function)(const std::vector<Tensor>& a);
};

constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, i64 = DType::i64;
using Tensors = std::vector<Tensor>;

Tensor softmax_of(const Tensors& a) { return softmax(a[0], -1); }
Tensor linear_of(const Tensors& a) { return linear(a[0], a[1]); }
Tensor attention_of(const Tensors& a) {
  return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true});
}

std::vector<Case> pointwise_cases() {
  return {
      {"add gelu, f32",
       {{f32, {4096, 4096}}, {f32, {4096}}},
       [](const Tensors& a) { return gelu(a[0] + a[1]); }},
      {"silu mul, bf16",
       {{bf16, {4096, 14336}}, {bf16, {4096, 14336}}},
       [](const Tensors& a) { return silu(a[0]) * a[1]; }},
      {"transpose, f32",
       {{f32, {4096, 2048}}},
       [](const Tensors& a) {
         return a[0].permute({1, 0}) + 0.5;
       }},
      {"cat, f16",
       {{f16, {64, 32, 128}}, {f16, {64, 16, 128}}},
       [](const Tensors& a) {
         return cat({a[0], a[1]}, 1);
       }},
      {"embedding, bf16",
       {{i64, {512}}, {bf16, {32000, 4096}}},
       [](const Tensors& a) { return embedding(a[0], a[1]); }},
  };
}

std::vector<Case> row_cases() {
  return {
      {"softmax of 1024, f32", {{f32, {4096, 1024}}}, softmax_of},
      {"softmax of 8192, bf16", {{bf16, {4096, 8192}}}, softmax_of},
      {"softmax of 128256, bf16", {{bf16, {64, 128256}}}, softmax_of},
      {"layer_norm of 768, f32",
       {{f32, {4096, 768}}, {f32, {768}}, {f32, {768}}},
       [](const Tensors& a) { return layer_norm(a[0], a[1], a[2]); }},
      {"rms_norm of 4096, bf16",
       {{bf16, {4096, 4096}}, {bf16, {4096}}},
       [](const Tensors& a) { return rms_norm(a[0], a[1]); }},
      {"argmax of 128256, f32",
       {{f32, {8, 128256}}},
       [](const Tensors& a) { return argmax(a[0], -1); }},
      {"sum over rows, f32",
       {{f32, {4096, 4096}}},
       [](const Tensors& a) { return sum(a[0], {0}); }},
  };
}

std::vector<Case> product_cases() {
  return {
      {"matmul 4096, f16",
       {{f16, {4096, 4096}}, {f16, {4096, 4096}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"matmul 512, bf16",
       {{bf16, {512, 512}}, {bf16, {512, 512}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"matmul 2048, f32",
       {{f32, {2048, 2048}}, {f32, {2048, 2048}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"linear, 4096 rows, bf16", {{bf16, {4096, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"linear, 1 row, bf16", {{bf16, {1, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"linear, 8 rows, bf16", {{bf16, {8, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"linear bias gelu, f16",
       {{f16, {2048, 1024}}, {f16, {4096, 1024}}, {f16, {4096}}},
       [](const Tensors& a) { return gelu(linear(a[0], a[1], a[2])); }},
      {"rms_norm linear, bf16",
       {{bf16, {2048, 4096}}, {bf16, {4096}}, {bf16, {4096, 4096}}},
       [](const Tensors& a) { return linear(rms_norm(a[0], a[1]), a[2]); }},
      {"batched matmul, f16",
       {{f16, {16, 512, 64}}, {f16, {16, 64, 512}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
  };
}

std::vector<Case> attention_cases() {
  auto of = [](const char* name, DType dtype, std::int64_t rows, std::int64_t keys,
               std::int64_t size) {
    return Case{
        name,
        {{dtype, {1, 32, rows, size}}, {dtype, {1, 8, keys, size}}, {dtype, {1, 8, keys, size}}},
        attention_of};
  };
  return {of("attention of 2048, bf16", bf16, 2048, 2048, 128),
          of("attention of 1000, f16", f16, 1000, 1000, 64),
          of("attention of 512, f32", f32, 512, 512, 64),
          of("attention of 1 row, bf16", bf16, 1, 4096, 128)};
}

// The tile programs that the function becomes on the device.
std::vector<ir::Function> programs_of(const Case& c, const Device& device) {
  graph::Capture capture;
  std::vector<Tensor> symbols;
  for (const Argument& argument : c.arguments)
    symbols.push_back(capture.placeholder(argument.dtype, argument.shape));
  graph::Captured captured = capture.finish({c.function(symbols)});
  auto plan =
      graph::make_plan(graph::run_passes(captured.graph), {.interpret = true, .device = device});
  std::vector<ir::Function> programs;
  for (std::size_t i = 0; i < plan->programs().size(); ++i)
    programs.push_back(ir::parse(plan->program_text(i)));
  return programs;
}

struct Settings {
  std::string ptxas = default_ptxas();
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
  Assembled assembled = assemble_ptx(code.ptx, target, a.ptxas);
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
  std::vector<Case> cases;
  for (auto* list : {pointwise_cases, row_cases, product_cases, attention_cases})
    std::ranges::move(list(), std::back_inserter(cases));
  nlohmann::json records = nlohmann::json::array();
  std::vector<std::string> faults;
  for (const Case& c : cases) {
    bool wanted = a.kernels.empty() || std::ranges::any_of(a.kernels, [&](const auto& part) {
                    return c.name.find(part) != std::string::npos;
                  });
    if (!wanted) continue;
    for (const std::string& target : a.targets)
      for (const ir::Function& program : programs_of(c, Device::emulated(target)))
        records.push_back(record_of(c.name, program, target, a, faults));
  }
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
