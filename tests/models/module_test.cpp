#include "models/layers/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/tensor/tensor_body.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "models/layers/random.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::module_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ScratchFolder;

struct Block : Module {
  Linear linear1{2, 3}, linear2{3, 2, false};
  Block() {
    register_module("linear1", linear1);
    register_module("linear2", linear2);
  }
  Tensor forward(const Tensor& x) const { return linear2(relu(linear1(x))); }
};
struct Stack : Module {
  ModuleList<Block> layers;
  RmsNorm norm{2};
  explicit Stack(int count) {
    for (int i = 0; i < count; ++i) layers.add();
    register_module("layers", layers);
    register_module("norm", norm);
  }
};
std::vector<std::string> names_of(Module& module) {
  std::vector<std::string> names;
  for (const auto& parameter : module.named_parameters()) names.push_back(parameter.name);
  return names;
}

// All of the weights' bytes, parameter by parameter, as they are stored.
TEST(Load, TellsHowFarItHasCome) {
  Stack from(2), into(2);
  auto state = from.state();
  state["norm.weight"] = Tensor::empty({2}, bf16);
  fill_value(state["norm.weight"], 0.5);
  std::vector<std::string> begun;
  std::int64_t done = 0, total = 0;
  into.load(Weights::of(state), {.progress = [&](const LoadProgress& progress) {
              if (begun.empty() || begun.back() != progress.name) begun.emplace_back(progress.name);
              EXPECT_GE(progress.bytes_done, done);
              done = progress.bytes_done;
              total = progress.bytes_total;
            }});
  EXPECT_EQ(begun, names_of(into));
  EXPECT_EQ(total, 2 * (6 + 3 + 6) * 4 + 2 * 2);
  EXPECT_EQ(done, total);
  EXPECT_EQ(into.norm.weight.to_vector<float>(), (std::vector<float>{0.5, 0.5}));
}

TEST(Module, JoinsNamesOfPartsWithDots) {
  Stack stack(2);
  EXPECT_EQ(names_of(stack),
            (std::vector<std::string>{"layers.0.linear1.weight", "layers.0.linear1.bias",
                                      "layers.0.linear2.weight", "layers.1.linear1.weight",
                                      "layers.1.linear1.bias", "layers.1.linear2.weight",
                                      "norm.weight"}));
  EXPECT_EQ(stack.parameter_count(), 2 * (6 + 3 + 6) + 2);
}

TEST(Module, SequentialRepeatsALayerUnderNumbers) {
  auto model = Sequential::repeat<Block>(64);
  EXPECT_EQ(model.size(), 64U);
  EXPECT_EQ(names_of(model).size(), 64 * 3U);
  EXPECT_EQ(names_of(model).back(), "63.linear2.weight");
  auto sized = Sequential::repeat<Linear>(2, 4, 4);
  EXPECT_EQ(names_of(sized).front(), "0.weight");
}

