// compile_regions: each repeated block of a model is compiled once, by whatever way it is found.
#include "models/layers/compile_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph/compile/region.h"
#include "models/decoder/decoder.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "tests/tensors.h"

namespace tilewright::compile_regions_test {
namespace {

struct Layer : Module {
  Linear linear1{10, 10}, linear2{10, 10};
  Layer() {
    register_module("linear1", linear1);
    register_module("linear2", linear2);
  }
  Tensor forward(const Tensor& x) const { return relu(linear2(sigmoid(relu(linear1(x))))); }
  Tensor operator()(const Tensor& x) const { return forward(x); }
};
// Another class of the same structure, and one of another.
struct Twin : Layer {};
struct Residual : Module {
  Linear linear{10, 10};
  Residual() { register_module("linear", linear); }
  Tensor forward(const Tensor& x) const { return x + tanh(linear(x)); }
  Tensor operator()(const Tensor& x) const { return forward(x); }
};

struct Model : Module {
  Linear linear{10, 10};
  ModuleList<Layer> layers;
  explicit Model(int count) {
    register_module("linear", linear);
    register_module("layers", layers);
    for (int i = 0; i < count; ++i) layers.add();
  }
  Tensor forward(const Tensor& x) {
    Tensor y = linear(x);
    for (std::size_t i = 0; i < layers.size(); ++i) y = layers[i](y);
    return tanh(y);
  }
};

std::vector<std::string> keys_of(const PlanReport& report) {
  std::vector<std::string> keys;
  for (const RegionReport& region : report.regions) keys.push_back(region.key);
  std::ranges::sort(keys);
  return keys;
}

// Compiles and calls the model, and compares with what it is without compiling.
template <typename M>
PlanReport report_of(M& model, const Options& options = {}) {
  auto fast = compile_regions(model, options);
  Tensor x = ramp({10, 10});
  expect_near(fast(x), model.forward(x));
  return fast.report()[0];
}

TEST(CompileRegions, EachBlockIsCompiledOnce) {
  for (int count : {1, 2, 3, 4, 64}) {
    Model model(count);
    const PlanReport report = report_of(model);
    ASSERT_EQ(report.marked.size(), 1U);
    EXPECT_EQ(report.marked[0].name, "Layer");
    EXPECT_EQ(report.marked[0].instances, count);
    EXPECT_EQ(report.marked[0].structures, 1);
    EXPECT_EQ(report.marked[0].programs, 1);
    EXPECT_EQ(report.regions.size(), 3U);  // the linear layer, a block, the tanh
    EXPECT_EQ(report.launches, count + 2);
  }
}

TEST(CompileRegions, WhatRepeatsIsFoundAsByCompileAndByMarks) {
  Model model(64);
  Compiled automatic = compile(model);
  std::vector<Compiled> blocks;
  for (std::size_t i = 0; i < 64; ++i) blocks.push_back(region("block", model.layers[i]));
  Compiled marked = compile([&](const Tensor& x) {
    Tensor y = model.linear(x);
    for (const Compiled& block : blocks) y = block(y);
    return tanh(y);
  });
  Tensor x = ramp({10, 10});
  expect_near(automatic(x), marked(x));
  const PlanReport regional = report_of(model), by_marks = marked.report()[0],
                   whole = automatic.report()[0];
  EXPECT_EQ(keys_of(regional), keys_of(by_marks));
  EXPECT_EQ(regional.launches, by_marks.launches);
  EXPECT_EQ(by_marks.marked[0].structures, 1);
  // Nobody marked the end of the last layer, so that the tanh belongs to it.
  EXPECT_LE(whole.regions.size(), 3U);
}

TEST(CompileRegions, AModelWithoutBlocksIsAsCompiled) {
  Sequential model;
  model.add<Linear>(10, 10);
  model.add<Layer>();
  model.add<Residual>();
  model.add<Linear>(10, 10);
  Compiled plain = compile(model);
  plain(ramp({10, 10}));
  const PlanReport report = report_of(model), whole = plain.report()[0];
  EXPECT_TRUE(report.marked.empty());
  EXPECT_EQ(keys_of(report), keys_of(whole));
  EXPECT_EQ(report.launches, whole.launches);
}

TEST(CompileRegions, MixedListsAreSharedByStructure) {
  Sequential model;
  for (int i = 0; i < 3; ++i) {
    model.add<Layer>();
    model.add<Residual>();
    model.add<Twin>();
  }
  const PlanReport report = report_of(model);
  ASSERT_EQ(report.marked.size(), 3U);
  for (const MarkedRegionReport& region : report.marked) {
    EXPECT_EQ(region.instances, 3);
    EXPECT_EQ(region.structures, 1);
  }
  EXPECT_EQ(report.marked[1].name, "Residual");
  EXPECT_EQ(report.regions.size(), 2U);  // Layer and Twin are one program
}

// Blocks that are lists of blocks: the outer ones are the units.
struct Stage : Module {
  ModuleList<Layer> layers;
  Stage() {
    register_module("layers", layers);
    for (int i = 0; i < 2; ++i) layers.add();
  }
  Tensor forward(const Tensor& x) const {
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) y = layers[i](y);
    return x + y;
  }
};

TEST(CompileRegions, BlocksWithinBlocksBelongToThem) {
  auto model = Sequential::repeat<Stage>(3);
  const PlanReport report = report_of(model);
  ASSERT_EQ(report.marked.size(), 1U);
  EXPECT_EQ(report.marked[0].name, "Stage");
  EXPECT_EQ(report.marked[0].instances, 3);
  EXPECT_EQ(report.marked[0].structures, 1);
}

// A loop that holds a reference to its block.
struct Referring : Model {
  using Model::Model;
  Tensor forward(const Tensor& x) {
    Tensor y = linear(x);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Layer& layer = layers[i];
      y = relu(layer.linear1(y));
      y = layer.linear2(y);
    }
    return exp(y);
  }
};

