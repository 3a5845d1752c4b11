// Everything that may change between two calls of a compiled function: each change is seen, with
// the result of the function as it is, or is an Error that says what to do.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/quantized.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "tests/errors.h"
#include "tests/graph/noise.h"
#include "tests/graph/staleness_modes.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::staleness_test {
namespace {

using namespace testing_staleness;

using testing_noise::noise;

// So many rows that freezing packs weights.
constexpr std::int64_t rows = 64, width = 32;

struct Dense {
  Tensor weight, bias;
  QuantizedWeight quantized = {};
  explicit Dense(std::uint32_t seed) : weight(noise({width, width}, seed, 0.2F)) {}
  Tensor forward(const Tensor& x) const {
    return weight.defined() ? linear(x, weight, bias) : quantized_linear(x, quantized);
  }
};

// All that the function refers to.
struct World {
  Dense first{1}, second{2}, tied{3};
  std::vector<Dense> layers;
  std::vector<Dense> spare;
  std::unique_ptr<Dense> part = std::make_unique<Dense>(6);
  std::shared_ptr<Dense> shared = std::make_shared<Dense>(7), former = shared;
  std::map<std::string, Tensor> table = {{"a", noise({width}, 8)}, {"b", noise({width}, 9)}};
  Tensor scale = noise({width}, 10), base = noise({4, width}, 11), view = base.select(0, 1);
  Guarded<bool> train{false, "train"};
  Guarded<int> factor{2, "factor"};
  DynamicScalar rate{0.5};
  double plain = 1.5;
  Tensor x = noise({rows, width}, 12), y = noise({rows, width}, 13);

  World() {
    tied.weight = first.weight;
    layers.reserve(4);
    for (std::uint32_t seed : {4, 5}) layers.emplace_back(seed), spare.emplace_back(seed + 20);
  }
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor h = first.forward(a) - second.forward(b) + tied.forward(a);
    for (const Dense& layer : layers) h = layer.forward(h);
    h = h + part->forward(a) * shared->forward(a) + table.at("a");
    h = h * scale + view;
    h = (h + rate * b) * factor.get() + plain * a;
    return train.get() ? h - mean(h, {-1}, true) : h;
  }
};

