// The section sizes: prompts of many lengths through one compiled function, whose plans share their
// programs, beside a function for each length alone.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tools/bench/device_clock.h"
#include "tools/bench/sections/models.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct SizesCase {
  std::string name;
  DecoderConfig config;
  DType dtype;
  std::vector<std::int64_t> lengths;
};

// One row, as of a step, and by chance from 1 to `most`, always the same.
std::vector<std::int64_t> random_lengths(std::size_t count, std::int64_t most) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> lengths(count);
  for (std::int64_t& length : lengths)
    length = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  lengths.front() = 1;
  return lengths;
}

double relative_difference(const Tensor& a, const Tensor& b) {
  auto x = a.to(f32).to_vector<float>(), y = b.to(f32).to_vector<float>();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max<double>(difference, std::abs(x[i] - y[i]));
    largest = std::max<double>(largest, std::abs(y[i]));
  }
  return difference / largest;
}

double seconds_of(const std::function<void()>& call, const BenchSettings& settings) {
  double start = now_s();
  call();
  settings.device.synchronize();
  return now_s() - start;
}

nlohmann::json measure(const SizesCase& c, const BenchSettings& settings) {
  const std::int64_t most = *std::ranges::max_element(c.lengths);
  Decoder model(c.config, ModelOptions{.max_positions = most, .dtype = c.dtype});
  fill_parameters(model, c.dtype, settings);
  Device device = device_of_tensors(settings);
  Tensor at = position_of(0, device);
  auto step = [&](const Tensor& ids, const Tensor& p) { return model.forward_last(ids, p); };
  auto compiled = [&](Dynamic dynamic) {
    return compile(step, {.mode = settings.mode,
                          .fullgraph = true,
                          .dynamic = dynamic,
                          .max_sizes = static_cast<int>(c.lengths.size()),
                          .device = settings.device});
  };
  Compiled many = compiled(Dynamic::always);
  std::vector<double> first, first_alone, ratios;
  double difference = 0;
  nlohmann::json by_length = nlohmann::json::object();
  for (std::int64_t length : c.lengths) {
    Tensor ids = ids_of(length, c.config, device);
    Compiled alone = compiled(Dynamic::never);
    Tensor ours, theirs;
    first.push_back(seconds_of([&] { ours = many(ids, at).clone(); }, settings));
    first_alone.push_back(seconds_of([&] { theirs = alone(ids, at).clone(); }, settings));
    difference = std::max(difference, relative_difference(ours, theirs));
    std::vector<Timing> times = device_times(
        settings.device, {[&] { many(ids, at); }, [&] { alone(ids, at); }}, settings.rounds);
    ratios.push_back(times[0].median / times[1].median);
    by_length[std::to_string(length)] = ratios.back();
  }
  std::set<std::string> programs;
  std::size_t regions = 0;
  for (const PlanReport& plan : many.report()) {
    regions = std::max(regions, plan.regions.size());
    for (const RegionReport& region : plan.regions) programs.insert(region.key);
  }
  double logs = 0;
  for (double ratio : ratios) logs += std::log(ratio);
  Timing time = timing_of(first);
  const double most_difference = c.dtype == f32 ? 1e-5 : 3e-2;
  return {{"ok", difference <= most_difference},
          {"seconds", time.median},  // of a first call at another length
          {"seconds_alone", timing_of(first_alone).median},
          {"rate", std::exp(logs / static_cast<double>(ratios.size()))},
          {"unit", "of the time of plans for one length"},
          {"worst", *std::ranges::max_element(ratios)},
          {"lengths", c.lengths.size()},
          {"by_length", by_length},
          {"programs", programs.size()},
          {"regions", regions},
          {"difference", difference}};
}

}  // namespace

void bench_sizes(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  // Few layers and words: the layers are what differs.
  auto short_of = [](const char* name, std::int64_t layers) {
    DecoderConfig config = decoder_config(name);
    config.layers = layers;
    config.vocabulary = std::min<std::int64_t>(config.vocabulary, 4096);
    config.bos = -1;
    config.eos = {};
    return config;
  };
  std::vector<SizesCase> cases;
  if (settings.tiny)
    cases.push_back({"llama tiny", short_of("tiny", 1), f32, {8, 17, 20}});
  else
    cases = {
        {"gpt2, 2 layers", short_of("gpt2", 2), f32, random_lengths(20, 512)},
        {"stories260k", short_of("stories260k", 5), f32, random_lengths(20, 256)},
        {"llama3_2_1b, 1 layer", short_of("llama3_2_1b", 1), f32, random_lengths(12, 512)},
        {"llama3_2_1b, 1 layer, bf16", short_of("llama3_2_1b", 1), bf16, random_lengths(12, 512)}};
  for (const SizesCase& c : cases) log.run(c.name, [&] { return measure(c, settings); });
}

}  // namespace tilewright::tools
