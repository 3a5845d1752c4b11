// Options of compile() for imported models: freezing inside an If, the node that keeps calls from
// being padded, and layers of a quantised model that share their programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::onnx_options_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;

constexpr std::int64_t width = 96;
constexpr int is_bool = 9, is_int8 = 3;

// Numbers that differ from matrix to matrix.
std::string matrix(std::string_view name, float phase) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < width * width; ++i)
    elements.push_back(0.1F * std::sin(0.37F * static_cast<float>(i) + phase));
  return tensor(name, {width, width}, floats_as_bytes(elements));
}
std::string body(std::string_view name, const GraphParts& parts) {
  return bytes(5, bytes(1, name) + bytes(6, bytes(2, name) + graph_of(parts)) + number(20, 5));
}
std::unique_ptr<OnnxModule> loaded(const std::string& content) {
  ScratchFolder folder;
  return load_onnx(folder.write("model.onnx", content));
}

// The weights of one branch are initializers of the model, those of the other its own.
std::string with_if(bool breaks) {
  const GraphParts outer_weight{
      {node("MatMul", {"x", "w"}, {"a"})}, {}, {}, {value("a", {"64", "96"})}};
  const GraphParts own_weight{
      {node("MatMul", {"x", "u"}, {"b"})}, {matrix("u", 2)}, {}, {value("b", {"64", "96"})}};
  std::vector<std::string> nodes;
  if (breaks)
    nodes = {node("NonZero", {"f"}, {"places"}), node("Size", {"places"}, {"many"}),
             node("Cast", {"many"}, {"factor"}, attribute("to", 1)),
             node("Mul", {"x", "factor"}, {"z"})};
  else
    nodes = {node("Identity", {"x"}, {"z"})};
  nodes.push_back(node("If", {"f"}, {"y"},
                       body("then_branch", outer_weight) + body("else_branch", own_weight)));
  return model(graph_of({nodes,
                         {matrix("w", 1)},
                         {value("x", {"64", "96"}), value("f", {}, is_bool)},
                         {value("y", {"64", "96"}), value("z", {"64", "96"})}}));
}

TEST(OnnxOptions, FreezingHoldsInsideAnIf) {
  for (bool breaks : {false, true}) {
    const auto module = loaded(with_if(breaks));
    auto fast = compile(*module, {.tell_breaks = false, .freezing = true});
    const Tensor x = sin(ramp({64, width}));
    for (bool flag : {true, false}) {
      const Tensor f = Tensor::scalar<bool>(flag);
      expect_near(fast({x, f})[0], module->forward({x, f})[0]);
    }
    std::int64_t packed = 0;
    for (const PlanReport& report : fast.report()) packed += report.packed_weights;
    // Behind the break the host knows the flag: both products are one segment's, with a weight
    // each.
    // GPUs read weights as they are.
    if (default_device() == Device::cpu()) {
      EXPECT_EQ(packed, breaks ? 1 : 2) << fast.explain();
    }
  }
}

TEST(OnnxOptions, ACallThatIsNotPaddedNamesTheNode) {
  const auto module =
      loaded(model(graph_of({{node("ReduceMean", {"x"}, {"mean"}, integers("axes", {0})),
                              node("Sub", {"x", "mean"}, {"y"})},
                             {},
                             {value("x", {"rows", "96"})},
                             {value("y", {"rows", "96"})}})));
  auto fast = compile(*module);
  Tensor x = sin(ramp({5, width}));
  mark_dynamic(x, 0, {.buckets = {8, 16}});
  ::testing::internal::CaptureStderr();
  expect_near(fast({x})[0], module->forward({x})[0]);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr(" in node \"mean\" (ReduceMean) of "));
  EXPECT_THAT(told, HasSubstr("model.onnx: it goes over a padded axis; mark that axis without"));
  EXPECT_THAT(fast.explain(), HasSubstr("in node \"mean\" (ReduceMean)"));
}

// As onnxruntime.quantization.quantize_dynamic writes a product.
TEST(OnnxOptions, LayersThatAreQuantisedDynamicallyAreOneProgram) {
  std::vector<std::string> nodes, tensors;
  std::string now = "x";
  auto named = [](const char* name, int layer) { return name + std::to_string(layer); };
  for (int i = 0; i < 4; ++i) {
    const std::string q = named("q", i), s = named("s", i), z = named("z", i);
    nodes.push_back(node("DynamicQuantizeLinear", {now}, {q, s, z}));
    nodes.push_back(node("MatMulInteger", {q, named("w", i), z, named("wz", i)}, {named("m", i)}));
    nodes.push_back(node("Mul", {s, named("ws", i)}, {named("ss", i)}));
    nodes.push_back(node("Cast", {named("m", i)}, {named("c", i)}, attribute("to", 1)));
    nodes.push_back(node("Mul", {named("c", i), named("ss", i)}, {named("y", i)}));
    now = named("y", i);
    std::string elements;
    for (std::int64_t k = 0; k < width * width; ++k)
      elements += static_cast<char>((k * (2 * i + 3)) % 127 - 63);
    tensors.push_back(tensor(named("w", i), {width, width}, elements, is_int8));
    tensors.push_back(tensor(named("wz", i), {}, std::string(1, '\0'), is_int8));
    tensors.push_back(
        tensor(named("ws", i), {}, floats_as_bytes({0.01F + 0.003F * static_cast<float>(i)})));
  }
  const auto module = loaded(
      model(graph_of({nodes, tensors, {value("x", {"32", "96"})}, {value(now, {"32", "96"})}})));
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = sin(ramp({32, width}));
  const Tensor y = fast({x})[0], wanted = module->forward({x})[0];
  EXPECT_LT(amax(abs(y - wanted)).item<float>(), 1e-4F * amax(abs(wanted)).item<float>());
  int products = 0;
  const PlanReport report = fast.report().at(0);
  for (const RegionReport& region : report.regions)
    for (const std::string& op : region.ops)
      if (op == "matmul") {
        ++products;
        EXPECT_EQ(region.instances, 4) << region.kernel;
        break;
      }
  EXPECT_EQ(products, 1);
}

}  // namespace
}  // namespace tilewright::onnx_options_test
