// `tilewright bench host-rows`: kernels that should run at the speed of memory, against a copy of
// the same bytes in the same run.
#include <fmt/format.h>

#include <random>

#include "runtime/parallel.h"
#include "tools/command.h"
#include "tools/measure.h"
#include "tools/table.h"

namespace tilewright::tools {
namespace {

struct RowKernel {
  std::string name;
  int inputs;  // full-size ones
  int outputs;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
};

// Arguments: two matrices, then two vectors as long as a row.
std::vector<RowKernel> row_kernels() {
  return {
      {"softmax", 1, 1, [](const auto& a) { return std::vector{softmax(a[0], -1)}; }},
      {"layer_norm", 1, 1, [](const auto& a) { return std::vector{layer_norm(a[0], a[2], a[3])}; }},
      {"rms_norm+residual", 2, 2,
       [](const auto& a) {
         Tensor sum = a[0] + a[1];
         return std::vector{sum, rms_norm(sum, a[2])};
       }},
      {"gelu+bias", 1, 1, [](const auto& a) { return std::vector{gelu(a[0] + a[2])}; }},
  };
}

Tensor random_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = normal(generator);
  return Tensor::from(elements, shape);
}

void bench_rows(std::int64_t rows, std::int64_t columns, int rounds, bool as_json,
                const RunOptions& run) {
  Options options = run.compile_options();
  std::vector<Tensor> arguments = {random_tensor({rows, columns}, 1),
                                   random_tensor({rows, columns}, 2), random_tensor({columns}, 3),
                                   random_tensor({columns}, 4)};
  nlohmann::json report = nlohmann::json::array();
  Table table({"kernel", "shape", "time", "GB/s", "copy GB/s", "fraction"});
  for (const RowKernel& kernel : row_kernels()) {
    CompiledFunction fast(kernel.function, options);
    double bytes = static_cast<double>(kernel.inputs + kernel.outputs) *
                   static_cast<double>(rows * columns) * 4;
    CopyLimit limit(static_cast<std::size_t>(bytes));
    auto actions = limit.loops();
    actions.push_back([&] { fast.call(arguments); });
    auto medians = interleaved_medians(actions, rounds, 0.0);
    double copy_s = *std::min_element(medians.begin(), medians.end() - 1), ours = medians.back();
    double fraction = copy_s / ours;
    std::string shape = to_string(Shape{rows, columns});
    table.add({kernel.name, shape, duration_text(ours), fmt::format("{:.1f}", bytes / ours / 1e9),
               fmt::format("{:.1f}", bytes / copy_s / 1e9), fmt::format("{:.2f}", fraction)});
    report.push_back({{"kernel", kernel.name},
                      {"shape", shape},
                      {"seconds", ours},
                      {"bytes", bytes},
                      {"copy_bandwidth", bytes / copy_s},
                      {"fraction", fraction}});
  }
  if (!as_json) {
    fmt::print("{}", table.text());
    return;
  }
  nlohmann::json whole = {{"bench", "rows"},       {"command", "tilewright bench host-rows --json"},
                          {"device", cpu_model()}, {"threads", thread_count()},
                          {"date", date_today()},  {"mode", run.mode},
                          {"results", report}};
  fmt::print("{}\n", whole.dump(2));
}

}  // namespace

void add_bench_host_rows(CLI::App& command) {
  struct Arguments {
    std::int64_t rows = 4096, columns = 4096;
    int rounds = 15;
    bool json = false;
    RunOptions run;
  };
  auto a = std::make_shared<Arguments>();
  command.add_option("--rows", a->rows, "rows of the matrices")->capture_default_str();
  command.add_option("--columns", a->columns, "length of a row")->capture_default_str();
  command.add_option("--rounds", a->rounds, "interleaved rounds; medians are shown")
      ->capture_default_str();
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_rows(a->rows, a->columns, a->rounds, a->json, a->run); });
}

}  // namespace tilewright::tools
