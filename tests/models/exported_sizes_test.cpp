// Sizes that vary, numbers that follow from them, and integers that a program is given, against
// what PyTorch makes of them (tools/size_cases.py writes the folder sizes).
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"
#include "tests/models/exported_corpus.h"
#include "tests/models/exported_files.h"
#include "tests/models/folders.h"
#include "tests/source_folder.h"

namespace tilewright::exported_sizes_test {
namespace {

using ::testing::AllOf;
using testing::argument;
using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::node;
using testing::OneCall;
using testing::ProgramText;
using testing::sizes_of;
using testing::tensor_argument;
using testing::tensor_facts;
using testing::tensors_of;

const std::filesystem::path folder = source_folder() / "tests/models/sizes";

class SizesOfPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(SizesOfPrograms, GiveWhatPyTorchMakesOfThem) {
  auto module = load_exported(folder / concat(GetParam(), ".pt2"));
  auto fast = compile(*module, {.tell_breaks = false});
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const auto& call : case_of(folder, GetParam())) {
      SCOPED_TRACE(call["inputs"].dump());
      const std::vector<Tensor> inputs = tensors_of(call["inputs"]);
      expect_near(module->forward(inputs), call["outputs"]);
      expect_near(fast(inputs), call["outputs"]);
    }
}
INSTANTIATE_TEST_SUITE_P(Programs, SizesOfPrograms,
                         ::testing::Values("numbers", "choice", "integers", "rows"),
                         [](const auto& of) { return std::string(of.param); });

// A branch that a size decides is no branch of the graph.
TEST(SizesOfPrograms, ThatDecideABranchBreakNoGraph) {
  auto module = load_exported(folder / "choice.pt2");
  auto fast = compile(*module, {.fullgraph = true});
  for (const auto& call : case_of(folder, "choice"))
    expect_near(fast(tensors_of(call["inputs"])), call["outputs"]);
}

// Batches of an encoder are padded. Its tokens see padded ones, so that prompts are compiled for
// their own size, and the line of the model is named.
TEST(SizesOfPrograms, OfAnEncoderPadBatchesAndNameTheLineThatSeesTokens) {
  const auto all = testing::corpus_cases("models");
  const auto bert = std::ranges::find(all, "models/Bert-dynamic", &testing::CorpusCase::name);
  ASSERT_NE(bert, all.end());
  for (int axis : {0, 1}) {
    const testing::CorpusRun run = testing::corpus_runs(*bert).at(0);
    auto module = load_exported(bert->program);
    auto fast = compile(*module, {.fullgraph = true});
    for (const Tensor& input : run.inputs) mark_dynamic(input, axis, {.buckets = {16}});
    ::testing::internal::CaptureStderr();
    const std::vector<Tensor> got = fast(run.inputs);
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(testing::difference(got, run.outputs, 10), std::nullopt);
    EXPECT_THAT(fast.report().at(0).signature, HasSubstr(axis == 0 ? "i64 16x7" : "i64 3x7"));
    if (axis == 0)
      EXPECT_EQ(told, "");
    else
      EXPECT_THAT(told, AllOf(HasSubstr("softmax in node \"_softmax\" (aten._softmax.default) of "),
                              HasSubstr("Bert-dynamic.pt2, from modeling_bert.py:"),
                              HasSubstr("it goes over a padded axis; mark that axis without "
                                        "buckets, so that the others are padded, or pad and mask "
                                        "it before the call")));
  }
}

Tensor whole(std::int64_t value) { return full({}, value, i64); }

TEST(IntegersOfPrograms, AreInputsWithARange) {
  auto module = load_exported(folder / "rows.pt2");
  ASSERT_EQ(module->inputs().size(), 2U);
  const ProgramInput& k = module->inputs()[1];
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.dtype, i64);
  EXPECT_EQ(k.shape, Shape{});
  ASSERT_TRUE(k.integer.has_value());
  EXPECT_EQ(k.integer->size, module->inputs()[0].dynamic[0].size);
  EXPECT_FALSE(module->inputs()[0].integer.has_value());
  auto said = [&](const std::vector<Tensor>& inputs) {
    return error_of([&] { module->forward(inputs); });
  };
  EXPECT_EQ(said({ones({3, 2}), whole(3)}), "no error");
  EXPECT_THAT(said({ones({3, 2}), whole(4)}),
              HasSubstr("input \"k\" is 4; the program wants 3, as another input or axis has it"));
  EXPECT_THAT(said({ones({3, 2}), ones({1}, i64)}),
              HasSubstr("input \"k\" has shape [1], rank 1; the program takes rank 0"));
  EXPECT_THAT(said({ones({3, 2}), full({}, 3.0)}),
              HasSubstr("input \"k\" is f32; the program takes i64"));
}

