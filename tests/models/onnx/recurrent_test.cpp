// Recurrent layers of ONNX models: the allowed lengths of sequences, and sizes of their tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::recurrent_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing::onnx;

constexpr int is_int32 = 6;

std::string lengths_of_file(const std::vector<std::int64_t>& lengths) {
  return numbers(1, {std::ssize(lengths)}) + number(2, is_int32) + numbers(5, lengths) +
         bytes(8, "lengths");
}
std::string filled(std::string_view name, const std::vector<std::int64_t>& sizes, float value) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return tensor(name, sizes,
                floats_as_bytes(std::vector<float>(static_cast<std::size_t>(count), value)));
}

struct Recurrent {
  std::string op = "RNN";
  std::int64_t gates = 1, steps = 3;
  std::vector<std::string> nodes = {}, tensors = {}, inputs = {value("lengths", {"2"}, is_int32)};
  std::vector<std::int64_t> bias = {};  // the sizes of one, if there is any
  std::string more = {};

  // A layer of two rows of `steps` steps, one input and one unit; all weights are 1.
  std::string file() const {
    const std::string t = std::to_string(steps);
    GraphParts parts{
        nodes, tensors, inputs, {value("y", {t, "1", "2", "1"}), value("last", {"1", "2", "1"})}};
    parts.inputs.push_back(value("x", {t, "2", "1"}));
    parts.tensors.push_back(filled("w", {1, gates, 1}, 1));
    parts.tensors.push_back(filled("r", {1, gates, 1}, 1));
    if (!bias.empty()) parts.tensors.push_back(filled("b", bias, 0));
    parts.nodes.push_back(node(op, {"x", "w", "r", bias.empty() ? "" : "b", "lengths"},
                               {"y", "last"}, attribute("hidden_size", 1) + more));
    return model(graph_of(parts));
  }
};

class OnnxRecurrent : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModule> load(const Recurrent& layer) {
    return load_onnx(folder_.write("model.onnx", layer.file()));
  }
  ScratchFolder folder_;
};

Tensor lengths(const std::vector<std::int32_t>& n) { return Tensor::from(n, {std::ssize(n)}); }

// One step of relu(x + h) adds 1; elements behind a length are 0, and the last state is the one
// there.
TEST_F(OnnxRecurrent, EndsEachRowAtItsLength) {
  auto module = load({.more = texts("activations", {"Relu"})});
  auto fast = compile(*module);
  for (const std::vector<Tensor>& got : {module->forward({lengths({0, 2}), ones({3, 2, 1})}),
                                         fast({lengths({0, 2}), ones({3, 2, 1})})}) {
    EXPECT_THAT(got[0].to_vector<float>(), ElementsAre(0, 1, 0, 2, 0, 0));
    EXPECT_THAT(got[1].to_vector<float>(), ElementsAre(0, 2));
  }
}

TEST_F(OnnxRecurrent, RefusesLengthsThatAreNone) {
  for (const auto& [op, gates] : {std::pair{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}})
    for (std::int64_t steps : {3, 20}) {  // few are no loop of the graph
      auto module = load({.op = op, .gates = gates, .steps = steps});
      auto fast = compile(*module);
      const Tensor x = ones({steps, 2, 1});
      for (std::int64_t wrong : {steps + 1, std::int64_t{-1}}) {
        const std::vector<Tensor> inputs = {lengths({1, static_cast<std::int32_t>(wrong)}), x};
        const std::string expected = concat("[", op, ", sequence_lens of node \"y\"] length ",
                                            wrong, " is outside ", steps, " steps (at ");
        for (const std::string& error :
             {error_of([&] { module->forward(inputs); }), error_of([&] { fast(inputs); })}) {
          EXPECT_THAT(error, HasSubstr(expected));
          EXPECT_THAT(error, HasSubstr(concat("lengths must be from 0 to ", steps)));
        }
      }
      EXPECT_EQ(fast({lengths({1, static_cast<std::int32_t>(steps)}), x}).size(), 2U);
    }
}

TEST_F(OnnxRecurrent, RefusesLengthsOfTheFileBeforeAnythingRuns) {
  for (std::int64_t wrong : {4, -1}) {
    auto module = load({.tensors = {lengths_of_file({3, wrong})}, .inputs = {}});
    auto fast = compile(*module, {.index_checks = IndexChecks::none});
    for (const std::string& error : {error_of([&] {
                                       module->forward({ones({3, 2, 1})});
                                     }),
                                     error_of([&] {
                                       fast({ones({3, 2, 1})});
                                     })})
      EXPECT_THAT(error, HasSubstr(concat("length ", wrong, " is outside 3 steps")));
  }
}

TEST_F(OnnxRecurrent, RefusesLengthsThatTheModelComputes) {
  auto module = load({.nodes = {node("Add", {"given", "given"}, {"lengths"})},
                      .inputs = {value("given", {"2"}, is_int32)}});
  const std::vector<Tensor> wrong = {lengths({1, 2}), ones({3, 2, 1})},
                            right = {lengths({1, 0}), ones({3, 2, 1})};
  EXPECT_THAT(error_of([&] { module->forward(wrong); }), HasSubstr("length 4 is outside 3 steps"));
  auto checked = compile(*module, {.index_checks = IndexChecks::all});
  EXPECT_THAT(error_of([&] { checked(wrong); }),
              HasSubstr("[RNN, sequence_lens of node \"y\"] length 4 is outside 3 steps"));
  EXPECT_EQ(checked(right)[0].shape(), (Shape{3, 1, 2, 1}));
}

TEST_F(OnnxRecurrent, RefusesTensorsOfOtherSizes) {
  auto error = [&](const Recurrent& layer, const Tensor& given) {
    auto module = load(layer);
    return error_of([&] { module->forward({given, ones({layer.steps, 2, 1})}); });
  };
  const Tensor right = lengths({1, 2});
  EXPECT_THAT(error({.bias = {1, 3}}, right), HasSubstr("B is [1x3]; [1x2] is wanted"));
  EXPECT_THAT(error({.op = "GRU"}, right),
              HasSubstr("X [3x2x1], W [1x1x1] and R [1x1x1] with 1 hidden units; X [TxNxI], "
                        "W [1x3xI] and R [1x3x1] are wanted"));
  EXPECT_THAT(error({.more = texts("activations", {"Strange"})}, right),
              HasSubstr("the activation \"Strange\" is none of Tanh, Sigmoid and Relu"));
  EXPECT_THAT(error({.inputs = {value("lengths", {"3"}, is_int32)}}, lengths({1, 2, 3})),
              HasSubstr("sequence_lens is i32 [3]; integers [2] are wanted"));
}

}  // namespace
}  // namespace tilewright::recurrent_test
