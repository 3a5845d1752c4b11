// The state of loaded programs that train, and their mode. The numbers are those of PyTorch 2.15
// for images.pt2 (tools/program_gradient_cases.py): a convolution and a batch norm in training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "models/layers/gradients.h"
#include "models/onnx/onnx_module.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"
#include "tests/errors.h"
#include "tests/models/exported_files.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::program_training_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const std::vector<float> means = {0.0199008F, 0.0057991F, 0.0127993F, 0.0020779F},
                         variances = {0.9245126F, 0.9298569F, 0.9251540F, 0.9165480F};

std::filesystem::path file_of(const std::string& name) {
  return source_folder() / "tests/models/gradients" / name;
}
Tensor images() { return Safetensors::open(file_of("images.safetensors")).tensor("in.0"); }

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

void expect_trained(const NamedTensors& state) {
  EXPECT_THAT(state.at("norm.running_mean").to_vector<float>(),
              Pointwise(::testing::FloatNear(1e-6F), means));
  EXPECT_THAT(state.at("norm.running_var").to_vector<float>(),
              Pointwise(::testing::FloatNear(1e-6F), variances));
  EXPECT_EQ(state.at("norm.num_batches_tracked").item<std::int64_t>(), 1);
}

TEST(ProgramTraining, SavesAndLoadsBuffersUnderPyTorchsNames) {
  ScratchFolder folder;
  auto model = load_exported(file_of("images.pt2"));
  EXPECT_THAT(
      names_of(model->state()),
      ElementsAre("convolution.bias", "convolution.weight", "norm.bias", "norm.num_batches_tracked",
                  "norm.running_mean", "norm.running_var", "norm.weight"));
  EXPECT_EQ(differentiable_parameters(*model).size(), 4U);
  model->forward({images()});
  expect_trained(model->state());
  save_safetensors(folder.path() / "trained.safetensors", model->state());

  auto other = load_exported(file_of("images.pt2"));
  auto fast = compile(*other);
  fast({images()});
  other->load(Weights::of(Safetensors::open(folder.path() / "trained.safetensors")));
  expect_trained(other->state());
  // A compiled call goes on from what was loaded.
  model->forward({images()});
  fast({images()});
  EXPECT_THAT(
      other->state().at("norm.running_mean").to_vector<float>(),
      Pointwise(FloatNear(1e-6F), model->state().at("norm.running_mean").to_vector<float>()));
  EXPECT_EQ(other->state().at("norm.num_batches_tracked").item<std::int64_t>(), 2);
}

// Sums x and a buffer that is not persistent, which PyTorch's state_dict leaves out.
TEST(ProgramTraining, LeavesBuffersThatAreNotPersistentOutOfTheState) {
  ScratchFolder folder;
  for (bool is_persistent : {false, true}) {
    testing::ProgramText program;
    program.inputs =
        concat(R"({"buffer": {"arg": {"name": "p_w"}, "buffer_name": "net.weight", "persistent": )",
               is_persistent ? "true" : "false",
               R"(}}, {"user_input": {"arg": {"as_tensor": {"name": )", R"("x"}}}})");
    auto model = load_exported(folder.write("model.pt2", testing::exported_file(program)));
    EXPECT_EQ(model->state().size(), is_persistent ? 1U : 0U);
  }
}

TEST(ProgramTraining, RefusesAModeThatIsNotTheProgramsOwn) {
  auto trains = load_exported(file_of("images.pt2")),
       evaluates = load_exported(file_of("scores.pt2"));
  trains->train();
  evaluates->eval();
  EXPECT_THAT(error_of([&] { trains->eval(); }),
              AllOf(HasSubstr("[eval] "), HasSubstr("images.pt2"),
                    HasSubstr("computes as in training (aten.batch_norm.default"),
                    HasSubstr("export the model after eval()")));
  EXPECT_THAT(error_of([&] { evaluates->train(); }),
              AllOf(HasSubstr("[train] "), HasSubstr("scores.pt2"),
                    HasSubstr("computes as in evaluation")));
  struct Around : Module {
    explicit Around(Module& part) { register_module("part", part); }
  } around(*trains);
  EXPECT_THAT(error_of([&] { around.eval(); }), HasSubstr("computes as in training"));
}

using namespace testing::onnx;

// y = BatchNormalization(x w); the scale of a quantisation and the operand of a comparison beside.
std::string normed(std::int64_t training_mode) {
  const std::string two = floats_as_bytes({1, 2});
  std::vector<std::string> results = {"n"};
  if (training_mode != 0) results.insert(results.end(), {"new_mean", "new_variance"});
  const std::string mode = training_mode == 0 ? "" : attribute("training_mode", training_mode);
  return model(graph_of(
      {{node("MatMul", {"x", "w"}, {"h"}),
        node("BatchNormalization", {"h", "scale", "shift", "mean", "variance"}, results, mode),
        node("Greater", {"n", "bound"}, {"is_high"}),
        node("Where", {"is_high", "n", "low"}, {"y"})},
       {tensor("w", {2, 2}, floats_as_bytes({1, 2, 3, 4})), tensor("scale", {2}, two),
        tensor("shift", {2}, two), tensor("mean", {2}, two), tensor("variance", {2}, two),
        tensor("bound", {2}, two), tensor("low", {2}, two)},
       {value("x", {"3", "2"})},
       {value("y", {"3", "2"})}}));
}

TEST(ProgramTraining, OfAnOnnxModelLeavesStatisticsAlone) {
  ScratchFolder folder;
  auto model = load_onnx(folder.write("model.onnx", normed(0)));
  EXPECT_THAT(names_of(differentiable_parameters(*model)),
              ElementsAre("low", "scale", "shift", "w"));
  EXPECT_THAT(names_of(model->state()),
              ElementsAre("bound", "low", "mean", "scale", "shift", "variance", "w"));
  model->load(Weights::of({{"mean", zeros({2})}}), {.strict = false});
  EXPECT_THAT(model->state().at("mean").to_vector<float>(), ElementsAre(0, 0));
  model->eval();
  EXPECT_THAT(error_of([&] { model->train(); }), HasSubstr("computes as in evaluation"));
}

TEST(ProgramTraining, KnowsOnnxOperatorsThatTrain) {
  ScratchFolder folder;
  auto model = load_onnx(folder.write("model.onnx", normed(1)));
  model->train();
  EXPECT_THAT(error_of([&] { model->eval(); }),
              HasSubstr("computes as in training (BatchNormalization, node \"n\")"));
  const std::string drops =
      testing::onnx::model(graph_of({{node("Dropout", {"x", "", "flag"}, {"y"})},
                                     {tensor("flag", {}, std::string(1, '\1'), 9)},
                                     {value("x", {"2"})},
                                     {value("y", {"2"})}}));
  auto dropping = load_onnx(folder.write("dropping.onnx", drops));
  EXPECT_THAT(error_of([&] { dropping->eval(); }), HasSubstr("(Dropout, node \"y\")"));
}

}  // namespace
}  // namespace tilewright::program_training_test