// A function that only computes with one is compiled once for all of them.
TEST(IntegersOfPrograms, AreDataWhereTheyDecideNoSize) {
  ProgramText program;
  program.inputs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                      {"user_input": {"arg": {"as_sym_int": {"as_name": "k"}}}})";
  program.nodes =
      node("torch.ops.aten.mul.Tensor",
           {tensor_argument("self", "x"), argument("other", R"({"as_sym_int": {"as_name": "k"}})")},
           "y");
  program.tensors = R"("x": )" + tensor_facts(sizes_of({2}));
  program.ranges = R"("s1": {"min_val": 1, "max_val": 90})";
  std::string text = program.text();
  const std::string none = R"("sym_int_values": {})";
  const auto said_of = [&](const std::string& values) {
    std::string with = text;
    return with.replace(with.find(none), none.size(), R"("sym_int_values": {)" + values + "}");
  };
  const std::string one = R"x("k": {"as_expr": {"expr_str": "Symbol('s1', integer=True)"}})x";
  ScratchFolder files;
  auto load = [&](const std::string& content) {
    return load_exported(
        files.write("net.pt2", testing::exported_file(program, {{"models/model.json", content}})));
  };
  auto module = load(said_of(one));
  auto fast = compile(*module, {.tell_breaks = false});
  for (std::int64_t k : {3, 5, 7, 11, 13, 90})
    EXPECT_EQ(fast({ones({2}), whole(k)})[0].to_vector<float>(),
              std::vector<float>(2, static_cast<float>(k)));
  std::size_t plans = 0;
  for (const PlanReport& plan : fast.report()) plans += plan.launches > 0;
  EXPECT_EQ(plans, 1U);
  EXPECT_THAT(error_of([&] {
                fast({ones({2}), whole(91)});
              }),
              HasSubstr("input \"k\" is 91; the program allows 1 to 90"));
  auto whole_graph = compile(*module, {.fullgraph = true});
  EXPECT_THAT(error_of([&] {
                whole_graph({ones({2}), whole(3)});
              }),
              HasSubstr("input \"k\", an integer of the program"));
  EXPECT_THAT(error_of([&] { load(text); }),
              HasSubstr("input \"k\": \"sym_int_values\" does not describe it"));
  EXPECT_EQ(error_of([&] { load(said_of(R"("k": {"as_int": 3})")); }), "no error");
  EXPECT_THAT(error_of([&] {
                load(said_of(R"("k": {"as_int": 3})"))->forward({ones({2}), whole(4)});
              }),
              HasSubstr("input \"k\" is 4; the program takes 3, and no other"));
  program.inputs += R"(, {"user_input": {"arg": {"as_sym_int": {"as_name": "k"}}}})";
  text = program.text();
  EXPECT_THAT(error_of([&] { load(said_of(one)); }), HasSubstr("there are two of the name \"k\""));
}

// "int 3", "float 0.5", "bool 1".
std::string number(const OneCall& call) {
  const exported::Value value = call.value();
  if (auto* integer = std::get_if<std::int64_t>(&value)) return concat("int ", *integer);
  if (auto* floating = std::get_if<double>(&value)) return concat("float ", *floating);
  return concat("bool ", std::get<bool>(value));
}

