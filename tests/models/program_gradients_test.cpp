// Gradients of loaded programs by their inputs and parameters, against PyTorch's
// (tools/program_gradient_cases.py writes the folder gradients), at once and compiled.
#include "models/programs/program_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/reducing/element_losses.h"
#include "models/exported/exported_module.h"
#include "models/layers/gradients.h"
#include "models/onnx/onnx_module.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/source_folder.h"
#include "tests/tensors.h"

namespace tilewright::program_gradients_test {
namespace {

using ::testing::HasSubstr;

struct Case {
  explicit Case(const std::string& name)
      : file(source_folder() / "tests/models/gradients" / name),
        tensors(Safetensors::open(with(".safetensors"))),
        gradients(Safetensors::open(with(".grad.safetensors"))) {}
  std::filesystem::path with(const char* extension) const { return file.string() + extension; }
  std::unique_ptr<ProgramModule> load() const {
    if (std::filesystem::exists(with(".onnx"))) return load_onnx(with(".onnx"));
    return load_exported(with(".pt2"));
  }
  std::vector<Tensor> numbered(const Safetensors& from, const std::string& prefix,
                               std::size_t count) const {
    std::vector<Tensor> list(count);
    for (std::size_t i = 0; i < count; ++i)
      if (from.find(concat(prefix, i)) != nullptr) list[i] = from.tensor(concat(prefix, i));
    return list;
  }
  std::vector<Tensor> inputs(const ProgramModule& model) const {
    return numbered(tensors, "in.", model.inputs().size());
  }
  std::vector<Tensor> cotangents(const ProgramModule& model) const {
    return numbered(gradients, "cotangent.", model.outputs().size());
  }

  std::filesystem::path file;
  Safetensors tensors, gradients;
};

const char* const all_cases[] = {"scores", "images", "loss", "half", "perceptron"};

// To the rounding of the dtype, by the largest element; some are 0 but for roundings of f32.
void expect_like(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.dtype(), wanted.dtype()) << what;
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  const double share = wanted.dtype() == bf16 ? 0x1p-7 : 2e-6;
  const auto a = got.to(f64).to_vector<double>(), b = wanted.to(f64).to_vector<double>();
  double largest = 0;
  for (double each : b) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], share * largest + 4e-6) << what;
}

void expect_pytorchs(const Case& c, const ProgramGradients& g, const ProgramVariables& of) {
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    const Tensor wanted = c.tensors.tensor(concat("out.", i));
    if (is_floating(wanted.dtype()))
      expect_like(g.outputs[i], wanted, concat("out.", i));
    else
      EXPECT_EQ(g.outputs[i].to_vector<std::int64_t>(), wanted.to_vector<std::int64_t>());
  }
  EXPECT_EQ(g.inputs.size(), of.inputs.size());
  EXPECT_EQ(g.parameters.size(), of.parameters.size());
  for (const auto& [number, gradient] : g.inputs) {
    const std::string name = concat("grad.in.", number);
    expect_like(gradient, c.gradients.tensor(name), name);
  }
  for (const auto& [parameter, gradient] : g.parameters) {
    const std::string name = concat("grad.param.", parameter);
    if (c.gradients.find(name) == nullptr)  // no output depends on it
      expect_like(gradient, zeros(gradient.shape()), name);
    else
      expect_like(gradient, c.gradients.tensor(name), name);
  }
}

class ProgramGradientsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ProgramGradientsOf, ArePyTorchsAtOnceAndCompiled) {
  const Case c(GetParam());
  auto model = c.load();
  const ProgramVariables all = differentiable_variables(*model);
  const std::vector<Tensor> cotangents = c.cotangents(*model);
  expect_pytorchs(c, program_gradients(*model, c.inputs(*model), cotangents, all), all);
  auto again = c.load();  // its buffers are those of the file
  auto compiled = compile([&](const std::vector<Tensor>& inputs) {
    return program_gradients(*again, inputs, cotangents, all);
  });
  expect_pytorchs(c, compiled(c.inputs(*again)), all);
}

INSTANTIATE_TEST_SUITE_P(Cases, ProgramGradientsOf, ::testing::ValuesIn(all_cases),
                         [](const auto& info) { return std::string(info.param); });

