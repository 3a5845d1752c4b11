// The section optim: one step of AdamW on all parameters of a model, as one compiled function that
// writes parameters and moments in place.
#include <algorithm>
#include <deque>
#include <functional>

#include "models/optimizers/rules/adam.h"
#include "tools/bench/adamw.h"
#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/kernel_case.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

// A step on parameters of these shapes: beside peers and the limit of copying on a host.
nlohmann::json timed_step(const std::function<void()>& action, double bytes,
                          const std::vector<Shape>& shapes, const BenchSettings& settings) {
  nlohmann::json row;
  if (is_host(settings)) {
    nlohmann::json question = {{"op", "adamw"}, {"shapes", nlohmann::json::array()}};
    for (const Shape& shape : shapes)
      question["shapes"].push_back(std::vector(shape.begin(), shape.end()));
    time_beside(row,
                {.ours = action, .work = bytes, .question = question, .limit = HostLimit::copy},
                settings);
  } else {
    const Timing time = device_times(settings.device, {action}, settings.rounds).front();
    row = {{"seconds", time.median}, {"least", time.least}, {"p90", time.p90}};
  }
  return row;
}

using State = AdamwState;

State on(const Device& device, const State& s) {
  auto copy = [&](const Tensor& t) { return t.device() == device ? t.clone() : t.to(device); };
  return {copy(s.parameter), copy(s.gradient), copy(s.first), copy(s.second)};
}

nlohmann::json measure(const std::vector<Shape>& shapes, const BenchSettings& settings) {
  RandomData data(settings.device.memory() != nullptr ? settings.device : Device::cpu());
  std::vector<State> states;
  double elements = 0;
  for (const Shape& shape : shapes) {
    states.push_back(
        {data.make(f32, shape), data.make(f32, shape), data.make(f32, shape, 0.1), Tensor()});
    Tensor root = data.make(f32, shape, 0.1).to(Device::cpu());
    states.back().second = square(root).to(states.back().first.device());
    elements += static_cast<double>(element_count(shape));
  }
  Tensor corrections = Tensor::from(std::vector<float>{0.2F, 0.02F}, {2});
  State expected = on(Device::cpu(), states.back());
  adamw(expected, corrections);
  corrections = corrections.to(states.front().first.device());
  Compiled step = compile(
      [&](const Tensor& c) {
        for (State& s : states) adamw(s, c);
        return c + 0.0;
      },
      {.mode = settings.mode, .fullgraph = true, .device = settings.device});
  double start = now_s();
  step(corrections);
  settings.device.synchronize();
  double first_call_s = now_s() - start;
  double error = std::max({relative_error(states.back().parameter, expected.parameter),
                           relative_error(states.back().first, expected.first),
                           relative_error(states.back().second, expected.second)});
  double bytes = 28 * elements;  // reads p, g, m, v; writes p, m, v
  auto action = [&] { step(corrections); };
  nlohmann::json row = timed_step(action, bytes, shapes, settings);
  row.update({{"bytes", bytes},
              {"rate", bytes / 1e9 / row["seconds"].get<double>()},
              {"unit", "GB/s"},
              {"error", error},
              {"launches", step.report().front().launches},
              {"first_call_s", first_call_s},
              {"ok", error <= 1e-5}});
  return row;
}

// The optimizer of models/optimizers, whose settings and corrections are computed on the device.
nlohmann::json measure_optimizer(const std::vector<Shape>& shapes, const BenchSettings& settings) {
  RandomData data(settings.device.memory() != nullptr ? settings.device : Device::cpu());
  std::deque<Tensor> parameters;
  std::vector<NamedParameter> named;
  std::vector<Tensor> gradients;
  double elements = 0;
  for (const Shape& shape : shapes) {
    parameters.push_back(data.make(f32, shape));
    gradients.push_back(data.make(f32, shape));
    named.push_back({std::to_string(named.size()), parameters.back()});
    elements += static_cast<double>(element_count(shape));
  }
  AdamW optimizer(named, {.lr = 1e-3, .weight_decay = 0.01});
  auto step = compile(
      [&](const Tensor& scale) {
        optimizer.step(gradients);
        return optimizer.steps() * scale;
      },
      {.mode = settings.mode, .fullgraph = true, .device = settings.device});
  const Tensor one = full({}, 1, f64).clone();
  const double start = now_s();
  step(one);
  settings.device.synchronize();
  const double first_call_s = now_s() - start, bytes = 28 * elements;
  auto action = [&] { step(one); };
  nlohmann::json row = timed_step(action, bytes, shapes, settings);
  row.update({{"tensors", shapes.size()},
              {"bytes", bytes},
              {"rate", bytes / 1e9 / row["seconds"].get<double>()},
              {"unit", "GB/s"},
              {"launches", step.report().front().launches},
              {"first_call_s", first_call_s}});
  return row;
}

std::vector<Shape> many_shapes() {
  std::vector<Shape> shapes;
  for (std::int64_t i = 0; i < 1354; ++i) {
    const std::int64_t rows = 64 + 8 * (i % 7);
    shapes.push_back(i % 2 == 0 ? Shape{rows, 48} : Shape{rows});
  }
  return shapes;
}

}  // namespace

void bench_optim(BenchLog& log) {
  if (log.settings().tiny) {
    log.run("AdamW tiny", [&] { return measure({{40, 8}, {8}, {40, 8}}, log.settings()); });
    return log.run("optimizer AdamW tiny", [&] {
      return measure_optimizer({{40, 8}, {8}, {40, 8}}, log.settings());
    });
  }
  log.run("optimizer AdamW gpt2-124M",
          [&] { return measure_optimizer(gpt2_parameter_shapes(), log.settings()); });
  log.run("optimizer AdamW 1354 tensors",
          [&] { return measure_optimizer(many_shapes(), log.settings()); });
  log.run("AdamW gpt2-124M", [&] { return measure(gpt2_parameter_shapes(), log.settings()); });
  log.run("AdamW 300 x 1000",
          [&] { return measure(std::vector<Shape>(300, {1000}), log.settings()); });
  log.run("AdamW 10 x 1024x1024", [&] {
    return measure(std::vector<Shape>(10, {1024, 1024}), log.settings());
  });
}

}  // namespace tilewright::tools