TEST(NumbersOfPrograms, StayIntegersAndFitInto64Bits) {
  auto of = [](const char* target, const exported::ArgumentValue& a,
               const exported::ArgumentValue& b) {
    return OneCall(target).with("a", a).with("b", b);
  };
  const std::int64_t two = 2, three = 3, least = INT64_MIN;
  EXPECT_EQ(number(of("torch.sym_max", two, three)), "int 3");
  EXPECT_EQ(number(of("torch.sym_min", two, three)), "int 2");
  EXPECT_EQ(number(of("torch.sym_max", two, 2.5)), "float 2.5");
  EXPECT_EQ(number(of("torch.sym_min", two, 2.5)), "float 2");
  EXPECT_EQ(number(of("_operator.pow", two, three)), "int 8");
  EXPECT_EQ(number(of("_operator.pow", two, std::int64_t{-1})), "float 0.5");
  EXPECT_EQ(number(of("_operator.pow", -two, std::int64_t{63})), "int -9223372036854775808");
  EXPECT_EQ(number(of("_operator.pow", three, std::int64_t{0})), "int 1");
  EXPECT_EQ(number(of("_operator.lshift", -three, std::int64_t{2})), "int -12");
  EXPECT_EQ(number(of("_operator.rshift", -three, std::int64_t{99})), "int -1");
  EXPECT_EQ(number(OneCall("torch.sym_not").with("a", false)), "bool 1");
  EXPECT_EQ(number(OneCall("torch.sym_not").with("a", two)), "bool 0");
  EXPECT_EQ(number(OneCall("torch.sym_float").with("a", three)), "float 3");
  EXPECT_EQ(number(OneCall("torch.sym_int").with("a", -2.9)), "int -2");
  EXPECT_EQ(number(OneCall("torch.sym_int").with("a", INT64_MAX)), "int 9223372036854775807");
  EXPECT_EQ(number(OneCall("math.trunc").with("x", 2.9)), "int 2");
  EXPECT_EQ(number(OneCall("_operator.neg").with("a", 2.5)), "float -2.5");
  EXPECT_EQ(number(OneCall("_operator.pos").with("a", two)), "int 2");
  for (const bool holds : {false, true})
    EXPECT_EQ(number(OneCall("torch.sym_ite").with("b", holds).with("t", two).with("f", true)),
              holds ? "int 2" : "bool 1");
  // Both are asked for, whichever decides.
  EXPECT_EQ(number(of("_operator.or_", true, false)), "bool 1");
  EXPECT_EQ(number(of("_operator.and_", false, true)), "bool 0");
  auto said = [](const OneCall& call) { return error_of([&] { call.value(); }); };
  EXPECT_THAT(said(of("_operator.pow", two, std::int64_t{63})),
              HasSubstr("2 and 63 have no such result in 64 bits"));
  EXPECT_THAT(said(of("_operator.lshift", two, std::int64_t{62})),
              HasSubstr("2 and 62 have no such result in 64 bits"));
  EXPECT_THAT(said(of("_operator.rshift", two, std::int64_t{-1})),
              HasSubstr("2 and -1 have no such result in 64 bits"));
  // Where Python raises a ZeroDivisionError, of floats as well.
  EXPECT_THAT(said(of("_operator.truediv", 2.0, 0.0)), HasSubstr("2 and 0 have no such result"));
  EXPECT_THAT(said(of("_operator.mod", 2.5, 0.0)), HasSubstr("2.5 and 0 have no such result"));
  EXPECT_THAT(said(OneCall("_operator.neg").with("a", least)),
              HasSubstr("-9223372036854775808 has no such result in 64 bits"));
  for (const double far : {1e300, 0x1p63, std::nan("")})
    EXPECT_THAT(said(OneCall("torch.sym_int").with("a", far)),
                HasSubstr("has no such result in 64 bits"));
}

}  // namespace
}  // namespace tilewright::exported_sizes_test
