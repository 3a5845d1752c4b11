// The section profile: the launches of a step one by one, each between two events.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/launch.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/sections/models.h"

namespace tilewright::tools {
namespace {

// The steps of an executable that can be run one by one, with memory of their own for what they
// write.
class SingleSteps {
 public:
  SingleSteps(std::shared_ptr<const Executable> executable, const std::vector<void*>& inputs)
      : executable_(std::move(executable)), memory_{allocate_outputs(*executable_)} {
    const Executable& e = *executable_;
    arena_ = Buffer::allocate(std::max<std::int64_t>(e.arena_bytes, 1), e.memory);
    memory_.arena = static_cast<std::byte*>(arena_->data());
    for (const ArgumentSlot& slot : e.slots)
      arguments_.push_back(argument_at(e, slot, inputs, memory_));
    if (e.gpu < 0) return;
    cuda::Context& context = cuda::context(e.gpu);
    for (const ExecutableStep& step : e.steps) {
      const ExecutableKernel& kernel = e.kernels[step.kernel];
      prepared_.emplace_back(context, *(step.grids == 1 ? kernel.single : kernel.batched),
                             e.grids_of(step));
      prepared_.back().set_arguments(arguments_.data() + step.first_slot);
    }
  }
  std::size_t size() const { return executable_->steps.size(); }
  const std::string& kernel(std::size_t i) const {
    return executable_->kernels[executable_->steps[i].kernel].name;
  }
  void run(std::size_t i) {
    const ExecutableStep& step = executable_->steps[i];
    if (!prepared_.empty())
      prepared_[i].start(false);
    else
      run_step(*executable_, step, arguments_.data() + step.first_slot);
  }

 private:
  std::shared_ptr<const Executable> executable_;
  ExecutableMemory memory_;
  std::shared_ptr<Buffer> arena_;
  std::vector<Argument> arguments_;
  std::vector<cuda::PreparedLaunch> prepared_;
};

nlohmann::json profile_of(Decoder& model, std::int64_t rows, const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  Tensor ids = ids_of(rows, model.config(), device);
  Tensor position = position_of(rows == 1 ? step_sizes(settings).context : 0, device);
  auto state = model.new_state();
  graph::Captured captured = [&] {
    graph::Capture capture;
    Tensor a = capture.placeholder(i64, ids.shape()), b = capture.placeholder(i64, {1});
    return capture.finish({model.decode_last(a, b, *state)});
  }();
  std::vector<void*> inputs = {ids.data(), position.data()};
  for (const Tensor& tensor : captured.captured) inputs.push_back(tensor.data());
  SingleSteps launches(
      graph::make_plan(graph::run_passes(captured.graph, {.target = settings.device.target()}),
                       {.device = settings.device})
          ->executable(),
      inputs);

  // First something long, during which the host gets ahead of the device.
  std::int64_t size = settings.tiny ? 64 : std::int64_t{1} << 30;
  Tensor filled = Tensor::empty({size}, u8, device);
  std::vector<std::function<void()>> actions = {[&] {
    for (int i = 0; i < 4; ++i)
      if (device.is_cuda()) cuda::context(device.ordinal()).fill(filled.data(), 0, size);
  }};
  for (std::size_t i = 0; i < launches.size(); ++i)
    actions.push_back([&launches, i] { launches.run(i); });
  std::vector<Timing> times = device_times(device, actions, settings.rounds, 0);

  std::map<std::string, std::pair<int, double>> kernels;
  double total = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    auto& [count, seconds] = kernels[launches.kernel(i)];
    ++count;
    seconds += times[i + 1].median;
    total += times[i + 1].median;
  }
  std::vector<nlohmann::json> sorted;
  for (const auto& [name, cost] : kernels)
    sorted.push_back({{"kernel", name},
                      {"launches", cost.first},
                      {"seconds", cost.second},
                      {"share", cost.second / total}});
  std::ranges::sort(sorted, std::greater(),
                    [](const nlohmann::json& k) { return k["seconds"].get<double>(); });
  return {{"seconds", total}, {"launches", launches.size()}, {"kernels", sorted}};
}

}  // namespace

void bench_profile(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  std::string name = model_names(settings).front();
  for (const WeightCase& weights : weight_cases(decoder_config(name), settings)) {
    std::unique_ptr<Decoder> model;
    auto profile = [&](std::int64_t rows, const std::string& what) {
      log.run(fmt::format("{} {}{}", name, weights.name, what), [&] {
        if (model == nullptr) model = model_on_device(name, weights, settings);
        return profile_of(*model, rows, settings);
      });
    };
    const std::int64_t prompt = step_sizes(settings).prompts.back();
    if (weights.has_own_step()) profile(1, "decode step");
    profile(prompt, fmt::format("prompt of {}", prompt));
  }
}

}  // namespace tilewright::tools
