// The section sizes: prompts of many lengths, one or several at a time, through one compiled
// function, whose plans share their programs, beside a function for each size alone.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "runtime/base/error.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/sections/models.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

// So many texts at a time, of so many rows.
struct Prompts {
  std::int64_t batch, length;
  bool operator==(const Prompts&) const = default;
};

struct SizesCase {
  std::string name;
  DecoderConfig config;
  DType dtype;
  std::vector<Prompts> prompts;
};

// One row, as of a step, and by chance from 1 to `most`, always the same; then several texts at a
// time, of fewer lengths, which have up to `most` rows together.
std::vector<Prompts> random_prompts(std::size_t count, std::int64_t most) {
  constexpr std::int64_t batches[] = {2, 3, 5, 8};
  std::mt19937_64 random(7);
  std::vector<Prompts> prompts;
  auto add = [&](std::int64_t batch) {
    const auto longest = static_cast<std::uint64_t>(most / batch);
    const Prompts drawn{batch, 1 + static_cast<std::int64_t>(random() % longest)};
    if (std::ranges::find(prompts, drawn) == prompts.end()) prompts.push_back(drawn);
  };
  prompts.push_back({1, 1});
  while (prompts.size() < count) add(1);
  for (std::int64_t batch : batches)
    for (std::size_t i = 0; i < count / 4; ++i) add(batch);
  return prompts;
}

// A model, and a state for each batch.
class ModelOfSizes {
 public:
  ModelOfSizes(const SizesCase& c, const BenchSettings& settings) {
    std::int64_t most = 0;
    for (const Prompts& prompts : c.prompts) most = std::max(most, prompts.length);
    model_ =
        std::make_unique<Decoder>(c.config, ModelOptions{.max_positions = most, .dtype = c.dtype});
    fill_parameters(*model_, c.dtype, settings);
    for (const Prompts& prompts : c.prompts)
      if (auto& state = states_[prompts.batch]; !state) state = model_->new_state(prompts.batch);
  }
  Tensor forward(const Tensor& ids, const Tensor& position) {
    return model_->decode_last(ids, position, *states_.at(ids.size(0)));
  }

 private:
  std::unique_ptr<Decoder> model_;
  std::map<std::int64_t, std::unique_ptr<DecodingState>> states_;
};

double relative_difference(const Tensor& a, const Tensor& b) {
  auto x = a.to(f32).to_vector<float>(), y = b.to(f32).to_vector<float>();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max<double>(difference, std::abs(x[i] - y[i]));
    largest = std::max<double>(largest, std::abs(y[i]));
  }
  return difference / largest;
}

nlohmann::json measure(const SizesCase& c, const BenchSettings& settings) {
  ModelOfSizes models(c, settings);
  Device device = device_of_tensors(settings);
  Tensor at = position_of(0, device);
  auto step = [&](const Tensor& ids, const Tensor& p) { return models.forward(ids, p); };
  auto compiled = [&](Dynamic dynamic) {
    return compile(step, {.mode = settings.mode,
                          .fullgraph = true,
                          .dynamic = dynamic,
                          .max_sizes = static_cast<int>(c.prompts.size()),
                          .device = settings.device});
  };
  Compiled many = compiled(Dynamic::always);
  std::vector<double> first, first_alone, ratios;
  double difference = 0;
  nlohmann::json by_prompts = nlohmann::json::object();
  for (const auto& [batch, length] : c.prompts) {
    const std::vector<Tensor> texts(static_cast<std::size_t>(batch),
                                    ids_of(length, c.config, device));
    Tensor ids = cat(texts, 0);
    Compiled alone = compiled(Dynamic::never);
    Tensor ours, theirs;
    first.push_back(seconds_of(settings.device, [&] { ours = many(ids, at).clone(); }));
    first_alone.push_back(seconds_of(settings.device, [&] { theirs = alone(ids, at).clone(); }));
    difference = std::max(difference, relative_difference(ours, theirs));
    std::vector<Timing> times = device_times(
        settings.device, {[&] { many(ids, at); }, [&] { alone(ids, at); }}, settings.rounds);
    ratios.push_back(times[0].median / times[1].median);
    by_prompts[concat(batch, "x", length)] = ratios.back();
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
          {"seconds", time.median},  // of a first call at another size
          {"seconds_alone", timing_of(first_alone).median},
          {"rate", std::exp(logs / static_cast<double>(ratios.size()))},
          {"unit", "of the time of plans for one size"},
          {"worst", *std::ranges::max_element(ratios)},
          {"sizes", c.prompts.size()},
          {"by_prompts", by_prompts},
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
    cases.push_back({"llama tiny", short_of("tiny", 1), f32, {{1, 8}, {1, 17}, {1, 20}, {3, 8}}});
  else
    cases = {
        {"gpt2, 2 layers", short_of("gpt2", 2), f32, random_prompts(20, 512)},
        {"stories260k", short_of("stories260k", 5), f32, random_prompts(200, 256)},
        {"llama3_2_1b, 1 layer", short_of("llama3_2_1b", 1), f32, random_prompts(12, 512)},
        {"llama3_2_1b, 1 layer, bf16", short_of("llama3_2_1b", 1), bf16, random_prompts(12, 512)}};
  for (const SizesCase& c : cases) log.run(c.name, [&] { return measure(c, settings); });
}

}  // namespace tilewright::tools
