// The sections launch and graphs: what starting kernels costs the host, and the device.
#include <fmt/format.h>

#include "autotune/kernel_tuner.h"
#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/launch.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/graph.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/section.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

constexpr int burst = 128;  // launches between two waits

// y[i] = x[i] + 1 for 128 elements, by one block.
ir::Function tiny_program() {
  using namespace dsl;
  Tracer tracer("tiny");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32),
       n = tracer.scalar_param("n", i32);
  Tile i = cast(program_id(0), i32) * 128 + dsl::arange(0, 128);
  store(y + i, load(x + i, i < n) + 1.0, i < n);
  return tracer.finish();
}

// The same, by those who write kernels by hand.
dsl::Kernel tiny_kernel() {
  using namespace dsl;
  return Kernel("tiny",
                [](Pointer x, Pointer y, Scalar n, Constexpr block) {
                  Tile i = program_id(0) * block + cast(dsl::arange(0, block), i64);
                  store(y + i, load(x + i, i < n) + 1.0, i < n);
                },
                {"x", "y", "n", "block"});
}
autotune::TunedKernel tiny_tuned_kernel(const dsl::Kernel& kernel) {
  return {kernel,
          {.space = autotune::Space().choose("block", {128}),
           .grid = [](const autotune::KernelCall& call) { return Grid(call["n"] / call["block"]); },
           .key = {"n"}}};
}
dsl::Kernel large_kernel() {
  using namespace dsl;
  return Kernel("large", [](Pointer x, Pointer y, Scalar n) {
    Tile i = program_id(0) * 1024 + cast(dsl::arange(0, 1024), i64);
    store(y + i, exp(load(x + i, i < n)), i < n);
  });
}

struct TinyLaunch {
  explicit TinyLaunch(const Device& device)
      : x(zeros({128}).to(device)),
        y(Tensor::empty({128}, f32, device)),
        artifact(dsl::compile(tiny_program(), device)) {
    arguments = {Argument{.pointer = x.data()}, Argument{.pointer = y.data()},
                 Argument{.integer = 128}};
  }
  Tensor x, y;
  std::shared_ptr<const Artifact> artifact;
  std::vector<Argument> arguments;
};

// Seconds that the host needs to begin each action once, in bursts that the device is waited for
// after, in turns.
std::vector<Timing> host_times(const Device& device,
                               const std::vector<std::function<void()>>& actions,
                               const BenchSettings& settings) {
  int count = settings.tiny ? 4 : burst, rounds = settings.tiny ? 2 : 50;
  std::vector<std::vector<double>> samples(actions.size());
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < actions.size(); ++i) {
      double start = now_s();
      for (int n = 0; n < count; ++n) actions[i]();
      double seconds = (now_s() - start) / count;
      device.synchronize();
      if (round >= 0) samples[i].push_back(seconds);
    }
  std::vector<Timing> times;
  for (auto& list : samples) times.push_back(timing_of(std::move(list)));
  return times;
}

nlohmann::json row_of(const Timing& time) {
  return {{"seconds", time.median},
          {"least", time.least},
          {"p90", time.p90},
          {"rate", time.median * 1e6},
          {"unit", "us"}};
}

// The driver's function with everything prepared: the least that a launch can cost.
std::function<void()> bare_launch(cuda::Context& context, const cuda::PreparedLaunch& prepared) {
  cuda::KernelNodeParams node = prepared.node_params();
  cuda::LaunchConfig config{{node.grid[0], node.grid[1], node.grid[2]},
                            {node.block[0], node.block[1], node.block[2]},
                            node.shared_bytes,
                            context.stream(),
                            nullptr,
                            0};
  return [config, node] {
    cuda::must(cuda::driver().cuLaunchKernelEx(&config, node.function, node.arguments, node.extra),
               "cuLaunchKernelEx");
  };
}

}  // namespace