// `seen`: the next call gives what the function gives. `verified`: no handle says so, and
// `Options::verify_capture` is an Error. `refused`: an Error with this text.
enum class Outcome : std::uint8_t { seen, verified, refused };
struct Change {
  const char* name;
  std::function<void(World&)> make;
  Outcome outcome = Outcome::seen;
  const char* text = "";
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

const Change changes[] = {
    {"AWeightIsAssigned",
     [](World& w) {
       w.first.weight = noise({width, width}, 30);
     }},
    {"AWeightIsWrittenInPlace", [](World& w) { w.second.weight.copy_from(w.first.weight); }},
    {"AWeightIsWrittenThroughAView", [](World& w) { fill(w.second.weight.select(0, 1), 2); }},
    {"AWeightIsWrittenThroughItsPointer",
     [](World& w) { static_cast<float*>(w.scale.data())[1] = 3; }},
    {"AWeightIsOfAnotherSize",
     [](World& w) {
       w.first.weight = w.tied.weight = noise({1, width}, 31);
     }},
    {"AWeightIsOfAnotherType", [](World& w) { w.scale = w.scale.to(f16); }},
    {"AWeightIsOfATypeThatDoesNotFit", [](World& w) { w.first.weight = w.first.weight.to(f16); },
     Outcome::refused, "[linear] operand 1 is f16"},
    {"AWeightIsOfAShapeThatDoesNotFit",
     [](World& w) {
       w.first.weight = noise({width, 3}, 31);
     },
     Outcome::refused, "[linear]"},
    {"AWeightIsTransposed", [](World& w) { w.first.weight = w.first.weight.transpose(0, 1); }},
    {"AWeightLiesElsewhereInItsMemory",
     [](World& w) {
       w.second.weight = noise({2 * width, width}, 32).slice(0, 3, 3 + width);
     }},
    {"AWeightIsMovedFromAndGivenAnew",
     [](World& w) {
       Tensor taken = std::move(w.first.weight);
       w.first.weight = taken * 2;
     }},
    {"AWeightIsGone",
     [](World& w) {
       w.part->weight = {},
       w.part->quantized = quantize(w.scale.expand({width, width}).contiguous());
     }},
    {"TwoHandlesAreSwapped", [](World& w) { std::swap(w.first.weight, w.second.weight); }},
    {"TwoModulesAreSwapped", [](World& w) { std::swap(w.first, w.second); }},
    {"AModuleIsAssigned", [](World& w) { w.first = w.second; }},
    {"ABiasIsAdded", [](World& w) { w.first.bias = noise({width}, 33); }},
    {"ATiedWeightIsUntied", [](World& w) { w.tied.weight = w.tied.weight * 2; }},
    {"AWeightIsTied", [](World& w) { w.second.weight = w.first.weight; }},
    {"AWeightIsQuantised",
     [](World& w) {
       w.first.quantized = quantize(w.first.weight);
       w.first.weight = {};
     }},
    {"ALayerIsAddedWhereTheListGrows",
     [](World& w) {
       w.layers.shrink_to_fit();
       w.layers.emplace_back(34);
     }},
    {"ALayerIsAddedWithinTheCapacity", [](World& w) { w.layers.emplace_back(34); },
     Outcome::verified},
    {"ALayerIsErased", [](World& w) { w.layers.erase(w.layers.begin()); }},
    {"TheLastLayerIsErased", [](World& w) { w.layers.pop_back(); }},
    {"TwoLayersAreSwapped", [](World& w) { std::swap(w.layers[0], w.layers[1]); }},
    {"TheLayersAreAssigned",
     [](World& w) {
       w.layers = {Dense(35), Dense(36)};
     }},
    {"TheLayersAreSwappedWithOthers", [](World& w) { w.layers.swap(w.spare); }, Outcome::verified},
    {"AnOwnedPartIsReplaced", [](World& w) { w.part = std::make_unique<Dense>(37); }},
    {"ASharedPartIsReplacedWhileTheFormerLives",
     [](World& w) { w.shared = std::make_shared<Dense>(38); }, Outcome::verified},
    {"ASharedPartIsReplacedAndTheFormerGone",
     [](World& w) {
       w.former.reset();
       w.shared = std::make_shared<Dense>(38);
     }},
    {"AnEntryOfAMapIsAssigned", [](World& w) { w.table["a"] = w.table["b"]; }},
    {"AnEntryOfAMapIsErasedAndInserted",
     [](World& w) {
       w.table.erase("a");
       w.table["a"] = noise({width}, 39);
     }},
    {"WhatAViewIsOfIsWritten", [](World& w) { fill(w.base, 0.25F); }},
    {"AViewIsOfAnotherPlace", [](World& w) { w.view = w.base.select(0, 2); }},
    {"WhatAViewIsOfIsAssigned",
     [](World& w) {
       w.base = noise({4, width}, 40);
       w.view = w.base.select(0, 1);
     }},
    {"AGuardedFlagIsSet", [](World& w) { w.train = true; }},
    {"AGuardedNumberIsSet", [](World& w) { w.factor = 5; }},
    {"ADynamicScalarIsSet", [](World& w) { w.rate.set(0.125); }},
    {"APlainNumberIsSet", [](World& w) { w.plain = 2.5; }, Outcome::verified},
    {"AnArgumentHasOtherStrides",
     [](World& w) {
       w.x = noise({width, rows}, 41).transpose(0, 1);
     }},
    {"AnArgumentLiesElsewhereInItsMemory",
     [](World& w) {
       w.x = noise({rows + 3, width}, 42).slice(0, 3, rows + 3);
     }},
    {"AnArgumentBeginsAnywhere",
     [](World& w) {
       w.x = noise({rows * width + 1}, 43).slice(0, 1, rows * width + 1).view({rows, width});
     }},
    {"AnArgumentIsOfOtherSizes",
     [](World& w) {
       w.x = noise({rows + 1, width}, 44), w.y = noise({rows + 1, width}, 45);
     }},
    {"AnArgumentIsOfAnotherRank",
     [](World& w) {
       w.x = noise({2, rows, width}, 46);
     }},
    {"AnArgumentIsOfAnotherType", [](World& w) { w.y = w.y.to(f64); }, Outcome::refused,
     "[linear]"},
    {"TheArgumentsAreOneTensor", [](World& w) { w.x = w.y; }},
    {"TheArgumentsOverlap",
     [](World& w) {
       Tensor both = noise({rows + 1, width}, 47);
       w.x = both.slice(0, 0, rows), w.y = both.slice(0, 1, rows + 1);
     }},
    {"AnArgumentIsAWeight", [](World& w) { w.x = w.y = w.second.weight; }},
    {"AnArgumentIsAWrittenOne", [](World& w) { fill(w.x, 0.5F); }},
    {"ThePassesThatRunAreOthers",
     [](World&) { setenv("TILEWRIGHT_SKIP_PASSES", "graph.canonicalise", 1); }},
    {"TheStanceIsEager", [](World&) { set_stance(Stance::force_eager); }},
};

class Staleness : public testing::TestWithParam<std::tuple<Change, int>> {
 protected:
  Setting passes_{"TILEWRIGHT_SKIP_PASSES", nullptr}, tuning_{"TILEWRIGHT_TUNE_DB", "off"};
  StanceScope stance_{Stance::compile};
};

// Twice, since what is compiled after the change must be seen to stay.
void expect_seen(const Compiled& fast, World& world) {
  for (int call = 0; call < 2; ++call) {
    Tensor actual = fast(world.x, world.y), expected = world.forward(world.x, world.y);
    ASSERT_EQ(actual.shape(), expected.shape());
    ASSERT_EQ(actual.dtype(), expected.dtype());
    EXPECT_LT(relative_difference(actual.to_vector<float>(), expected.to_vector<float>()), 2e-5);
  }
}

TEST_P(Staleness, AChangeIsSeenOrAnError) {
  const auto& [change, mode] = GetParam();
  World world;
  Options options = modes[mode];
  options.verify_capture = change.outcome == Outcome::verified ? 1 : 0;
  Compiled fast =
      compile([&](const Tensor& x, const Tensor& y) { return world.forward(x, y); }, options);
  ASSERT_NO_FATAL_FAILURE(expect_seen(fast, world));
  std::string said = error_of([&, &change = change] { change.make(world); });
  // Memory that freezing has copied must not be written.
  if (options.freezing && said != "no error") return expect_contains(said, "frozen");
  ASSERT_EQ(said, "no error");
  if (change.outcome == Outcome::seen) return expect_seen(fast, world);
  expect_contains(error_of([&] { fast(world.x, world.y); }),
                  change.outcome == Outcome::verified
                      ? "[compile] verify_capture: at staleness_test"
                      : change.text);
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<Change, int>>& info) {
  return std::string(std::get<0>(info.param).name) + mode_names[std::get<1>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Between, Staleness,
                         testing::Combine(testing::ValuesIn(changes), testing::Range(0, 3)),
                         name_of_case);

}  // namespace
}  // namespace tilewright::staleness_test
