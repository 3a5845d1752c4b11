// Branches, loops and sequences of ONNX models: the results of ONNX Runtime, at once and compiled,
// and errors for wrong models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "runtime/plan/loop_stop.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::control_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using testing::How;
using testing::onnx_cases;
using testing::OnnxCase;
using testing::what_is_wrong;

// Their sizes depend on the data, so that the host reads it.
const std::set<std::string, std::less<>> of_unknown_sizes = {
    "branch_of_other_sizes", "branch_with_sequences", "loop_that_stacks_as_many_as_go_in",
    "loop_that_stacks_until_the_data_says"};

void check_all(How how) {
  const std::vector<OnnxCase> cases = onnx_cases("control.zip");
  ASSERT_GE(cases.size(), 1U);
  ScratchFolder folder;
  for (const OnnxCase& c : cases) {
    const bool has_number = std::isdigit(c.name.back()) != 0;
    const std::string model = has_number ? c.name.substr(0, c.name.size() - 2) : c.name;
    if (how == How::as_one_graph && of_unknown_sizes.contains(model)) continue;
    EXPECT_EQ(what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
  }
}

TEST(OnnxControl, AtOnceComputesWhatOnnxRuntimeDoes) { check_all(How::at_once); }
TEST(OnnxControl, CompiledComputesWhatOnnxRuntimeDoes) { check_all(How::compiled); }
TEST(OnnxControl, IsOneGraphUnlessTheDataDecidesSizes) { check_all(How::as_one_graph); }

// Text of graphs, whose bodies are attributes.
std::string body(std::string_view name, const GraphParts& parts) {
  return bytes(5, bytes(1, name) + bytes(6, bytes(2, "inner") + graph_of(parts)) + number(20, 5));
}
std::string named(std::string_view name) { return bytes(1, name); }
std::string integer(std::string_view name, const std::vector<std::int64_t>& values) {
  const bool is_scalar = values.size() == 1;
  const std::string sizes = is_scalar ? "" : numbers(1, {std::ssize(values)});
  return sizes + number(2, is_int64) + numbers(7, values) + bytes(8, name);
}
std::string flag(std::string_view name) { return number(2, 9) + numbers(5, {1}) + bytes(8, name); }

// y, and what else is named, of x [2] by a loop of `count` turns.
struct LoopParts {
  std::int64_t count = 3;
  std::vector<std::string> operands = {"n", "t", "x"}, results = {"y"};
  GraphParts body = {{node("Identity", {"c"}, {"d"}), node("Sin", {"s"}, {"r"})},
                     {},
                     {named("i"), named("c"), named("s")},
                     {named("d"), named("r")}};
};
std::string looping(const LoopParts& parts) {
  return model(graph_of({{node("Loop", parts.operands, parts.results, body("body", parts.body))},
                         {integer("n", {parts.count}), integer("two", {1, 1}), flag("t")},
                         {value("x", {"2"})},
                         {value("y", {"2"})}}));
}
std::string of_nodes(const std::vector<std::string>& nodes) {
  return model(
      graph_of({nodes,
                {integer("n", {3}), integer("zero", {0}), integer("two", {1, 1}), flag("t")},
                {value("x", {"2"})},
                {value("y", {"2"})}}));
}

// At once and compiled, which say the same.
std::string error_of(const std::string& content) {
  ScratchFolder folder;
  auto error = [&](const std::function<void(const OnnxModule&)>& what) -> std::string {
    try {
      what(*load_onnx(folder.write("model.onnx", content)));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor x = ones({2});
  const std::string at_once = error([&](const OnnxModule& module) { module.forward({x}); });
  const std::string compiled = error([&](const OnnxModule& module) { compile(module)({x}); });
  EXPECT_EQ(at_once == "no error", compiled == "no error") << at_once << '\n' << compiled;
  return concat(at_once, "\n", compiled);
}

struct Wrong {
  const char* what;
  std::string file;
  const char* says;
};

// Loops of so many turns, one inside another.
std::string nested(int depth, std::int64_t turns) {
  GraphParts parts = LoopParts().body;
  for (int level = 1; level < depth; ++level)
    parts.nodes[1] = node("Loop", {"n", "t", "s"}, {"r"}, body("body", parts));
  return looping({.count = turns, .body = parts});
}

TEST(OnnxControl, NestedLoopsAreUnrolledWithinABudget) {
  ScratchFolder folder;
  const Tensor x = Tensor::from(std::vector<float>{0.5F, -1}, {2});
  auto few = load_onnx(folder.write("few.onnx", nested(3, 4)));
  EXPECT_EQ(compile(*few)({x})[0].to_vector<float>(), few->forward({x})[0].to_vector<float>());
  // 65,536 turns of the innermost, of which none is a node of its own.
  auto many = load_onnx(folder.write("many.onnx", nested(4, 16)));
  const auto fast = compile(*many);
  fast({x});
  EXPECT_LE(fast.report().at(0).nodes, 100);
}

std::vector<Wrong> wrong_loops() {
  const GraphParts right = LoopParts().body;
  auto with_nodes = [&](std::vector<std::string> nodes) {
    GraphParts parts = right;
    parts.nodes = std::move(nodes);
    return looping({.body = parts});
  };
  auto with_outputs = [&](std::vector<std::string> outputs) {
    GraphParts parts = right;
    parts.outputs = std::move(outputs);
    return looping({.body = parts});
  };
  GraphParts endless = right;
  endless.nodes[0] = node("Identity", {"t"}, {"d"});
  return {
      {"nothing", looping({}), "no error"},
      {"a value from nowhere",
       with_nodes({node("Identity", {"c"}, {"d"}), node("Sin", {"nothing"}, {"r"})}),
       "read \"nothing\", which nothing gives"},
      {"a value of the loop itself",
       with_nodes({node("Identity", {"c"}, {"d"}), node("Sin", {"y"}, {"r"})}),
       "node \"y\" (Loop), which reads node \"y\""},
      {"a cycle", with_nodes({node("Identity", {"c"}, {"d"}), node("Sin", {"r"}, {"r"})}),
       "node \"r\" (Sin), which reads node \"r\""},
      {"an output from nowhere", with_outputs({named("d"), named("nothing")}),
       "the outputs of a body of node \"y\" read \"nothing\""},
      {"too few outputs", with_outputs({named("d")}),
       "the body \"inner\" gives 1 values; the condition and the 1 that are carried are wanted"},
      {"no outputs", with_outputs({}), "the body \"inner\" gives 0 values"},
      {"a condition that is no flag", with_outputs({named("i"), named("r")}),
       "the condition of a loop is i64; bool is wanted"},
      {"a condition of two elements",
       with_nodes({node("Equal", {"two", "two"}, {"d"}), node("Sin", {"s"}, {"r"})}),
       "the condition of a loop is [2]; one element is wanted"},
      {"too many operands", looping({.operands = {"n", "t", "x", "x"}}),
       "takes 3 values; the loop has 2 that are carried"},
      {"too few operands", looping({.operands = {"n", "t"}}), "the loop has 0 that are carried"},
      {"too many results", looping({.results = {"y", "z"}}), "its result 1 is not supported"},
      {"a count of two", looping({.operands = {"two", "t", "x"}}),
       "the count of a loop is [2]; one element is wanted"},
      {"no body", of_nodes({node("Loop", {"n", "t", "x"}, {"y"})}),
       "the attribute \"body\" is missing\n  in node \"y\" (Loop)"},
      {"turns without number", looping({.count = INT64_MAX}), "a loop of more than"},
      {"no end", looping({.operands = {"", "", "x"}, .body = endless}), "its count is left out"},
      {"an error in the body",
       with_nodes({node("Identity", {"c"}, {"d"}), node("MatMul", {"s", "n"}, {"r"})}),
       "in node \"r\" (MatMul)"},
  };
}

std::vector<Wrong> wrong_others() {
  const std::string branch =
      body("then_branch", {{node("Sin", {"x"}, {"p"})}, {}, {}, {named("p")}});
  const std::string other = body("else_branch", {{}, {}, {}, {}});
  const std::string scanning =
      body("body", {{node("Sin", {"s"}, {"r"})}, {}, {named("s")}, {named("r")}});
  return {
      {"one branch", of_nodes({node("If", {"t"}, {"y"}, branch)}), "\"else_branch\" is missing"},
      {"branches that give other numbers", of_nodes({node("If", {"t"}, {"y"}, branch + other)}),
       "one branch gives 1 values, the other 0"},
      {"a condition that is no flag", of_nodes({node("If", {"n"}, {"y"}, branch + branch)}),
       "\"else_branch\" is missing"},
      {"a scan of more than there is",
       of_nodes({node("Scan", {"x"}, {"y"}, scanning + attribute("num_scan_inputs", 2))}),
       "is 2; 1 to 1 are given"},
      {"a scan of nothing",
       of_nodes({node("Scan", {"x"}, {"y"}, scanning + attribute("num_scan_inputs", 0))}),
       "is 0; 1 to 1 are given"},
      {"a scan of a number",
       of_nodes({node("Scan", {"n"}, {"y"}, scanning + attribute("num_scan_inputs", 1))}),
       "axis 0 is outside the rank 0"},
      {"a body that takes more",
       of_nodes({node("Scan", {"x", "x"}, {"y"}, scanning + attribute("num_scan_inputs", 1))}),
       "the body \"inner\" takes 1 values and is given 2"},
      {"a place outside of a sequence",
       of_nodes({node("SequenceConstruct", {"x"}, {"s"}), node("SequenceAt", {"s", "n"}, {"y"})}),
       "place 3 of a sequence where 1 are possible"},
      {"a tensor for a sequence", of_nodes({node("SequenceAt", {"x", "zero"}, {"y"})}),
       "a tensor stands where a sequence is wanted"},
      {"a sequence for a tensor",
       of_nodes({node("SequenceConstruct", {"x"}, {"s"}), node("Sin", {"s"}, {"y"})}),
       "a sequence stands where a tensor is wanted"},
      {"a sequence of sequences",
       of_nodes(
           {node("SequenceConstruct", {"x"}, {"s"}), node("SequenceInsert", {"s", "s"}, {"y"})}),
       "a sequence of sequences"},
      {"a sequence that comes out", of_nodes({node("SequenceConstruct", {"x"}, {"y"})}),
       "output \"y\" is a sequence; outputs are tensors"},
      {"nothing that comes out", of_nodes({node("Optional", {}, {"y"})}), "that is absent"},
      {"an end of an empty sequence",
       of_nodes({node("SequenceEmpty", {}, {"s"}), node("SequenceErase", {"s"}, {"y"})}),
       "an empty sequence has no element to erase"},
      {"an empty sequence, joined",
       of_nodes({node("SequenceEmpty", {}, {"s"}),
                 node("ConcatFromSequence", {"s"}, {"y"}, attribute("axis", 0))}),
       "an empty sequence has nothing to join"},
      {"parts of no size", of_nodes({node("SplitToSequence", {"x", "zero"}, {"y"})}),
       "parts of size 0"},
  };
}

TEST(OnnxControl, RefusesWhatIsWrongAndSaysWhat) {
  for (const auto& all : {wrong_loops(), wrong_others()})
    for (const Wrong& each : all)
      EXPECT_THAT(error_of(each.file), HasSubstr(each.says)) << each.what;
}

TEST(OnnxControl, RefusesGraphsWithinGraphsWithoutNumber) {
  std::string inner;
  for (int i = 0; i < 40; ++i)
    inner = node("If", {"t"}, {},
                 bytes(5, bytes(1, "then_branch") + bytes(6, bytes(1, inner)) + number(20, 5)));
  EXPECT_THAT(error_of(of_nodes({inner})), HasSubstr("more than 32 deep"));
}

// Where the data decides a size, our line that reads it means nothing to the owner of the model. A
// condition of data that never becomes false, at once and as a loop of the graph.
TEST(OnnxControl, ALoopThatNeverEndsCanBeStopped) {
  const GraphParts endless{
      {node("Less", {"s", "s"}, {"below"}), node("Not", {"below"}, {"each"}),
       node("Cast", {"each"}, {"numbers"}, attribute("to", 1)),
       node("ReduceMin", {"numbers"}, {"least"}, attribute("keepdims", 0)),
       node("Cast", {"least"}, {"d"}, attribute("to", 9)), node("Identity", {"s"}, {"r"})},
      {},
      {named("i"), named("c"), named("s")},
      {named("d"), named("r")}};
  ScratchFolder folder;
  const auto module =
      load_onnx(folder.write("model.onnx", looping({.operands = {"", "t", "x"}, .body = endless})));
  auto fast = compile(*module);
  for (bool is_compiled : {false, true}) {
    std::atomic<bool> stop = false;
    std::thread watch([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(is_compiled ? 200 : 20));
      stop = true;
    });
    StoppableLoops stoppable(stop);
    std::string error = "no error";
    try {
      is_compiled ? fast({ones({2})}) : module->forward({ones({2})});
    } catch (const Error& raised) {
      error = raised.what();
    }
    watch.join();
    EXPECT_THAT(error, HasSubstr(is_compiled ? "[while_loop] was stopped after "
                                             : "[onnx Loop] was stopped after "));
  }
}

TEST(OnnxControl, ABreakNamesItsNode) {
  ScratchFolder folder;
  const auto module = load_onnx(
      folder.write("model.onnx",
                   of_nodes({node("NonZero", {"x"}, {"places"}), node("Size", {"places"}, {"many"}),
                             node("Cast", {"many"}, {"factor"}, attribute("to", 1)),
                             node("Mul", {"x", "factor"}, {"y"})})));
  auto fast = compile(*module, {.tell_breaks = false});
  fast({ones({2})});
  EXPECT_THAT(fast.report().at(0).graph_break, HasSubstr("in node \"places\" (NonZero)"));
  try {
    compile(*module, {.fullgraph = true})({ones({2})});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(" in node \"places\" (NonZero), which breaks the graph"));
  }
}

}  // namespace
}  // namespace tilewright::control_test
