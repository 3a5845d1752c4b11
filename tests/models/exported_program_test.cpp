#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/exported/program/program.h"
#include "tests/errors.h"
#include "tests/models/exported_files.h"

namespace tilewright::exported_program_test {
namespace {

using exported::Program;
using exported::read_program;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::argument;
using ::testing::HasSubstr;
using testing::node;
using testing::ProgramText;
using testing::sizes_of;
using testing::tensor_argument;
using testing::tensor_facts;

std::string error_of_text(const std::string& text) {
  return error_of([&] { read_program(text, "net.pt2"); });
}
std::string error_of_program(const ProgramText& program) { return error_of_text(program.text()); }
std::string error_of_nodes(const std::string& nodes) {
  ProgramText program;
  program.nodes = nodes;
  return error_of_program(program);
}
// A node with one argument more than a sum has.
std::string error_of_argument(const std::string& value) {
  return error_of_nodes(node(
      "torch.ops.aten.add.Tensor",
      {tensor_argument("self", "x"), tensor_argument("other", "p_w"), argument("alpha", value)},
      "y"));
}

TEST(ExportedProgram, HasInputsNodesAndOutputs) {
  Program program = read_program(ProgramText().text(), "net.pt2");
  ASSERT_EQ(program.inputs.size(), 2U);
  EXPECT_EQ(program.inputs[0].name, "net.weight");
  EXPECT_EQ(program.inputs[0].kind, exported::Input::Kind::parameter);
  EXPECT_EQ(program.inputs[1].name, "x");
  ASSERT_EQ(program.nodes.size(), 1U);
  EXPECT_EQ(program.nodes[0].target, "aten.add.Tensor");
  EXPECT_EQ(program.nodes[0].source, "net.py:7");
  EXPECT_EQ(program.outputs[0].name, "y");
}

TEST(ExportedProgram, ReadsEveryKindOfArgument) {
  for (const char* value :
       {R"({"as_none": true})",
        R"({"as_int": -3})",
        R"({"as_ints": [1, 2]})",
        R"({"as_float": 0.5})",
        R"({"as_float": "-Infinity"})",
        R"({"as_floats": [1, 2.5]})",
        R"({"as_bool": true})",
        R"({"as_bools": [true]})",
        R"({"as_string": "tanh"})",
        R"({"as_operator": "torch.ops.aten.sin.default"})",
        R"({"as_scalar_type": 7})",
        R"({"as_scalar_type": 10})",
        R"({"as_complex": {"real": 1.0, "imag": "-Infinity"}})",
        R"({"as_device": {"type": "cpu", "index": null}})",
        R"({"as_layout": 7})",
        R"({"as_memory_format": 1})",
        R"({"as_sym_int": {"as_int": 3}})",
        R"({"as_sym_ints": [{"as_int": 3}]})",
        R"({"as_sym_float": {"as_float": 3}})",
        R"({"as_sym_bool": {"as_bool": true}})",
        R"({"as_tensor": {"name": "x"}})",
        R"({"as_tensors": [{"name": "x"}]})",
        R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})"})
    EXPECT_EQ(error_of_argument(value), "no error") << value;
}

// A program with nodes that have effects: neither an input nor an output.
TEST(ExportedProgram, PassesOnTokensThatOrderEffects) {
  ProgramText program;
  const std::string token = R"({"token": {"arg": {"name": "before"}}}, )";
  program.inputs = token + program.inputs;
  program.outputs = R"({"token": {"arg": {"name": "after"}}}, )" + program.outputs;
  program.nodes +=
      ", " + node("torch.ops.higher_order.with_effects", {tensor_argument("", "before")}, "after");
  const Program read = read_program(program.text(), "net.pt2");
  EXPECT_EQ(read.inputs.size(), 2U);
  EXPECT_EQ(read.outputs.size(), 1U);
  program.inputs = token + program.inputs;
  EXPECT_THAT(error_of_program(program), HasSubstr("\"before\" is defined twice"));
  program = {};
  program.outputs = R"({"token": {"arg": {"name": "after"}}})";
  EXPECT_THAT(error_of_program(program), HasSubstr("\"after\" is used and was not defined"));
}

TEST(ExportedProgram, RefusesArgumentsOfOtherForms) {
  struct Case {
    const char *value, *error;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"as_int": "3"})", "\"alpha\" is \"3\"; an integer is wanted"},
           {R"({"as_int": 1.5})", "an integer is wanted"},
           {R"({"as_float": "many"})", "a number is wanted"},
           {R"({"as_bool": 1})", "true or false is wanted"},
           {R"({"as_ints": 3})", "an array is wanted"},
           {R"({"as_string": null})", "a string is wanted"},
           {R"({"as_scalar_type": 9})", "element type 9 (complex numbers of floats of 16 bits)"},
           {R"({"as_complex": {"real": 1.0}})", "\"imag\" is missing"},
           {R"({"as_scalar_type": 99})", "element type 99, which is not supported"},
           {R"({"as_layout": 1})", "layout 1"},
           {R"({"as_memory_format": 9})", "memory format 9"},
           {R"({"as_sym_int": {"as_expr": 1}})", "a name or a number is wanted"},
           {R"({"as_sym_int": {"as_name": "s9"}})", "\"s9\" is used and was not defined before"},
           {R"({"as_sym_ints": [{"as_bool": true}]})", "holds an element that is not an integer"},
           {R"({"as_optional_tensors": [{"as_int": 1}]})", "tensors and none are wanted"},
           {R"({"as_custom_obj": {}})", "\"alpha\" is as_custom_obj, which is not supported"},
           {R"({"as_int": 1, "as_none": true})", "an object with one member"},
           {R"([])", "an object with one member"},
           {R"({})", "an object with one member"}})
    EXPECT_THAT(error_of_argument(c.value),
                AllOf(HasSubstr("net.pt2: node 0 \"y\" (aten.add.Tensor)"), HasSubstr(c.error)))
        << c.value;
}

