// Inputs of ONNX models that the application holds constant, and the branches that go with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::constants_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing::onnx;

std::string branch(std::string_view name, const GraphParts& parts) {
  return bytes(5, bytes(1, name) + bytes(6, bytes(2, "inner") + graph_of(parts)) + number(20, 5));
}
std::string integer(std::string_view name, std::int64_t value) {
  return number(2, is_int64) + numbers(7, {value}) + bytes(8, name);
}
std::string named(std::string_view name) { return bytes(1, name); }

// y = x * u if sr is 16000, else x reshaped to [3, w], which x [2] cannot be; t is Neg(x) for the
// other branch alone.
std::string by_rate() {
  const GraphParts fast = {{node("Mul", {"x", "u"}, {"p"})},
                           {tensor("u", {2}, floats_as_bytes({2, 3}))},
                           {},
                           {named("p")}};
  const GraphParts slow = {{node("Reshape", {"t", "sizes"}, {"q"}), node("Mul", {"q", "v"}, {"r"})},
                           {tensor("v", {3}, floats_as_bytes({4, 5, 6}))},
                           {},
                           {named("r")}};
  const std::vector<std::string> inputs = {value("x", {"2"}), value("sr", {}, is_int64)};
  return model(graph_of(
      {{node("Equal", {"sr", "rate"}, {"c"}), node("Neg", {"x"}, {"t"}),
        node("If", {"c"}, {"h"}, branch("then_branch", fast) + branch("else_branch", slow)),
        node("Neg", {"h"}, {"y"})},
       {integer("rate", 16000),
        numbers(1, {1}) + number(2, is_int64) + numbers(7, {3}) + bytes(8, "sizes")},
       inputs,
       {named("y")}}));
}
Tensor rate_of(std::int64_t rate) { return Tensor::scalar<std::int64_t>(rate); }
std::vector<std::string> names_of(const OnnxModule& module) {
  std::vector<std::string> names;
  for (const auto& each : const_cast<OnnxModule&>(module).named_parameters())
    names.push_back(each.name);
  return names;
}

class OnnxConstants : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModule> load(const std::string& content,
                                   std::map<std::string, Tensor> constants) {
    return load_onnx(folder_.write("model.onnx", content), {.constants = std::move(constants)});
  }
  std::string error(const std::string& content, std::map<std::string, Tensor> constants) {
    return error_of([&] { load(content, std::move(constants)); });
  }
  ScratchFolder folder_;
};

TEST_F(OnnxConstants, AreNoInputsAndDecideBranches) {
  const auto module = load(by_rate(), {{"sr", rate_of(16000)}});
  ASSERT_EQ(module->inputs().size(), 1U);
  EXPECT_EQ(module->inputs()[0].name, "x");
  EXPECT_THAT(names_of(*module), ElementsAre(HasSubstr("u")));
  for (const ProgramOperator& op : module->operators()) {
    EXPECT_NE(op.name, "If");
    EXPECT_NE(op.name, "Reshape");
  }
  auto fast = compile(*module, {.fullgraph = true});
  for (const Tensor& y : {module->forward({ones({2})})[0], fast({ones({2})})[0]})
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(-2, -3));
}

TEST_F(OnnxConstants, ChooseTheOtherBranchToo) {
  const auto module = load(by_rate(), {{"sr", rate_of(8000)}});
  EXPECT_THAT(names_of(*module), ElementsAre(HasSubstr("v")));
  EXPECT_THAT(error_of([&] { module->forward({ones({2})}); }),
              HasSubstr("in node \"q\" (Reshape)"));
}

TEST_F(OnnxConstants, WithoutThemBothBranchesStay) {
  const auto module = load(by_rate(), {});
  EXPECT_EQ(module->inputs().size(), 2U);
  EXPECT_EQ(names_of(*module).size(), 2U);
  EXPECT_THAT(module->forward({ones({2}), rate_of(16000)})[0].to_vector<float>(),
              ElementsAre(-2, -3));
}

// Writing to the tensor afterwards changes nothing.
TEST_F(OnnxConstants, AreCopied) {
  Tensor held = full({2}, 2.0).clone();
  const std::string content = model(graph_of({{node("Add", {"x", "z"}, {"y"})},
                                              {},
                                              {value("x", {"2"}), value("z", {"2"})},
                                              {named("y")}}));
  const auto module = load(content, {{"z", held}});
  held.copy_from(zeros({2}));
  EXPECT_THAT(module->forward({ones({2})})[0].to_vector<float>(), ElementsAre(3, 3));
}

