#include "graph/ir/ir.h"

#include "graph/ir/text.h"
#include "tests/errors.h"

namespace tilewright::graph::ir_test {
namespace {

TEST(GraphOps, HaveAnAgreeingTable) {
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpInfo& row = all_ops()[i];
    EXPECT_EQ(parse_op(row.name), static_cast<Op>(i)) << row.name;
    EXPECT_EQ(row.tile_op.has_value(), row.kind == Kind::pointwise) << row.name;
  }
  EXPECT_EQ(parse_op("no_such_op"), std::nullopt);
  EXPECT_EQ(info(Op::add).tile_op, ir::Op::add_);
  EXPECT_TRUE(info(Op::exp).floating_only);
  EXPECT_FALSE(info(Op::relu).floating_only);
}

Graph sum_of_exp(int axis) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {2, 3});
  NodeId e = builder.append(Op::exp, {x});
  Attributes attributes;
  attributes.axes = {axis};
  graph.outputs = {builder.append(Op::sum, {e}, attributes)};
  return graph;
}

TEST(GraphHash, IsOfMeaningAndNotOfSourceLines) {
  Graph a = sum_of_exp(1);
  Graph b = sum_of_exp(1);
  b.nodes[1].where = std::source_location::current();
  EXPECT_EQ(content_hash(a), content_hash(b));
}

TEST(GraphHash, ChangesWithEveryFieldThatMeansSomething) {
  Graph graph = sum_of_exp(1);
  Hash hash = content_hash(graph);
  auto differs = [&](auto change) {
    Graph other = graph;
    change(other);
    return content_hash(other) != hash;
  };
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[1].op = Op::log; }));
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[2].attributes.axes = {0}; }));
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[2].attributes.number = 1; }));
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[2].operands = {0}; }));
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[0].dtype = f16; }));
  EXPECT_TRUE(differs([](Graph& g) { g.nodes[0].shape = {3, 2}; }));
  EXPECT_TRUE(differs([](Graph& g) { g.outputs = {1}; }));
  EXPECT_TRUE(differs([](Graph& g) { g.mutations = {{0, 1}}; }));
  EXPECT_TRUE(differs([](Graph& g) { g.input_strides = {{1, 2}}; }));
}

TEST(GraphVerify, AcceptsWhatTheBuilderMakes) { EXPECT_NO_THROW(verify(sum_of_exp(0))); }

TEST(GraphVerify, FindsBrokenGraphs) {
  auto broken = [](auto change) {
    Graph graph = sum_of_exp(1);
    change(graph);
    EXPECT_THROW(verify(graph), InternalError);
  };
  broken([](Graph& g) { g.nodes[1].operands = {2}; });
  broken([](Graph& g) { g.nodes[2].shape = {2, 3}; });
  broken([](Graph& g) { g.nodes[2].attributes.axes = {7}; });
  broken([](Graph& g) { g.inputs.clear(); });
  broken([](Graph& g) { g.inputs = {1U << 31}; });  // far behind the nodes
  broken([](Graph& g) { g.outputs = {9}; });
  broken([](Graph& g) { g.mutations = {{0, 2}}; });
  broken([](Graph& g) { g.input_strides = {{1}}; });
}

TEST(GraphText, SaysWhatANodeIs) {
  Graph graph = sum_of_exp(1);
  EXPECT_EQ(print(graph),
            "graph {\n"
            "  %0: f32[2x3] = input\n"
            "  %1: f32[2x3] = exp %0\n"
            "  %2: f32[2x1] = sum %1 {axes=1}\n"
            "  inputs %0\n"
            "  return %2\n"
            "}\n");
}

TEST(GraphText, RoundTripsEveryAttribute) {
  const char* text =
      "graph {\n"
      "  %0: f32[8x4] = input {strides=1x8}\n"
      "  %1: i64[2] = input\n"
      "  %2: f32[scalar] = full {number=0.1}\n"
      "  %3: i32[5] = arange {start=10, step=-2}\n"
      "  %4: f32[4x4] = slice %0 {axes=0, end=8, step=2}\n"
      "  %5: f16[4x4] = to %4\n"
      "  %6: f16[4x4] = gelu %5 {tanh_form=1}\n"
      "  %7: f32[1x1x8x4] = reshape %0 {sizes=1x1x8x4}\n"
      "  %8: f32[1x1x8x4] = attention %7, %7, %7 {number=-0.5, causal=1, window=3}\n"
      "  %9: f32[4x2] = full {number=-0}\n"
      "  %10: f32[8x4] = reshape %8 {sizes=8x4}\n"
      "  inputs %0 %1\n"
      "  return %6 %2\n"
      "  write %0 = %10\n"
      "}\n";
  EXPECT_EQ(print(parse(text)), text);
}

TEST(GraphText, DrawsAGraph) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {4});
  NodeId y = builder.append(Op::sub, {builder.append(Op::exp, {x}), x});
  graph.outputs = {y};
  graph.mutations = {{x, y}};
  EXPECT_EQ(dot(graph),
            "digraph G {\n"
            "2->0 [label=write, style=dashed, constraint=false];\n"
            "0[label=\"%0: f32[4] = input\", shape=box];\n"
            "1[label=\"%1: f32[4] = exp %0\"];\n"
            "2[label=\"%2: f32[4] = sub %1, %0\", peripheries=2];\n"
            "0->1 ;\n"
            "1->2 [label=0];\n"
            "0->2 [label=1];\n"
            "}\n");
}

TEST(GraphText, NamesTheLineOfAnError) {
  auto error = [](const std::string& body) {
    return error_of([&] { parse("graph {\n  %0: f32[4] = input\n" + body + "}\n"); });
  };
  expect_contains(error("  %1: f32[4] = frobnicate %0\n"), "[parse] line 3: unknown op");
  expect_contains(error("  %1: q7[4] = exp %0\n"), "line 3: unknown dtype");
  expect_contains(error("  %2: f32[4] = exp %0\n"), "node 2 is not the next");
  expect_contains(error("  %1: f32[4] = exp %1\n"), "does not come before");
  expect_contains(error("  %1: f32[5] = exp %0\n"), "the result is f32[4]");
  expect_contains(error("  %1: f32[4] = exp %0 {colour=3}\n"), "there is no attribute colour");
  expect_contains(error("  %1: f32[4] = exp %0 {number=x}\n"), "'x' is not a number");
  expect_contains(error("  return %7\n"), "there is no such node");
  expect_contains(error("  return %0\n"), "the graph is not legal");
  expect_contains(error_of([] { parse("graph {\n"); }), "must end with '}'");
}

TEST(GraphText, MessagesHaveNoByteThatATerminalWouldObey) {
  const std::string text =
      "graph {\n  %0: f32[4] = input\n  %1: f32[4] = exp %0 {number=2}\n  return %1\n}\n";
  for (std::size_t i = 0; i < text.size(); ++i)
    for (char c : {'\x1b', '\x07', '\x7f', '\x9b'}) {
      std::string changed = text;
      changed[i] = c;
      for (unsigned char byte : error_of([&] { parse(changed); }))
        ASSERT_TRUE(byte >= 0x20 && byte < 0x7f) << "byte " << int{byte} << ", at " << i;
    }
}

}  // namespace
}  // namespace tilewright::graph::ir_test
