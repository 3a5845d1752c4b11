#include "models/exported/exported_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/exported/aten/operators.h"
#include "tests/errors.h"
#include "tests/models/exported_files.h"
#include "tests/models/exported_folder.h"

namespace tilewright::exported_module_test {
namespace {

using namespace testing_exported;

using ::testing::AllOf;
using testing::argument;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::exported_file;
using ::testing::HasSubstr;
using testing::node;
using testing::ProgramText;
using testing::sizes_of;
using testing::tensor_argument;
using testing::tensor_facts;
using testing::weight_row;
using testing::weights_table;

Tensor vector_of(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST_F(Exported, ComputesAtOnceAndCompiled) {
  auto module = load(exported_file());
  std::vector<Tensor> inputs = {vector_of({1, 2})};
  EXPECT_THAT(module->forward(inputs)[0].to_vector<float>(), ElementsAre(11, 22));
  auto fast = compile(*module, {.fullgraph = true});
  EXPECT_THAT(fast(inputs)[0].to_vector<float>(), ElementsAre(11, 22));
}

TEST_F(Exported, HasParametersUnderPyTorchsNames) {
  auto module = load(exported_file());
  auto fast = compile(*module);
  std::vector<Tensor> inputs = {vector_of({1, 2})};
  fast(inputs);
  ASSERT_EQ(module->named_parameters().size(), 1U);
  EXPECT_EQ(module->named_parameters()[0].name, "net.weight");
  module->named_parameters()[0].tensor = vector_of({100, 200});
  EXPECT_THAT(fast(inputs)[0].to_vector<float>(), ElementsAre(101, 202));
}

TEST_F(Exported, MapsWeightsThatLieAligned) {
  auto module = load(exported_file(), {.reading = Reading::mapped});
  EXPECT_THAT(module->forward({vector_of({1, 2})})[0].to_vector<float>(), ElementsAre(11, 22));
}

TEST_F(Exported, ReadsWeightsByTheirStrides) {
  ProgramText program;
  program.tensors =
      R"("x": )" + tensor_facts(sizes_of({2})) + R"(, "p_w": )" + tensor_facts(sizes_of({2, 2}));
  std::string facts = tensor_facts(sizes_of({2, 2}), 7, sizes_of({1, 2}), 1);
  auto module =
      load(exported_file(program, {{"data/weights/weight_0", bytes_of({0, 1, 2, 3, 4})},
                                   {"data/weights/model_weights_config.json",
                                    weights_table(weight_row("net.weight", "weight_0", facts))}}));
  EXPECT_THAT(module->forward({vector_of({0, 0})})[0].to_vector<float>(), ElementsAre(1, 3, 2, 4));
}

TEST_F(Exported, WritesToBuffersAndInputsAsTheProgramDoes) {
  ProgramText program;
  program.inputs =
      R"({"buffer": {"arg": {"name": "p_w"}, "buffer_name": "net.weight", "persistent": true}},
         {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  program.outputs =
      R"({"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "net.weight"}},
         {"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}},
         {"user_output": {"arg": {"as_tensor": {"name": "y"}}}})";
  auto module = load(exported_file(program));
  std::vector<Tensor> inputs = {vector_of({1, 2})};
  EXPECT_THAT(module->forward(inputs)[0].to_vector<float>(), ElementsAre(11, 22));
  EXPECT_THAT(inputs[0].to_vector<float>(), ElementsAre(11, 22));
  auto fast = compile(*module);
  EXPECT_THAT(fast(inputs)[0].to_vector<float>(), ElementsAre(22, 44));
  EXPECT_THAT(inputs[0].to_vector<float>(), ElementsAre(22, 44));
  EXPECT_THAT(fast(inputs)[0].to_vector<float>(), ElementsAre(44, 88));
}

// A tensor that is both written and returned is returned as it was before the program wrote
// anything.
TEST_F(Exported, WritesAllAtOnce) {
  ProgramText program;
  program.inputs =
      R"({"buffer": {"arg": {"name": "p_w"}, "buffer_name": "net.weight", "persistent": true}},
         {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  program.nodes = node("torch.ops.aten.clone.default", {tensor_argument("self", "p_w")}, "y");
  program.outputs =
      R"({"buffer_mutation": {"arg": {"name": "x"}, "buffer_name": "net.weight"}},
         {"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}},
         {"user_output": {"arg": {"as_tensor": {"name": "y"}}}})";
  auto module = load(exported_file(program));
  std::vector<Tensor> inputs = {vector_of({1, 2})};
  auto fast = compile(*module);
  auto frozen = compile(*module, {.freezing = true});
  auto expect_exchange = [&](const auto& call, float before) {
    EXPECT_THAT(call(inputs)[0].template to_vector<float>(), ElementsAre(before, 2 * before));
    EXPECT_THAT(inputs[0].to_vector<float>(), ElementsAre(before, 2 * before));
  };
  auto at_once = [&](const std::vector<Tensor>& x) { return module->forward(x); };
  expect_exchange(at_once, 10);
  expect_exchange(at_once, 1);
  expect_exchange(fast, 10);
  expect_exchange(fast, 1);
  expect_exchange(frozen, 10);
  expect_exchange(frozen, 1);
}

TEST_F(Exported, ListsAllOperatorsThatItLacks) {
  ProgramText program;
  program.nodes = node("torch.ops.aten.nosuch.default", {tensor_argument("self", "x")}, "a") + "," +
                  node("torch.ops.aten.nosuch.default", {tensor_argument("self", "a")}, "b") + "," +
                  node("torch.ops.mylib.other.default", {tensor_argument("self", "b")}, "y");
  EXPECT_THAT(error_of_file(exported_file(program)),
              HasSubstr("2 operators are not supported:\n"
                        "  aten.nosuch.default, 2 times, first at net.py:7\n"
                        "  mylib.other.default, 1 time, first at net.py:7"));
  folder_.write("net.pt2", exported_file(program));
  ProgramSummary summary = inspect_exported(folder_.path() / "net.pt2");
  EXPECT_EQ(summary.operators[0].count, 2);
  EXPECT_FALSE(summary.operators[0].is_known);
  EXPECT_EQ(summary.parameters, 2);
}

TEST_F(Exported, SaysHowToWriteOutWhatWasMapped) {
  ProgramText program;
  program.nodes =
      node("torch._functorch.predispatch._add_batch_dim", {tensor_argument("0", "x")}, "y");
  EXPECT_THAT(error_of_file(exported_file(program)),
              HasSubstr("1 operator is not supported (torch.vmap is as it was called: save what"));
}

TEST_F(Exported, ChecksInputsAgainstTheProgram) {
  auto module = load(exported_file(of_any_rows()));
  auto error = [&](const std::vector<Tensor>& inputs) {
    return error_of([&] { module->forward(inputs); });
  };
  EXPECT_EQ(error({zeros({2, 3})}), "no error");
  EXPECT_EQ(error({zeros({8, 3})}), "no error");
  EXPECT_THAT(error({zeros({9, 3})}),
              HasSubstr("input \"x\": axis 0 has size 9; the program allows 0 to 8"));
  EXPECT_THAT(error({zeros({4, 4})}),
              HasSubstr("input \"x\": axis 1 has size 4; the program takes 3, and no other"));
  EXPECT_THAT(error({zeros({4})}), HasSubstr("rank 1; the program takes rank 2"));
  EXPECT_THAT(error({zeros({4, 3}, i64)}), HasSubstr("is i64; the program takes f32"));
  EXPECT_THAT(error({Tensor()}), HasSubstr("is an undefined tensor"));
  EXPECT_THAT(error({}), HasSubstr("the program takes 1 inputs; 0 are given"));
}

TEST_F(Exported, DeclaresTheSizesThatMayDiffer) {
  auto module = load(exported_file(of_any_rows()));
  ASSERT_EQ(module->inputs()[0].dynamic.size(), 1U);
  EXPECT_EQ(module->inputs()[0].shape, (Shape{-1, 3}));
  std::vector<Tensor> example = {ones({4, 3})};
  module->mark_dynamic_sizes(example);
  auto fast = compile(*module);
  fast(example);
  EXPECT_THAT(fast({ones({2, 3})})[0].to_vector<float>(), ElementsAre(2, 2, 2, 2, 2, 2));
  EXPECT_THAT(error_of([&] { fast({ones({9, 3})}); }), HasSubstr("9"));
}

TEST_F(Exported, NamesTheNodeAndTheLineOfAnErrorInsideIt) {
  ProgramText program = of_any_rows();
  program.nodes =
      node("torch.ops.aten.view.default",
           {tensor_argument("self", "x"), argument("size", R"({"as_ints": [5, 5]})")}, "y");
  auto module = load(exported_file(program));
  EXPECT_THAT(error_of([&] {
                module->forward({zeros({4, 3})});
              }),
              AllOf(HasSubstr("in node \"y\" (aten.view.default)"), HasSubstr("from net.py:7")));
}

// At once, before the call of a compiled function, and behind it.
TEST_F(Exported, NamesTheNodeWhoseIndexIsOutside) {
  auto program_of = [](const std::vector<std::string>& nodes, const std::string& ids) {
    ProgramText program = of_any_rows();
    program.inputs = R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "net.weight"}},
                        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
    program.tensors =
        R"("x": )" + tensor_facts(sizes_of({2}), 5) + R"(, "p_w": )" + tensor_facts(sizes_of({2}));
    program.nodes.clear();
    for (const std::string& each : nodes) program.nodes += each + ", ";
    program.nodes += node("torch.ops.aten.index_select.default",
                          {tensor_argument("self", "p_w"), argument("dim", R"({"as_int": 0})"),
                           tensor_argument("index", ids)},
                          "y");
    return program;
  };
  const ProgramText given = program_of({}, "x");
  const ProgramText computed =
      program_of({node("torch.ops.aten.neg.default", {tensor_argument("self", "x")}, "n")}, "n");
  for (const auto& [program, id] : {std::pair(given, 2), std::pair(computed, -2)}) {
    auto module = load(exported_file(program));
    const std::vector<Tensor> inputs = {Tensor::from<std::int64_t>({0, id}, {2})};
    const std::string at_once = error_of([&] { module->forward(inputs); });
    EXPECT_THAT(at_once, AllOf(HasSubstr("2 is outside"),
                               HasSubstr("\n  in node \"y\" (aten.index_select.default) of "),
                               HasSubstr("net.pt2, from net.py:7")));
    auto fast = compile(*module, {.index_checks = IndexChecks::all});
    EXPECT_EQ(error_of([&] { fast(inputs); }), at_once);
  }
}

TEST_F(Exported, SaysThatItsWeightsAreNotQuantised) {
  auto module = load(exported_file({}));
  EXPECT_THAT(error_of([&] { module->quantize({}); }),
              AllOf(HasSubstr("[quantize] the module has no linear layer"),
                    HasSubstr("its parameters: net.weight (at exported_module_test.cpp:"),
                    HasSubstr("export one that is quantised")));
}

TEST(ExportedOperators, HaveEachItsOwnName) {
  std::size_t rows = 0;
  for (auto family : exported::operator_families()) rows += family.size();
  EXPECT_EQ(exported::operator_names().size(), rows);
}

}  // namespace
}  // namespace tilewright::exported_module_test