// Only those that are wanted are there, and they are the same.
TEST(ProgramGradients, AreThoseThatAreWanted) {
  const Case c("scores");
  auto model = c.load();
  const ProgramVariables some{.inputs = {1}, .parameters = {"inner.bias"}};
  const ProgramGradients g =
      program_gradients(*model, c.inputs(*model), c.cotangents(*model), some);
  expect_pytorchs(c, g, some);
}

// Without cotangents they are those of the sum of all floating outputs.
TEST(ProgramGradients, AreOfTheSumWhereNoCotangentIsGiven) {
  const Case c("loss");
  auto model = c.load();
  const ProgramVariables all = differentiable_variables(*model);
  const auto alone = program_gradients(*model, c.inputs(*model), {}, all);
  const auto given = program_gradients(*model, c.inputs(*model), {full({}, 1.0)}, all);
  for (const auto& [name, gradient] : given.parameters)
    expect_like(alone.parameters.at(name), gradient, name);
  const double scale = c.gradients.tensor("cotangent.0").item<float>();
  expect_like(alone.inputs.at(0) * scale, c.gradients.tensor("grad.in.0"), "grad.in.0");
}

// The product of the second derivative with a direction, at once and compiled.
TEST(ProgramGradients, HaveSecondOnesInADirection) {
  const Case c("perceptron");
  auto model = c.load();
  const std::vector<Tensor> inputs = c.inputs(*model);
  const std::map<std::string, Tensor> p = differentiable_parameters(*model);
  ProgramVariables of;
  std::vector<Tensor> directions;
  std::map<std::string, Tensor> along;
  for (const auto& [name, parameter] : p) {
    of.parameters.push_back(name);
    directions.push_back(cos(parameter * 3.0));
    along.emplace(name, directions.back());
  }
  const Tensor cotangent = c.cotangents(*model)[0];
  const auto expected = hessian_vector_product(
      [&](const std::map<std::string, Tensor>& at) {
        return sum(model->forward_with(at, inputs)[0] * cotangent);
      },
      p, along);
  const auto first = program_gradients(*model, inputs, {cotangent}, of);
  auto second = [&](const std::vector<Tensor>& x) {
    const auto found = program_second_gradients(*model, x, {cotangent}, of, directions);
    std::vector<Tensor> all = found.outputs;
    for (const std::string& name : of.parameters) all.push_back(found.parameters.at(name));
    return all;
  };
  for (const std::vector<Tensor>& found : {second(inputs), compile(second)(inputs)})
    for (std::size_t i = 0; i < of.parameters.size(); ++i) {
      const std::string& name = of.parameters[i];
      expect_like(found.at(i), first.parameters.at(name), name);
      expect_like(found.at(of.parameters.size() + i), expected.at(name), name);
    }
}

// The programs leave their inputs, and write their buffers once a call.
TEST(ProgramGradients, LeaveInputsAndWriteBuffersOnce) {
  const Case c("loss");
  auto model = c.load();
  const std::vector<Tensor> inputs = c.inputs(*model);
  program_gradients(*model, inputs, {}, differentiable_variables(*model));
  EXPECT_EQ(inputs[0].to_vector<float>(), c.tensors.tensor("in.0").to_vector<float>());

  const Case images("images");
  auto once = images.load(), by_gradients = images.load();
  once->forward(images.inputs(*once));
  program_gradients(*by_gradients, images.inputs(*by_gradients), {},
                    differentiable_variables(*by_gradients));
  for (NamedParameter& buffer : once->named_buffers())
    expect_like(by_gradients->state().at(buffer.name), buffer.tensor, buffer.name);
}

using Parameters = std::map<std::string, Tensor>;

