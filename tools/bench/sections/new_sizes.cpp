// The section new_sizes: the cost of a size that was not seen before, beside its call.
#include <algorithm>
#include <numeric>
#include <random>

#include "models/layers/containers.h"
#include "models/layers/transformer.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/sections/models.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct EncoderSizes {
  std::int64_t layers, width, heads, inner, words;
};

// An encoder of texts: words and places, normed, and layers that see what is no padding.
class TextEncoder : public Module {
 public:
  TextEncoder(const EncoderSizes& sizes, std::int64_t most)
      : words_(sizes.words, sizes.width), places_(most, sizes.width), norm_(sizes.width) {
    register_module("words", words_);
    register_module("places", places_);
    register_module("norm", norm_);
    for (std::int64_t i = 0; i < sizes.layers; ++i)
      layers_.add(sizes.width, sizes.heads,
                  TransformerEncoderLayerOptions{
                      .inner = sizes.inner, .activation = Activation::gelu, .batch_first = true});
    register_module("layers", layers_);
  }
  Tensor forward(const Tensor& ids, const Tensor& padding) {
    Tensor x = norm_(words_(ids) + places_.weight.slice(0, 0, ids.size(1)));
    for (TransformerEncoderLayer& layer : layers_) x = layer(x, {.key_padding_mask = padding});
    return x;
  }

 private:
  Embedding words_, places_;
  LayerNorm norm_;
  ModuleList<TransformerEncoderLayer> layers_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Texts of these lengths in random order, always the same.
std::vector<std::int64_t> shuffled(std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(most - least + 1));
  std::iota(lengths.begin(), lengths.end(), least);
  std::mt19937_64 random(5);
  for (std::size_t i = lengths.size(); i > 1; --i)
    std::swap(lengths[i - 1], lengths[static_cast<std::size_t>(random() % i)]);
  return lengths;
}

nlohmann::json measure(const EncoderSizes& sizes, const std::vector<std::int64_t>& lengths,
                       const BenchSettings& settings) {
  constexpr std::size_t first_sizes = 10;
  constexpr int repeats = 3;
  const Device device = device_of_tensors(settings);
  TextEncoder model(sizes, *std::ranges::max_element(lengths));
  fill_parameters(model, f32, settings);
  model.eval();
  Compiled fast =
      compile([&](const Tensor& ids, const Tensor& padding) { return model.forward(ids, padding); },
              {.mode = settings.mode,
               .fullgraph = true,
               .dynamic = Dynamic::always,
               .device = settings.device});
  std::vector<double> first, again, costs;
  for (std::int64_t length : lengths) {
    const Tensor ids = (arange(0, length) * 7 % sizes.words).reshape({1, length}).to(device);
    const Tensor padding = (arange(0, length) >= length).reshape({1, length}).to(device);
    auto call = [&] { fast(ids, padding); };
    const double cold = seconds_of(settings.device, call);
    std::vector<double> repeated;
    for (int i = 0; i < repeats; ++i) repeated.push_back(seconds_of(settings.device, call));
    const double warm = timing_of(repeated).median;
    if (costs.size() >= first_sizes) {
      first.push_back(cold);
      again.push_back(warm);
    }
    costs.push_back(std::max(0.0, cold - warm));
  }
  std::vector<double> late(costs.begin() + first_sizes, costs.end()), capture, lower, code;
  const double early = mean_of({costs.begin(), costs.begin() + first_sizes});
  for (const PlanReport& plan : fast.report()) {
    capture.push_back(plan.capture_seconds);
    lower.push_back(plan.lower_seconds);
    code.push_back(plan.compile_seconds);
  }
  const double mean = mean_of(late), call = mean_of(again);
  return {{"ok", true},
          {"seconds", timing_of(late).median},  // that a new size costs
          {"mean_seconds", mean},
          {"first_sizes_seconds", early},
          {"call_seconds", call},
          {"rate", mean / call},
          {"unit", "of a call, after the first ten sizes"},
          {"sizes", lengths.size()},
          {"capture_seconds", timing_of(capture).median},
          {"lower_seconds", timing_of(lower).median},
          {"compile_seconds", timing_of(code).median}};
}

}  // namespace

void bench_new_sizes(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  if (settings.tiny) {
    log.run("encoder, 1 layer", [&] {
      return measure({1, 32, 2, 64, 100}, shuffled(8, 23), settings);
    });
    return;
  }
  log.run("bert of 6 layers, 384 wide", [&] {
    return measure({6, 384, 12, 1536, 4096}, shuffled(32, 255), settings);
  });
  log.run("bert of 6 layers, 768 wide", [&] {
    return measure({6, 768, 12, 3072, 4096}, shuffled(32, 255), settings);
  });
}

}  // namespace tilewright::tools