TEST(CompileRegions, ABlockMayBeReferredTo) {
  Referring model(3);
  const PlanReport report = report_of(model);
  ASSERT_EQ(report.marked.size(), 1U);
  EXPECT_EQ(report.marked[0].instances, 3);
  EXPECT_EQ(report.marked[0].structures, 1);
  auto is_apart = [](const RegionReport& r) { return r.marked.empty(); };
  EXPECT_EQ(std::ranges::count_if(report.regions, is_apart), 2);  // the linear layer and the exp
}

// A loop over the list itself.
struct Walking : Model {
  using Model::Model;
  Tensor forward(const Tensor& x) {
    Tensor y = linear(x);
    for (const Layer& layer : layers) {
      y = relu(layer.linear1(y));
      y = layer.linear2(y);
    }
    return exp(y);
  }
};

TEST(CompileRegions, AListMayBeWalkedThrough) {
  Walking model(3);
  const PlanReport report = report_of(model);
  ASSERT_EQ(report.marked.size(), 1U);
  EXPECT_EQ(report.marked[0].instances, 3);
  auto is_apart = [](const RegionReport& r) { return r.marked.empty(); };
  EXPECT_EQ(std::ranges::count_if(report.regions, is_apart), 2);  // the linear layer and the exp
  std::size_t count = 0;
  for (Layer& layer : model.layers) count += layer.parts().size();
  EXPECT_EQ(count, 3 * model.layers[0].parts().size());
}

TEST(CompileRegions, InEveryModeAndByEveryBackend) {
  Model model(3);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead, Mode::max_autotune})
    EXPECT_EQ(report_of(model, {.mode = mode, .fullgraph = true}).marked[0].structures, 1);
  report_of(model, {.backend = Backend::aot_eager});
  auto eager = compile_regions(model, {.backend = Backend::eager});
  expect_near(eager(ramp({10, 10})), model.forward(ramp({10, 10})));
}

TEST(CompileRegions, FollowsTheModel) {
  Model model(2);
  auto fast = compile_regions(model);
  Tensor x = ramp({10, 10});
  fast(x);
  model.layers[1].linear2.weight = ramp({10, 10});
  expect_near(fast(x), model.forward(x));
  EXPECT_TRUE(fast.recompilations().empty());
  model.layers.add();
  expect_near(fast(x), model.forward(x));
  EXPECT_EQ(fast.recompilations().size(), 1U);
  EXPECT_EQ(fast.report().back().marked[0].instances, 3);
}

TEST(CompileRegions, InsideAnotherCompiledFunction) {
  Model model(3);
  auto fast = compile_regions(model);
  Compiled twice = compile([&](const Tensor& x) { return fast(fast(x)); });
  Tensor x = ramp({10, 10});
  expect_near(twice(x), model.forward(model.forward(x)));
  EXPECT_EQ(twice.report()[0].marked[0].instances, 6);
  EXPECT_EQ(twice.report()[0].marked[0].structures, 1);
}

DecoderConfig small_llama(std::int64_t layers) {
  DecoderConfig config = decoder_config("tiny");
  config.layers = layers;
  return config;
}

PlanReport report_of_decoder(std::int64_t layers, bool is_regional) {
  auto model = random_decoder(small_llama(layers), 7, {.max_positions = 64});
  LanguageModel& language_model = *model;
  auto fast = is_regional ? compile_regions(language_model) : compile(language_model);
  Tensor ids = Tensor::from(std::vector<std::int64_t>{1, 2, 3, 4}, {1, 4});
  expect_near(fast(ids), model->forward(ids));
  return fast.report()[0];
}

TEST(CompileRegions, LayersOfADecoder) {
  std::vector<std::size_t> distinct;
  for (std::int64_t layers : {2, 3, 5}) {
    const PlanReport report = report_of_decoder(layers, true);
    ASSERT_EQ(report.marked.size(), 1U);
    EXPECT_EQ(report.marked[0].name, "DecoderLayer");
    EXPECT_EQ(report.marked[0].instances, layers);
    EXPECT_EQ(report.marked[0].structures, 1);
    distinct.push_back(report.regions.size());
  }
  EXPECT_EQ(distinct[0], distinct[1]);
  EXPECT_EQ(distinct[0], distinct[2]);
}

}  // namespace
}  // namespace tilewright::compile_regions_test