TEST(Module, LoadCopiesAndConvertsInPlace) {
  Linear source(2, 2), target(2, 2);
  void* memory = target.weight.data();
  target.load(Weights::of(source.state()));
  EXPECT_EQ(target.weight.to_vector<float>(), source.weight.to_vector<float>());
  EXPECT_EQ(target.weight.data(), memory);
  target.load(
      Weights::of({{"weight", Tensor::from<Half>({Half(1), Half(2), Half(3), Half(4)}, {2, 2})},
                   {"bias", Tensor::from<double>({0.5, -0.5}, {2})}}));
  EXPECT_EQ(target.weight.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(target.bias.to_vector<float>(), (std::vector<float>{0.5, -0.5}));
}

TEST(Module, ASavedStateLoadsAgain) {
  ScratchFolder folder;
  Stack first(2), second(2);
  save_safetensors(folder.path() / "model.safetensors", first.state());
  second.load(Weights::open(folder.path()));
  for (const auto& [name, tensor] : first.named_parameters())
    EXPECT_EQ(second.state().at(name).to_vector<float>(), tensor.to_vector<float>()) << name;
}

TEST(Module, LoadListsWhatIsMissingUnexpectedOrOfAnotherShape) {
  Stack stack(1);
  auto state = stack.state();
  state.erase("layers.0.linear1.bias");
  state["norm.weight"] = Tensor::from<float>({1, 2, 3}, {3});
  state["extra"] = Tensor::scalar(1.0F);
  std::vector<float> before = stack.norm.weight.to_vector<float>();
  std::string error = error_of([&] { stack.load(Weights::of(state)); });
  EXPECT_THAT(error, HasSubstr("[load] the weights do not fit the model: "
                               "no weights for: layers.0.linear1.bias; "));
  EXPECT_THAT(error, HasSubstr("no parameter for: extra; "));
  EXPECT_THAT(error, HasSubstr("another shape: norm.weight (3, the model has 2)"));
  EXPECT_EQ(stack.norm.weight.to_vector<float>(), before);
}

TEST(Module, LoadNamesFrozenParametersBeforeAnythingIsWritten) {
  Linear layer(4, 4), source(4, 4);
  auto packed = layer.bias.body()->buffer;
  packed->forbid_writes();
  auto before = layer.weight.to_vector<float>();
  source.weight.copy_from(full({4, 4}, 7));
  std::string error = error_of([&] { layer.load(Weights::of(source.state())); });
  EXPECT_THAT(error, HasSubstr("[load] frozen: bias; functions compiled with Options::freezing"));
  EXPECT_THAT(error, HasSubstr("module_test.cpp:"));
  EXPECT_EQ(layer.weight.to_vector<float>(), before);
  layer.load(Weights::of({{"weight", source.weight}}), {.strict = false});
  EXPECT_EQ(layer.weight.to_vector<float>()[0], 7);
}

TEST(Module, LoadThatIsNotStrictTakesWhatThereIs) {
  Linear layer(2, 2);
  Weights weights =
      Weights::of({{"bias", Tensor::from<float>({7, 8}, {2})}, {"other", Tensor::scalar(1.0F)}});
  layer.load(weights, {.strict = false});
  EXPECT_EQ(layer.bias.to_vector<float>(), (std::vector<float>{7, 8}));
  EXPECT_THAT(error_of([&] { layer.load(weights, {.ignore = [](auto) { return true; }}); }),
              HasSubstr("no weights for: weight"));
}

TEST(Module, LongListsOfNamesAreCut) {
  Stack stack(5);
  EXPECT_THAT(error_of([&] { stack.load(Weights()); }), HasSubstr("and 8 more"));
}

TEST(Layers, DrawInitialWeightsInPytorchsRanges) {
  manual_seed(3);
  Linear layer(100, 50);
  float low = 1, high = -1;
  for (float w : layer.weight.to_vector<float>()) low = std::min(low, w), high = std::max(high, w);
  EXPECT_GE(low, -0.1F);
  EXPECT_LE(high, 0.1F);
  EXPECT_LT(low, -0.09F);
  EXPECT_GT(high, 0.09F);
  Linear other(100, 50);
  EXPECT_NE(other.weight.to_vector<float>(), layer.weight.to_vector<float>());
  manual_seed(3);
  EXPECT_EQ(Linear(100, 50).weight.to_vector<float>(), layer.weight.to_vector<float>());
}

// The line of this file that called the layer.
template <typename F>
void expect_error_here(F&& call, std::string_view before, std::string_view after, int line) {
  EXPECT_EQ(error_of(call), concat(before, " (at module_test.cpp:", line, ")", after));
}

TEST(Layers, RefuseSizesAndInputsThatDoNotFit) {
  Linear layer(3, 2);
  Tensor x = Tensor::from<float>({1, 2}, {1, 2});
  expect_error_here([&] { layer(x); }, "[linear] the input is 1x2", "; its last axis must be 3",
                    __LINE__ - 1);
  expect_error_here([&] { RmsNorm(3)(x); }, "[rms_norm] the input is 1x2",
                    "; its last axis must be 3", __LINE__ - 1);
  expect_error_here([&] { LayerNorm(3)(x); }, "[layer_norm] the input is 1x2",
                    "; its last axis must be 3", __LINE__ - 1);
  expect_error_here([&] { layer({}); }, "[linear] the input is an undefined tensor",
                    "; its last axis must be 3", __LINE__ - 1);
  Linear without(2, 2);
  without.weight = Tensor();
  expect_error_here([&] { without(x); }, "[linear] the weight is an undefined tensor",
                    "; assign one of 2 columns", __LINE__ - 1);
  expect_error_here([&] { Embedding(4, 2)(x); }, "[embedding] ids are f32 1x2",
                    "; integers are needed", __LINE__ - 1);
  expect_error_here([] { Linear(0, 2); }, "[linear] sizes 0 and 2", "; sizes above 0 are needed",
                    __LINE__ - 1);
  expect_error_here([] { Embedding(4, -1); }, "[embedding] sizes 4 and -1",
                    "; sizes above 0 are needed", __LINE__ - 1);
  expect_error_here([&] { Linear{Tensor::empty({3})}; }, "[linear] shared weights are 3",
                    "; they must be [out, in]", __LINE__ - 1);
  Embedding words(4, 2);
  EXPECT_THAT(error_of([&] { words(Tensor::from<std::int64_t>({4}, {1})); }),
              HasSubstr(concat("module_test.cpp:", __LINE__ - 1)));
}

TEST(Module, QuantisingNothingIsAnError) {
  Stack stack(1);
  EXPECT_THAT(error_of([&] { stack.norm.quantize({}); }),
              AllOf(HasSubstr("[quantize] the module \"norm\" has no linear layer"),
                    HasSubstr("its parameters: weight (at module_test.cpp:")));
  EXPECT_THAT(error_of([] { Module().quantize({}); }),
              HasSubstr("[quantize] the module has no linear layer, whose weights would become "
                        "integers; its parameters: none (at"));
  stack.quantize({});  // the norm's weight stays as it is
  EXPECT_TRUE(stack.norm.weight.defined());
}

TEST(Module, ErrorsNameThePartAndTheCallersLine) {
  Stack stack(2);
  EXPECT_EQ(stack.path(), "");
  EXPECT_EQ(stack.layers[1].linear2.path(), "layers.1.linear2");
  Tensor x = Tensor::from<float>({1, 2}, {1, 2});
  expect_error_here([&] { stack.layers[1].linear2(x); },
                    "[linear] layers.1.linear2: the input is 1x2", "; its last axis must be 3",
                    __LINE__ - 2);
  int line = __LINE__ + 1;
  std::string uneven = error_of([&] { stack.quantize({.group_size = 2}); });
  EXPECT_THAT(uneven, AllOf(HasSubstr("groups of 2 do not divide rows of 3"),
                            HasSubstr(concat("(at module_test.cpp:", line, ")")),
                            HasSubstr("the weights are \"layers.0.linear2.weight\"")));
  line = __LINE__ + 1;
  std::string twice = error_of([&] { stack.quantize({}); });
  EXPECT_EQ(twice,
            concat("[quantize] the weights \"layers.0.linear1.weight\" are quantised already "
                   "(at module_test.cpp:",
                   line, "); quantise a model once"));
  EXPECT_THAT(error_of([&] { Stack(1).load(Weights()); }),
              HasSubstr(concat("(at module_test.cpp:", __LINE__ - 1, ")")));
}

}  // namespace
}  // namespace tilewright::module_test