TEST(ExportedProgram, RefusesNamesThatAreNotDefinedOrTwice) {
  std::string later = node("torch.ops.aten.neg.default", {tensor_argument("self", "z")}, "y") +
                      "," + node("torch.ops.aten.neg.default", {tensor_argument("self", "x")}, "z");
  EXPECT_THAT(error_of_nodes(later), HasSubstr("\"z\" is used and was not defined before"));
  std::string itself = node("torch.ops.aten.neg.default", {tensor_argument("self", "y")}, "y");
  EXPECT_THAT(error_of_nodes(itself), HasSubstr("\"y\" is used and was not defined before"));
  std::string twice = node("torch.ops.aten.neg.default", {tensor_argument("self", "x")}, "x");
  EXPECT_THAT(error_of_nodes(twice), HasSubstr("\"x\" is defined twice"));
  ProgramText program;
  program.outputs = R"({"user_output": {"arg": {"as_tensor": {"name": "q"}}}})";
  EXPECT_THAT(error_of_program(program), HasSubstr("output 0: \"q\" is used"));
}

TEST(ExportedProgram, RefusesInputsAndOutputsOfOtherKinds) {
  struct Case {
    const char *inputs, *error;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"custom_obj": {"arg": {"name": "o"}}})", "it is a custom_obj"},
           {R"({"user_input": {"arg": {"as_sym_float": {"as_name": "s"}}}})",
            "it is as_sym_float; inputs are tensors and integers"},
           {R"({"user_input": {"arg": {"as_sym_int": {"as_name": "s"}}}})",
            "\"sym_int_values\" does not describe it"},
           {R"({"user_input": {"arg": {"as_tensor": {"name": "u"}}}})", "does not describe it"},
           {R"({"user_input": {}})", "\"arg\" is missing"},
           {R"(3)", "an object with one member"}}) {
    ProgramText program;
    program.inputs = c.inputs;
    EXPECT_THAT(error_of_program(program), HasSubstr(c.error)) << c.inputs;
  }
  ProgramText program;
  program.outputs = R"({"user_output": {"arg": {"as_string": "3"}}})";
  EXPECT_THAT(error_of_program(program), HasSubstr("outputs are tensors and numbers"));
  program.outputs = R"({"user_output": {"arg": {"as_sym_int": {"as_name": "s"}}}})";
  EXPECT_THAT(error_of_program(program), HasSubstr("\"s\" is used and was not defined before"));
  program.outputs = R"({"loss_output": {"arg": {"name": "y"}}})";
  EXPECT_THAT(error_of_program(program), HasSubstr("it is a loss_output"));
  program.outputs = R"({"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "b"}})";
  EXPECT_THAT(error_of_program(program),
              HasSubstr("it is written to \"b\", which is not an input"));
  ProgramText twice;
  for (const char* name : {"b_v", "b_w"}) {
    twice.inputs += concat(R"(, {"buffer": {"arg": {"name": ")", name,
                           R"("}, "buffer_name": "net.mean", "persistent": true}})");
    twice.tensors += concat(R"(, ")", name, R"(": )", tensor_facts(sizes_of({2})));
  }
  EXPECT_THAT(error_of_program(twice), HasSubstr("two of the name \"net.mean\""));
}

