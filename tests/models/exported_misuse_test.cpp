// Exported programs that are refused: arguments of another kind, tables of weights that are wrong,
// and other layouts of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/exported/aten/operators.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_files.h"
#include "tests/models/exported_folder.h"

namespace tilewright::exported_misuse_test {
namespace {

using namespace testing_exported;

using ::testing::AllOf;
using testing::argument;
using testing::exported_file;
using ::testing::HasSubstr;
using testing::node;
using testing::ProgramText;
using testing::sizes_of;
using testing::tensor_argument;
using testing::tensor_facts;
using testing::weight_row;
using testing::weights_table;

TEST_F(Exported, RefusesArgumentsThatNoFunctionAskedFor) {
  ProgramText program = of_any_rows();
  program.nodes =
      node("torch.ops.aten.neg.default",
           {tensor_argument("self", "x"), argument("novel", R"({"as_bool": true})")}, "y");
  auto module = load(exported_file(program));
  EXPECT_THAT(error_of([&] {
                module->forward({zeros({4, 3})});
              }),
              HasSubstr("the argument \"novel\" is not supported"));
}

TEST_F(Exported, RefusesArgumentsOfAnotherKind) {
  struct Case {
    std::string target;
    std::vector<std::string> arguments;
    std::string error;
  };
  std::string x = tensor_argument("self", "x");
  for (const Case& c : std::vector<Case>{
           {"aten.neg.default", {}, "the argument \"self\" is missing"},
           {"aten.neg.default", {argument("self", R"({"as_int": 1})")}, "\"self\" is no tensor"},
           {"aten.cat.default", {argument("tensors", R"({"as_int": 1})")}, "not a list of tensors"},
           {"aten.view.default",
            {x, argument("size", R"({"as_int": 1})")},
            "not a list of integers"},
           {"aten.select.int",
            {x, argument("dim", R"({"as_float": 0.5})"), argument("index", R"({"as_int": 0})")},
            "\"dim\" is not an integer"},
           {"aten.select.int",
            {x, argument("dim", R"({"as_int": 1000})"), argument("index", R"({"as_int": 0})")},
            "is the axis 1000"},
           {"aten.permute.default",
            {x, argument("dims", R"({"as_ints": [900, 0]})")},
            "has the axis 900"},
           {"aten.gelu.default",
            {x, argument("approximate", R"({"as_string": "new"})")},
            "is neither none nor tanh"},
           {"aten.gelu.default",
            {x, argument("approximate", R"({"as_int": 1})")},
            "is not a string"},
           {"aten.div.Tensor_mode",
            {x, argument("other", R"({"as_int": 2})"),
             argument("rounding_mode", R"({"as_string": "up"})")},
            "is neither floor nor trunc"},
           {"aten._to_copy.default",
            {x, argument("dtype", R"({"as_int": 2})")},
            "is not an element type"},
           {"aten.sum.dim_IntList",
            {x, argument("dim", R"({"as_ints": [0]})"), argument("keepdim", R"({"as_int": 2})")},
            "is neither true nor false"},
           {"aten.split_with_sizes.default",
            {x, argument("split_sizes", R"({"as_ints": [2, 2]})")},
            "it has 2 results; the program names 1"}}) {
    ProgramText program = of_any_rows();
    program.nodes = node("torch.ops." + c.target, c.arguments, "y");
    auto module = load(exported_file(program));
    EXPECT_THAT(error_of([&] {
                  module->forward({zeros({4, 3})});
                }),
                HasSubstr(c.error))
        << c.target;
  }
}

TEST_F(Exported, RefusesTablesOfWeightsThatLie) {
  auto table = [](const std::string& facts, const std::string& path = "weight_0",
                  bool is_pickled = false) {
    return weights_table(weight_row("net.weight", path, facts, is_pickled));
  };
  std::string good = tensor_facts(sizes_of({2}), 7, sizes_of({1}));
  EXPECT_THAT(error_of_weights(table(good, "weight_9")),
              HasSubstr("has no entry \"data/weights/weight_9\""));
  EXPECT_THAT(error_of_weights(table(good, "weight_0", true)), HasSubstr("it is pickled"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({3}), 7, sizes_of({1})))),
              HasSubstr("it is f32 [3] with strides [1]"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({2}), 7, sizes_of({1}), 1))),
              HasSubstr("from element 1 on"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({2}), 7, sizes_of({2147483647})))),
              HasSubstr("has 8 bytes"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({2147483647, 2147483647, 2147483647}), 7,
                                                  sizes_of({0, 0, 0})))),
              HasSubstr("has 8 bytes"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({2147483647, 2}), 7, sizes_of({0, 0})))),
              HasSubstr("it repeats 2 elements to 4294967294"));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({2}), 7, "[]"))),
              HasSubstr("1 sizes and 0 strides"));
  std::string symbolic = R"x([{"as_expr": {"expr_str": "Symbol('s0')"}}])x";
  EXPECT_THAT(error_of_weights(table(tensor_facts(symbolic, 7, sizes_of({1})))),
              HasSubstr("holds s0; numbers are wanted"));
  EXPECT_THAT(error_of_weights(weights_table("")), HasSubstr("has no tensor \"net.weight\""));
  EXPECT_THAT(error_of_weights(table(tensor_facts(sizes_of({1}), 7, sizes_of({1})))),
              HasSubstr("is f32 [1]; its program has it as f32 [2]"));
  EXPECT_THAT(error_of_weights("{"), HasSubstr("model_weights_config.json"));
}

TEST_F(Exported, RefusesOtherLayoutsOfFiles) {
  using testing::zip_archive;
  EXPECT_THAT(error_of_file(zip_archive({{"m/weights", "x"}, {"m/version", "3"}})),
              HasSubstr("has no entry \"models/model.json\"; it is not a program that"));
  EXPECT_THAT(error_of_file(zip_archive({{"m/data.pkl", "x"}, {"m/version", "3"}})),
              AllOf(HasSubstr("it looks like weights or a pickled module, as torch.save writes"),
                    HasSubstr("write that with torch.export.save")));
  EXPECT_THAT(error_of_file(zip_archive({{"m/data.pkl", "x"},
                                         {"m/code/__torch__.py", "x"},
                                         {"m/constants.pkl", "x"},
                                         {"m/version", "3"}})),
              AllOf(HasSubstr("it looks like TorchScript, as torch.jit.save writes it"),
                    HasSubstr("write that with torch.export.save")));
  EXPECT_THAT(error_of_file(exported_file({}, {{"byteorder", "big"}})),
              HasSubstr("in another order than little endian"));
}

}  // namespace
}  // namespace tilewright::exported_misuse_test