TEST_F(OnnxConstants, SizesThatAreDeclaredDecideBranches) {
  const GraphParts one = {{node("Neg", {"x"}, {"p"})}, {}, {}, {named("p")}},
                   other = {{node("Abs", {"x"}, {"q"})}, {}, {}, {named("q")}};
  auto of_size = [&](const std::string& size) {
    return model(graph_of(
        {{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
          node("Less", {"n", "five"}, {"c"}),
          node("If", {"c"}, {"y"}, branch("then_branch", one) + branch("else_branch", other))},
         {integer("zero", 0), integer("five", 5)},
         {value("x", {size})},
         {named("y")}}));
  };
  auto has_choice = [&](const OnnxModule& module) {
    return std::ranges::any_of(module.operators(), [](auto& op) { return op.name == "If"; });
  };
  const auto fixed = load(of_size("2"), {}), open = load(of_size("n"), {});
  EXPECT_FALSE(has_choice(*fixed));
  EXPECT_TRUE(has_choice(*open));
  for (const auto& module : {fixed.get(), open.get()})
    EXPECT_THAT(module->forward({ones({2})})[0].to_vector<float>(), ElementsAre(-1, -1));
  EXPECT_THAT(open->forward({ones({5})})[0].to_vector<float>()[0], 1);
}

TEST_F(OnnxConstants, TakeTheInitializersOfInputsThatHaveOne) {
  const std::string content = model(graph_of({{node("Add", {"x", "w"}, {"y"})},
                                              {tensor("w", {2}, floats_as_bytes({3, 4}))},
                                              {value("x", {"2"}), value("w", {"2"})},
                                              {named("y")}}));
  EXPECT_THAT(load(content, {})->defaults(), ElementsAre("w"));
  EXPECT_THAT(load(content, {})->forward({zeros({2})})[0].to_vector<float>(), ElementsAre(3, 4));
  const auto module = load(content, {{"w", full({2}, 7.0)}});
  EXPECT_THAT(module->forward({zeros({2})})[0].to_vector<float>(), ElementsAre(7, 7));
  EXPECT_THAT(error(content, {{"w", full({3}, 7.0)}}),
              HasSubstr("the constant \"w\" is f32 [3]; the input is f32 [2]"));
}

// A power whose exponent the host knows is as exact as it can be, and no general power.
TEST_F(OnnxConstants, ExponentsAreNumbers) {
  const std::string content = model(graph_of(
      {{node("Pow", {"x", "e"}, {"y"})}, {}, {value("x", {"3"}), value("e", {})}, {named("y")}}));
  const Tensor x = Tensor::from(std::vector<float>{-3, 0.5F, 1e20F}, {3});
  const auto powers = [&](float exponent) {
    const auto module = load(content, {{"e", Tensor::scalar<float>(exponent)}});
    auto fast = compile(*module);
    const std::vector<float> result = fast({x})[0].to_vector<float>();
    EXPECT_EQ(fast.explain().find("log2"), std::string::npos);
    EXPECT_EQ(module->forward({x})[0].to_vector<float>(), result);
    return result;
  };
  EXPECT_THAT(powers(2), ElementsAre(9, 0.25F, INFINITY));
  EXPECT_THAT(powers(1), ElementsAre(-3, 0.5F, 1e20F));
  EXPECT_THAT(powers(0), ElementsAre(1, 1, 1));
}

TEST_F(OnnxConstants, ThatAreNoInputsOrDoNotFitAreErrors) {
  EXPECT_THAT(error(by_rate(), {{"rate", rate_of(1)}}),
              HasSubstr("no input is \"rate\", which is to be constant; it takes \"x\", \"sr\""));
  EXPECT_THAT(error(by_rate(), {{"sr", full({}, 16000.0)}}),
              HasSubstr("the constant \"sr\" is f32 [scalar]; the input is i64 [scalar]"));
  EXPECT_THAT(error(by_rate(), {{"sr", Tensor::from<std::int64_t>({1, 2}, {2})}}),
              HasSubstr("the constant \"sr\" is i64 [2]; the input is i64 [scalar]"));
  EXPECT_THAT(error(by_rate(), {{"x", zeros({3})}}),
              HasSubstr("the constant \"x\" is f32 [3]; the input is f32 [2]"));
  EXPECT_THAT(error(by_rate(), {{"sr", Tensor()}}), HasSubstr("is undefined; the input is i64"));
}

TEST_F(OnnxConstants, AreShownByInspect) {
  folder_.write("model.onnx", by_rate());
  const ProgramSummary summary =
      inspect_onnx(folder_.path() / "model.onnx", {.constants = {{"sr", rate_of(16000)}}});
  EXPECT_EQ(summary.inputs.size(), 1U);
  EXPECT_EQ(summary.parameters, 2);  // u alone: the rate is compared when the file is read
}

}  // namespace
}  // namespace tilewright::constants_test