void bench_launch(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  const Device& device = settings.device;
  TinyLaunch tiny(device);
  std::vector<std::string> names;
  std::vector<std::function<void()>> actions;
  auto add = [&](std::string name, std::function<void()> action) {
    names.push_back(std::move(name));
    actions.push_back(std::move(action));
  };
  std::optional<cuda::PreparedLaunch> prepared;
  if (device.is_cuda()) {
    cuda::Context& context = cuda::context(device.ordinal());
    prepared.emplace(context, *tiny.artifact, Grid(1));
    prepared->set_arguments(tiny.arguments.data());
    add("cuLaunchKernelEx, bare", bare_launch(context, *prepared));
    add("prepared launch", [&] { prepared->start(); });
    add("prepared launch, not early", [&] { prepared->start(false); });
  }
  add("launch of a program",
      [&] { launch_on(device, *tiny.artifact, Grid(1), tiny.arguments.data()); });
  dsl::Kernel kernel = tiny_kernel();
  add("launch of a kernel", [&] { kernel.launch(1, tiny.x, tiny.y, 128, 128); });
  autotune::TunedKernel tuned = tiny_tuned_kernel(kernel);
  if (device == default_device())
    add("launch of a tuned kernel", [&] { tuned.launch(tiny.x, tiny.y, 128); });
  dsl::Kernel large = large_kernel(), checked = large.with(dsl::Check::bounds);
  Tensor from = zeros({1 << 16}).to(device), to = Tensor::empty({1 << 16}, f32, device);
  add("64K elements by a kernel", [&] { large.launch(64, from, to, 1 << 16); });
  add("64K elements by a kernel, bounds checked", [&] { checked.launch(64, from, to, 1 << 16); });
  auto function = [](const Tensor& a) { return a + 1.0; };
  Compiled each = compile(function, {.mode = Mode::default_, .device = device});
  Compiled recorded = compile(function, {.mode = Mode::reduce_overhead, .device = device});
  add("compiled function, default", [&] { each(tiny.x); });
  add("compiled function, reduce-overhead", [&] { recorded(tiny.x); });
  add("eager add", [&] { tiny.x + 1.0; });
  std::vector<Timing> times;  // of all, in turns; made by the first that is wanted
  for (std::size_t i = 0; i < actions.size(); ++i)
    log.run(names[i], [&] {
      if (times.empty()) times = host_times(device, actions, settings);
      nlohmann::json row = row_of(times[i]);
      if (prepared) row["of_bare"] = times[i].median / times.front().median;
      return row;
    });
}

void bench_graphs(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  const Device& device = settings.device;
  if (!device.is_cuda()) return;
  TinyLaunch tiny(device);
  cuda::Context& context = cuda::context(device.ordinal());
  for (int count : settings.tiny ? std::vector{1, 5} : std::vector{1, 10, 100, 300}) {
    log.run(fmt::format("{} tiny kernels", count), [&] {
      std::vector<cuda::PreparedLaunch> launches;
      for (int i = 0; i < count; ++i) {
        launches.emplace_back(context, *tiny.artifact, Grid(1));
        launches.back().set_arguments(tiny.arguments.data());
      }
      cuda::KernelGraph graph(context, launches);
      auto start = [&] { graph.start(); };
      Timing time = device_times(device, {start}, settings.rounds, 2e-3).front();
      std::vector<double> alone;  // on an idle device
      for (int i = 0; i < (settings.tiny ? 2 : 40); ++i) {
        device.synchronize();
        double begin = now_s();
        start();
        alone.push_back(now_s() - begin);
      }
      device.synchronize();
      return nlohmann::json{{"seconds", time.median / count},
                            {"least", time.least / count},
                            {"p90", time.p90 / count},
                            {"rate", time.median / count * 1e6},
                            {"unit", "us a node"},
                            {"host_s", timing_of(alone).median},
                            {"early", launches.front().kernel().waits_by_itself}};
    });
  }
}

}  // namespace tilewright::tools