// A program as a function of its parameters, which a loss in C++ is made of.
TEST(ProgramGradients, OfALossOfParametersAndInputs) {
  const Case c("perceptron");
  auto model = c.load();
  const Tensor x = c.inputs(*model)[0], y = zeros({4, 3});
  auto loss = [&](const Parameters& p, const Tensor& a, const Tensor& b) {
    return mse_loss(model->forward_with(p, {a})[0], b);
  };
  const Parameters p = differentiable_parameters(*model);
  ASSERT_EQ(p.size(), 5U);
  const auto [value, gradients] = value_and_grad(loss)(p, x, y);
  const auto [same, of_module] = value_and_grad(*model, [&](const Tensor& a, const Tensor& b) {
    return mse_loss(model->forward({a})[0], b);
  })(x, y);
  expect_near(value, same);
  for (const auto& [name, gradient] : gradients) expect_like(gradient, of_module.at(name), name);
}

// Steps down the gradient, of parameters that are the caller's: the model's own stay.
TEST(ProgramGradients, TrainALoadedProgram) {
  const Case c("loss");
  auto model = c.load();
  const Tensor x = c.inputs(*model)[0], y = c.inputs(*model)[1];
  auto loss = [&](const Parameters& p, const Tensor& a, const Tensor& b) {
    return model->forward_with(p, {a.clone(), b})[0];
  };
  auto step = compile([&](const Parameters& p, const Tensor& a, const Tensor& b) {
    auto [value, gradients] = value_and_grad(loss)(p, a, b);
    Parameters next;
    for (const auto& [name, parameter] : p) next[name] = parameter - gradients.at(name) * 0.5;
    return std::pair{value, next};
  });
  const auto before = model->state().at("layer.weight").to_vector<float>();
  auto [value, p] = step(differentiable_parameters(*model), x, y);
  const float first = value.item<float>();
  for (int i = 0; i < 60; ++i) std::tie(value, p) = step(p, x, y);
  EXPECT_LT(value.item<float>(), 0.3F * first);
  EXPECT_EQ(model->state().at("layer.weight").to_vector<float>(), before);
  expect_near(model->forward_with(p, {x.clone(), y})[0], step(p, x, y).first);
}

TEST(ProgramGradients, RefuseWhatHasNone) {
  const Case c("scores");
  auto model = c.load();
  const std::vector<Tensor> inputs = c.inputs(*model);
  auto said = [&](const ProgramVariables& of, const std::vector<Tensor>& cotangents = {}) {
    return error_of([&] { program_gradients(*model, inputs, cotangents, of); });
  };
  EXPECT_THAT(said({.inputs = {0}, .parameters = {}}),
              HasSubstr("[program_gradients] input 0 \"ids\" is i64"));
  EXPECT_THAT(said({.inputs = {2}, .parameters = {}}), HasSubstr("there is no input 2"));
  EXPECT_THAT(said({.inputs = {}, .parameters = {"inner"}}),
              HasSubstr("the program has no parameter \"inner\""));
  EXPECT_THAT(said({}), HasSubstr("there is no variable"));
  const ProgramVariables x{.inputs = {1}, .parameters = {}};
  EXPECT_THAT(said(x, {ones({3, 4})}), HasSubstr("the cotangent of output 0 is f32 [3x4]"));
  EXPECT_THAT(said(x, {Tensor(), ones({3, 4})}), HasSubstr("output 1 is i64"));
  EXPECT_THAT(said(x, {Tensor(), Tensor(), ones({3})}), HasSubstr("there are 3 cotangents"));
  auto said_second = [&](const std::vector<Tensor>& directions) {
    return error_of([&] { program_second_gradients(*model, inputs, {}, x, directions); });
  };
  EXPECT_THAT(said_second({ones({3, 4})}), HasSubstr("direction 0 is f32 [3x4]"));
  EXPECT_THAT(said_second({Tensor(), ones({3})}), HasSubstr("there are 2 directions"));
  auto given = [&](const Parameters& p) {
    return error_of([&] { model->forward_with(p, inputs); });
  };
  EXPECT_THAT(given({{"inner.wait", ones({8, 6})}}),
              HasSubstr("the program has no parameter \"inner.wait\"; it has \"inner.bias\""));
  EXPECT_THAT(given({{"inner.bias", ones({6})}}),
              HasSubstr("parameter \"inner.bias\" is f32 [8]; the tensor given for it is f32 [6]"));
  EXPECT_THAT(given({{"inner.bias", Tensor()}}), HasSubstr("is undefined"));
}

}  // namespace
}  // namespace tilewright::program_gradients_test
