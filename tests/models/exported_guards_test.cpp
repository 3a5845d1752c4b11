// Conditions on sizes under which a program was exported, and sizes that follow from floats,
// against PyTorch (tools/guard_cases.py writes the folder guards).
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "models/programs/python_expression.h"
#include "tests/errors.h"
#include "tests/models/exported_cases.h"
#include "tests/models/exported_files.h"
#include "tests/models/folders.h"
#include "tests/source_folder.h"

namespace tilewright::exported_guards_test {
namespace {

using ::testing::AllOf;
using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::ProgramText;
using testing::tensor_facts;
using testing::tensors_of;

const std::filesystem::path folder = source_folder() / "tests/models/guards";

class GuardedPrograms : public ::testing::TestWithParam<const char*> {};

// Refusals among the calls: a function that is compiled already must refuse as well.
TEST_P(GuardedPrograms, TakeTheCallsThatPyTorchTakesAndRefuseTheOthers) {
  auto module = load_exported(folder / concat(GetParam(), ".pt2"));
  auto fast = compile(*module, {.tell_breaks = false});
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const auto& call : case_of(folder, GetParam())) {
      SCOPED_TRACE(call["inputs"].dump());
      const std::vector<Tensor> inputs = tensors_of(call["inputs"]);
      if (call.contains("outputs")) {
        expect_near(module->forward(inputs), call["outputs"]);
        expect_near(fast(inputs), call["outputs"]);
        continue;
      }
      for (const std::string& error :
           {error_of([&] { module->forward(inputs); }), error_of([&] { fast(inputs); })})
        EXPECT_TRUE(error.starts_with("[exported] guard ") ||
                    error.find("; the program ") != error.npos)
            << error << "\nPyTorch: " << call["refused"];
    }
}
INSTANTIATE_TEST_SUITE_P(Programs, GuardedPrograms,
                         ::testing::Values("parity", "larger", "unequal", "halves", "quotients",
                                           "floats", "powers", "roots", "integers", "same_names",
                                           "nested", "window", "derived", "shifted", "even",
                                           "ranges", "half", "half_bilinear", "half_recomputed",
                                           "larger_bilinear", "third_bicubic"),
                         [](const auto& of) { return std::string(of.param); });

TEST(GuardsOfPrograms, AreNamedWithTheSizesForWhichTheyFail) {
  auto parity = load_exported(folder / "parity.pt2");
  EXPECT_EQ(error_of([&] {
              parity->forward({ones({3, 7})});
            }),
            "[exported] guard 1 of the program fails: (L['x'].size()[0] % 2) == 0 where "
            "L['x'].size()[0] is 3; the program was exported for sizes for which it holds");
  auto nested = load_exported(folder / "nested.pt2");
  auto said = [&](std::int64_t rows, std::int64_t others) {
    return error_of([&] {
      nested->forward({ones({rows}), ones({others}), ones({2}), ones({5}), ones({1})});
    });
  };
  EXPECT_EQ(said(4, 5), "no error");
  EXPECT_THAT(said(4, 3),
              AllOf(HasSubstr("L['args'][0].size()[0] is 3"), HasSubstr("L['x'].size()[0] is 4")));
}

class Guards : public ::testing::Test {
 protected:
  // y = x + x of f32 [s0, 3], with these guards as JSON.
  std::filesystem::path program(const std::string& guards) {
    ProgramText program;
    program.inputs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
    program.nodes = testing::node(
        "torch.ops.aten.add.Tensor",
        {testing::tensor_argument("self", "x"), testing::tensor_argument("other", "x")}, "y");
    program.tensors =
        R"("x": )" +
        tensor_facts(R"x([{"as_expr": {"expr_str": "Symbol('s0')"}}, {"as_int": 3}])x");
    std::string text = program.text();
    text.insert(text.size() - 1, R"(, "guards_code": )" + guards);
    return files_.write("net.pt2", testing::exported_file(program, {{"models/model.json", text}}));
  }
  std::string error_of_load(const std::string& guards) {
    const auto path = program(guards);
    return error_of([&] { load_exported(path); });
  }
  ScratchFolder files_;
};

TEST_F(Guards, MayNeedStridesAndNumbersThatAreNotThere) {
  auto module =
      load_exported(program(R"(["L['x'].stride()[0] == 3 and 12 // L['x'].size()[0] > 2"])"));
  EXPECT_EQ(error_of([&] { module->forward({ones({4, 3})}); }), "no error");
  EXPECT_THAT(error_of([&] {
                module->forward({ones({6, 3})});
              }),
              HasSubstr("guard 1 of the program fails"));
  EXPECT_THAT(error_of([&] {
                module->forward({ones({0, 3})});
              }),
              HasSubstr("guard 1 of the program has no value"));
}

TEST_F(Guards, ThatCannotBeReadAreRefused) {
  EXPECT_THAT(error_of_load(R"([3])"), HasSubstr("\"guards_code\" is 3; a string is wanted"));
  EXPECT_THAT(error_of_load(R"x(["__import__('os')"])x"),
              HasSubstr("guard 1, __import__('os'), cannot be read"));
  EXPECT_THAT(
      error_of_load(R"(["L['x'].size()[0] > 1", "L['y'].size()[0] > 1"])"),
      HasSubstr("guard 2, L['y'].size()[0] > 1, names L['y'].size()[0], which is no size of "
                "an input"));
  for (const char* name :
       {"L['x'].size()[2]", "x", "K['x']", "L['x']", "L['x'].size()", "L['x'].size()[a]", "L",
        "L['x'].data()[0]", "L['x'].size()[0].y", "L.", "L[]"})
    EXPECT_THAT(error_of_load(concat("[\"", name, " > 1\"]")), HasSubstr("guard 1")) << name;
  std::string many = "[\"1 == 1\"";
  for (int i = 0; i < 10'000; ++i) many += ", \"1 == 1\"";
  EXPECT_THAT(error_of_load(many + "]"), HasSubstr("it has 10001 guards"));
}

// Results are Python's.
TEST(PythonExpressions, HaveThePrecedenceAndResultsOfPython) {
  auto value = [](const char* text) {
    const auto number = number_of(programs::parse_python_expression(text).value(),
                                  {{"L['a'].size()[0]", 7}, {"L['b']", -3}});
    return number ? number->as_double() : std::nan("");
  };
  EXPECT_EQ(value("1 + 2*3 - 4"), 3);
  EXPECT_EQ(value("2 ** 3 ** 2"), 512);
  EXPECT_EQ(value("-2 ** 2"), -4);
  EXPECT_EQ(value("2 ** -1"), 0.5);
  EXPECT_EQ(value("-7 // 2"), -4);
  EXPECT_EQ(value("-7 % 3"), 2);
  EXPECT_EQ(value("7 % -3"), -2);
  EXPECT_EQ(value("7.5 // -2"), -4);
  EXPECT_EQ(value("-7.5 % 2.0"), 0.5);
  EXPECT_EQ(value("100 // 7 // 2"), 7);
  EXPECT_EQ(value("8 - 3 - 2"), 3);
  EXPECT_EQ(value("1 << 3 | 1 ^ 3 & 2"), 11);
  EXPECT_EQ(value("7 / 2"), 3.5);
  EXPECT_EQ(value("not 1 == 2 and 3 > 2"), 1);
  EXPECT_EQ(value("1 == 2 or 0 if 1 > 2 else 5"), 5);
  EXPECT_EQ(value("round(2.5)"), 2);
  EXPECT_EQ(value("round(3.5)"), 4);
  EXPECT_EQ(value("round(2.675, 2)"), 2.67);
  EXPECT_EQ(value("int(-2.5) + math.floor(-2.5) + math.ceil(-2.5) + math.trunc(2.9)"), -5);
  EXPECT_EQ(value("torch.sym_max(1, torch.sym_min(2.5, 4))"), 2.5);
  EXPECT_EQ(value("max(1, 3, 2) - min(4, L['b'])"), 6);
  EXPECT_EQ(value("abs(L['b'])*torch.sym_float(L['a'].size()[0])"), 21);
  EXPECT_EQ(value("torch._sym_sqrt(16.0) + math.log2(8)"), 7);
  EXPECT_EQ(value("1e-1 < .5 and math.inf > 1e300"), 1);
  EXPECT_EQ(value("1 == 1 or 1 // 0 == 1"), 1);
}

TEST(PythonExpressions, HaveNoValueWherePythonRaises) {
  for (const char* text : {"1 // 0", "1 % 0", "1 / 0", "1.0 // 0.0", "0 ** -1", "(-2) ** 0.5",
                           "torch._sym_sqrt(-1.0)", "math.trunc(1e300)", "math.floor(math.inf)",
                           "1 << -1", "9223372036854775807 + 1", "3 ** 99", "L['z'] > 1"})
    EXPECT_FALSE(number_of(programs::parse_python_expression(text).value(), {}).has_value())
        << text;
}

TEST(PythonExpressions, AreBoundedInLengthAndDepth) {
  auto repeated = [](std::string_view text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string sum = "1" + repeated(" + 1", 9999);
  EXPECT_EQ(number_of(programs::parse_python_expression(sum).value(), {})->as_integer(), 10'000);
  for (const std::string& text : {sum + repeated(" + 1", 9999),
                                  repeated("(", 9999),
                                  repeated("-", 9999) + "1",
                                  repeated("not ", 9999) + "1",
                                  "1" + repeated(" // 1", 9999),
                                  "1" + repeated(" ** 1", 9999),
                                  repeated("abs(", 9999),
                                  "1" + repeated(" if 1 else 1", 4999),
                                  std::string(),
                                  std::string("1 < 2 < 3"),
                                  std::string("f(1)"),
                                  std::string("1 +"),
                                  std::string("1 1"),
                                  std::string("x.y"),
                                  std::string("9223372036854775808"),
                                  std::string("1x"),
                                  std::string("L['x"),
                                  std::string("L['x\\"),
                                  std::string("round()"),
                                  std::string("max(1)"),
                                  std::string("1 # 2")})
    EXPECT_FALSE(programs::parse_python_expression(text).has_value()) << text.substr(0, 40);
}

}  // namespace
}  // namespace tilewright::exported_guards_test
