// Loops, choices and recurrent layers of exported programs, against what PyTorch makes of them
// (tools/control_flow_cases.py writes the folder control_flow).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/source_folder.h"

namespace tilewright::control_flow_test {
namespace {

using nlohmann::json;
using testing::OneCall;

const std::filesystem::path folder = source_folder() / "tests/models/control_flow";

const json& cases() {
  static const json all = [] {
    std::ifstream file(folder / "cases.json");
    return json::parse(file);
  }();
  return all;
}

Tensor tensor_of(const json& described) {
  return Tensor::from(described["values"].get<std::vector<float>>(),
                      Shape(described["shape"].get<std::vector<std::int64_t>>()));
}
std::vector<Tensor> tensors_of(const json& list) {
  std::vector<Tensor> tensors;
  for (const json& each : list) tensors.push_back(tensor_of(each));
  return tensors;
}
void expect_near(const std::vector<Tensor>& got, const json& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), Shape(wanted[i]["shape"].get<std::vector<std::int64_t>>())) << i;
    std::vector<float> values = got[i].to(f32).to_vector<float>();
    std::vector<float> right = wanted[i]["values"].get<std::vector<float>>();
    for (std::size_t k = 0; k < values.size(); ++k)
      ASSERT_NEAR(values[k], right[k], 2e-6 * (1 + std::abs(right[k]))) << i << ", " << k;
  }
}

TEST(ExportedControlFlow, ProgramsWithLoopsAndChoicesComputeWhatPyTorchDoes) {
  for (const char* name : {"scan", "while_loop", "cond", "map"}) {
    SCOPED_TRACE(name);
    auto module = load_exported(folder / concat(name, ".pt2"));
    auto fast = compile(*module);
    for (const json& call : cases()[name]) {
      const std::vector<Tensor> inputs = tensors_of(call["inputs"]);
      expect_near(module->forward(inputs), call["outputs"]);
      for (int repeat = 0; repeat < 2; ++repeat) expect_near(fast(inputs), call["outputs"]);
    }
    EXPECT_EQ(fast.report().size(), 1U);
  }
}

TEST(ExportedControlFlow, OperatorsOfBodiesAreCountedAndMustBeKnown) {
  std::vector<std::string> names;
  auto module = load_exported(folder / "scan.pt2");
  for (const ProgramOperator& op : module->operators()) names.push_back(op.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"higher_order.scan", "aten.tanh.default"}));
}

TEST(ExportedControlFlow, RecurrentLayersComputeWhatPyTorchDoes) {
  for (const json& layer : cases()["layers"]) {
    SCOPED_TRACE(layer["target"]);
    const Tensor input = tensor_of(layer["input"]);
    const std::vector<Tensor> hx = tensors_of(layer["hx"]), params = tensors_of(layer["params"]);
    auto run = [&](const std::vector<Tensor>& t) {
      OneCall call(layer["target"].get<std::string>());
      call.with("input", t[0]);
      const std::vector<Tensor> states(t.begin() + 1, t.end());
      states.size() == 1 ? call.with("hx", states[0]) : call.with_list("hx", states);
      call.with_list("params", params)
          .with("has_biases", layer["has_biases"].get<bool>())
          .with("num_layers", layer["num_layers"].get<std::int64_t>())
          .with("dropout", 0.0)
          .with("train", false)
          .with("bidirectional", layer["bidirectional"].get<bool>())
          .with("batch_first", layer["batch_first"].get<bool>());
      return call.all();
    };
    std::vector<Tensor> inputs = {input};
    inputs.insert(inputs.end(), hx.begin(), hx.end());
    expect_near(run(inputs), layer["outputs"]);
    auto fast = compile(std::function(run));
    expect_near(fast(inputs), layer["outputs"]);
  }
}

TEST(ExportedControlFlow, WhatARecurrentLayerCannotBeIsRefused) {
  Tensor x = zeros({2, 1, 3}), h = zeros({1, 1, 3}), w = zeros({3, 3});
  auto call = [&](const Tensor& input, const std::vector<Tensor>& params, bool train) {
    return error_of([&] {
      OneCall("aten.rnn_tanh.input")
          .with("input", input)
          .with("hx", h)
          .with_list("params", params)
          .with("has_biases", false)
          .with("num_layers", std::int64_t{2})
          .with("dropout", 0.5)
          .with("train", train)
          .all();
    });
  };
  expect_contains(call(zeros({2, 3}), {w, w, w, w}, false), "\"input\" has not three axes");
  expect_contains(call(x, {w}, false), "\"params\" has 1 tensors; 2 directions of layers");
  expect_contains(call(x, {w, w, w, w}, true), "\"train\" is true, with dropout between layers");
}

}  // namespace
}  // namespace tilewright::control_flow_test