// One that two modules share.
TEST(ExportedProgram, MayTakeAParameterTwice) {
  ProgramText twice;
  twice.inputs += R"(, {"parameter": {"arg": {"name": "p_v"}, "parameter_name": "net.weight"}})";
  twice.tensors += R"(, "p_v": )" + tensor_facts(sizes_of({2}));
  EXPECT_EQ(read_program(twice.text(), "net.pt2").inputs.size(), 3U);
}

TEST(ExportedProgram, PassesOverArgumentsThatWereFixed) {
  ProgramText program;
  program.inputs += R"(, {"user_input": {"arg": {"as_none": true}}},
                       {"constant_input": {"name": "flag", "value": {"as_bool": true}}})";
  EXPECT_EQ(read_program(program.text(), "net.pt2").inputs.size(), 2U);
}

TEST(ExportedProgram, RefusesTensorsThatCannotBe) {
  struct Case {
    std::string facts, error;
  };
  std::string many;
  for (int i = 0; i < 100; ++i) many += R"({"as_int": 1},)";
  for (const Case& c : std::vector<Case>{
           {tensor_facts("[{\"as_int\": -1}]"), "\"sizes\" is -1"},
           {tensor_facts("[" + many + "{\"as_int\": 1}]"), "it has 101 axes"},
           {tensor_facts("[{\"as_expr\": {\"expr_str\": \"import os\"}}]"), "cannot be read"},
           {tensor_facts("[]", 9), "element type 9 (complex numbers of floats of 16 bits)"},
           {"{}", "\"dtype\" is missing"}}) {
    ProgramText program;
    program.tensors = R"("p_w": )" + tensor_facts("[]") + R"(, "x": )" + c.facts;
    EXPECT_THAT(error_of_program(program), HasSubstr(c.error));
  }
}

TEST(ExportedProgram, NeedsNoSizesBetweenItsNodes) {
  ProgramText program;
  program.tensors += R"(, "y": )" + tensor_facts(R"x([{"as_expr": {"expr_str": "Novel([s0])"}}])x");
  EXPECT_EQ(read_program(program.text(), "net.pt2").nodes.size(), 1U);
}

TEST(ExportedProgram, RefusesOtherVersionsAndRanges) {
  ProgramText program;
  program.version = R"({"major": 5, "minor": 1})";
  EXPECT_THAT(error_of_program(program), HasSubstr("it has version 5 of PyTorch's schema"));
  ProgramText ranges;
  ranges.ranges = R"("s0": {"min_val": 5, "max_val": 4})";
  EXPECT_THAT(error_of_program(ranges), HasSubstr("range of \"s0\": it goes from 5 to 4"));
}

TEST(ExportedProgram, RefusesEveryTruncationAndDeepText) {
  std::string whole = ProgramText().text();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_of_text(whole.substr(0, size)), HasSubstr("[load_exported]")) << size;
  EXPECT_THAT(error_of_text(std::string(100'000, '[')), HasSubstr("[load_exported] net.pt2"));
}

TEST(ExportedProgram, SurvivesEveryChangedByte) {
  std::string whole = ProgramText().text();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (char c : {'"', '{', ']', '9', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = c;
      EXPECT_THAT(error_of_text(damaged), AnyOf("no error", HasSubstr("[load_exported] net.pt2")));
    }
}

TEST(ExportedProgram, ShowsForeignNamesWithoutControlCharacters) {
  EXPECT_THAT(error_of_nodes(
                  node("torch.ops.aten.neg.default", {tensor_argument("self", "\\u001b[2J")}, "y")),
              HasSubstr("\"?[2J\" is used"));
}

}  // namespace
}  // namespace tilewright::exported_program_test
