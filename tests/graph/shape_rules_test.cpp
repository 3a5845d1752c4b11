#include "graph/ir/shape_rules.h"

#include "tests/errors.h"

namespace tilewright::graph::shape_rules_test {
namespace {

// The error of one op on inputs of the given types.
std::string error_of_op(Op op, const std::vector<ValueType>& types,
                        const Attributes& attributes = {}) {
  return error_of(
      [&] { infer(op, types, attributes, std::nullopt, std::source_location::current()); });
}
Shape shape_of(Op op, const std::vector<ValueType>& types, const Attributes& attributes = {}) {
  return infer(op, types, attributes, std::nullopt, std::source_location::current()).shape;
}
Attributes with_axes(std::vector<int> axes) {
  Attributes attributes;
  attributes.axes = std::move(axes);
  return attributes;
}
Attributes with_sizes(const Shape& sizes) {
  Attributes attributes;
  attributes.sizes = sizes;
  return attributes;
}
Attributes with_range(int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  Attributes attributes = with_axes({axis});
  attributes.start = start;
  attributes.end = end;
  attributes.step = step;
  return attributes;
}

TEST(ShapeRules, GiveTheResultsOfEachFamily) {
  EXPECT_EQ(shape_of(Op::add, {{f32, {4, 8}}, {f32, {4, 8}}}), (Shape{4, 8}));
  EXPECT_EQ(shape_of(Op::permute, {{f32, {2, 3, 4}}}, with_axes({2, 0, 1})), (Shape{4, 2, 3}));
  EXPECT_EQ(shape_of(Op::slice, {{f32, {10}}}, with_range(0, 1, 10, 3)), (Shape{3}));
  EXPECT_EQ(shape_of(Op::sum, {{f32, {2, 3, 4}}}, with_axes({0, 2})), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of(Op::matmul, {{f32, {5, 2, 3}}, {f32, {5, 3, 7}}}), (Shape{5, 2, 7}));
  EXPECT_EQ(shape_of(Op::embedding, {{f16, {10, 4}}, {i32, {2, 3}}}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of(Op::cat, {{f32, {2, 3}}, {f32, {2, 5}}}, with_axes({1})), (Shape{2, 8}));
  EXPECT_EQ(shape_of(Op::linear, {{f32, {2, 5, 3}}, {f32, {7, 3}}, {f32, {7}}}), (Shape{2, 5, 7}));
  EXPECT_EQ(shape_of(Op::linear, {{f32, {3}}, {f32, {7, 3}}}), (Shape{7}));
}

TEST(ShapeRules, ResultsHave64AxesAtMost) {
  const Shape many(65, 1), most(64, 1);
  EXPECT_EQ(shape_of(Op::reshape, {{f32, {1}}}, with_sizes(most)), most);
  expect_contains(error_of_op(Op::reshape, {{f32, {1}}}, with_sizes(many)),
                  "the result would have 65 axes; at most 64 are supported");
  expect_contains(error_of_op(Op::expand, {{f32, many}}, with_sizes(many)), "65 axes");
  expect_contains(error_of_op(Op::add, {{f32, many}, {f32, many}}), "65 axes");
}

TEST(ShapeRules, AttentionIsOfOneBatchAndOneHeadSize) {
  auto error = [](const Shape& q) {
    const Shape k = {2, 1, 5, 4};
    return error_of_op(Op::attention, {{f32, q}, {f32, k}, {f32, k}});
  };
  EXPECT_EQ(error({2, 1, 3, 4}), "no error");
  for (const Shape& q : {Shape{1, 1, 3, 4}, Shape{2, 1, 3, 8}})
    expect_contains(error(q), "batch and head size must be equal");
}

TEST(ShapeRules, ChooseTheDtypeOfComparisonsAndPositions) {
  auto where = std::source_location::current();
  std::vector<ValueType> pair = {{f32, {3}}, {f32, {3}}};
  EXPECT_EQ(infer(Op::lt, pair, {}, std::nullopt, where).dtype, DType::boolean);
  EXPECT_EQ(infer(Op::argmax, {pair.data(), 1}, with_axes({0}), std::nullopt, where).dtype, i64);
}

TEST(ShapeRules, FloatsOf8BitsAreMultipliedAsMatricesAlone) {
  auto where = std::source_location::current();
  std::vector<ValueType> pair = {{f8e4m3, {4, 8}}, {f8e4m3, {8, 4}}}, same = {pair[0], pair[0]};
  EXPECT_EQ(infer(Op::matmul, pair, {}, std::nullopt, where).dtype, f32);
  for (Op op : {Op::add, Op::lt})
    expect_contains(error_of_op(op, same), "only stored and multiplied as matrices");
  expect_contains(error_of_op(Op::matmul, {{f8e4m3, {4, 8}}, {f8e5m2, {8, 4}}}),
                  "the operands must have one dtype");
}

TEST(ShapeRules, ProductsAreAsTheirOperandsOrAsTheirSums) {
  auto where = std::source_location::current();
  auto product_of = [&](DType operands, std::optional<DType> dtype) {
    std::vector<ValueType> pair = {{operands, {4, 8}}, {operands, {8, 4}}};
    return infer(Op::matmul, pair, {}, dtype, where).dtype;
  };
  EXPECT_EQ(product_of(DType::i8, std::nullopt), DType::i8);
  EXPECT_EQ(product_of(DType::i8, i32), i32);
  EXPECT_EQ(product_of(bf16, f32), f32);
  EXPECT_EQ(product_of(f8e4m3, f32), f32);
  EXPECT_EQ(product_of(i32, i32), i32);
  expect_contains(error_of([&] { product_of(DType::i8, f32); }),
                  "the result is to be f32, the operands are i8; it can be i32 or as they are");
  expect_contains(error_of([&] { product_of(f8e4m3, f8e4m3); }), "it can be f32 (at");
}

TEST(ShapeRules, NameTheOpTheShapesAndTheUsersLine) {
  std::string message = error_of_op(Op::matmul, {{f32, {4, 8}}, {f32, {4, 8}}});
  EXPECT_EQ(
      message.rfind("[matmul] inner sizes differ: a is 4x8, b is 4x8; a's last axis must equal "
                    "b's last but one (at shape_rules_test.cpp:",
                    0),
      0U)
      << message;
}

TEST(ShapeRules, RefuseOperandsThatDoNotFit) {
  expect_contains(error_of_op(Op::add, {{f32, {4}}, {f32, {5}}}),
                  "[add] shapes differ: operand 0 is 4, operand 1 is 5");
  expect_contains(error_of_op(Op::add, {{f32, {4}}, {f16, {4}}}), "[add] operand 1 is f16");
  expect_contains(error_of_op(Op::add, {{f32, {4}}}), "[add] has 1 operands; it takes 2 to 2");
  expect_contains(error_of_op(Op::neg, {{DType::boolean, {4}}}), "arithmetic needs numbers");
  expect_contains(error_of_op(Op::exp, {{i32, {4}}}),
                  "[exp] operand 0 is i32; it must be floating");
  expect_contains(error_of_op(Op::logical_and, {{i32, {4}}, {i32, {4}}}), "they must be bool");
  expect_contains(error_of_op(Op::shift_left, {{f32, {4}}, {f32, {4}}}), "of an integer type");
  expect_contains(error_of_op(Op::random_bits, {{i32, {4}}, {i32, {4}}}),
                  "[random_bits] the operands are i32; they must be i64");
  expect_contains(error_of_op(Op::bitwise_or, {{f32, {4}}, {f32, {4}}}), "integer type or bool");
  expect_contains(error_of_op(Op::any, {{f32, {4}}}, with_axes({0})), "[any] the operand is f32");
  expect_contains(error_of_op(Op::where, {{f32, {4}}, {f32, {4}}, {f32, {4}}}),
                  "[where] the condition is f32; it must be bool");
  expect_contains(error_of_op(Op::where, {{DType::boolean, {4}}, {f32, {4}}, {f16, {4}}}),
                  "the choices are f32 and f16");
  expect_contains(error_of_op(Op::to, {{f32, {4}}}), "[to] has no dtype");
}

TEST(ShapeRules, RefuseViewsOutsideTheTensor) {
  expect_contains(error_of_op(Op::reshape, {{f32, {4, 6}}}, with_sizes({5, 5})),
                  "[reshape] a tensor of shape 4x6 has 24 elements, the shape 5x5 has 25");
  expect_contains(error_of_op(Op::permute, {{f32, {4, 6}}}, with_axes({0, 0})), "named twice");
  expect_contains(error_of_op(Op::permute, {{f32, {4, 6}}}, with_axes({0})), "1 axes for a tensor");
  expect_contains(error_of_op(Op::permute, {{f32, {4, 6}}}, with_axes({0, 2})),
                  "axis 2 is outside a tensor of rank 2");
  expect_contains(error_of_op(Op::expand, {{f32, {4, 6}}}, with_sizes({8, 6})),
                  "[expand] a tensor of shape 4x6 does not expand to 8x6");
  expect_contains(error_of_op(Op::slice, {{f32, {4, 6}}}, with_range(1, 2, 9)),
                  "[slice] range 2 to 9 does not lie in axis 1 of size 6");
  expect_contains(error_of_op(Op::slice, {{f32, {4, 6}}}, with_range(1, 0, 6, 0)), "step is 0");
  expect_contains(error_of_op(Op::reshape, {{f32, {4}}}, with_sizes({-4})), "size -4 in -4");
}

TEST(ShapeRules, RefuseReductionsOverWrongAxes) {
  expect_contains(error_of_op(Op::sum, {{f32, {4}}}, with_axes({1})), "axis 1 is outside");
  expect_contains(error_of_op(Op::sum, {{f32, {4, 4}}}, with_axes({1, 0})), "ascending order");
  expect_contains(error_of_op(Op::amax, {{f32, {0}}}, with_axes({0})), "needs an element");
  expect_contains(error_of_op(Op::mean, {{i32, {4}}}, with_axes({0})), "it must be floating");
  expect_contains(error_of_op(Op::sum, {{DType::boolean, {4}}}, with_axes({0})), "convert with to");
  expect_contains(error_of_op(Op::argmax, {{f32, {4, 4}}}, with_axes({0, 1})), "exactly one");
  expect_contains(error_of_op(Op::softmax, {{f32, {4, 4}}}), "[softmax] has 0 axes");
  expect_contains(error_of_op(Op::max, {{f32, {4, 4}}}, with_axes({0, 1})), "[max] has 2 axes");
  expect_contains(error_of_op(Op::min, {{f32, {0}}}, with_axes({0})), "needs an element");
  expect_contains(error_of_op(Op::aminmax, {{f32, {3, 0}}}, with_axes({0, 1})), "axis 1 of shape");
  expect_contains(error_of_op(Op::max, {{f8e4m3, {4}}}, with_axes({0})), "floats of 8 bits");
  expect_contains(error_of_op(Op::var_mean, {{i32, {4}}}, with_axes({0})), "it must be floating");
}

TEST(ShapeRules, RefuseProductsAndNormsThatDoNotFit) {
  expect_contains(error_of_op(Op::matmul, {{f32, {4}}, {f32, {4, 8}}}), "at least 2 axes");
  expect_contains(error_of_op(Op::matmul, {{f32, {2, 4, 8}}, {f32, {3, 8, 4}}}),
                  "leading axes differ: a is 2x4x8, b is 3x8x4");
  expect_contains(error_of_op(Op::linear, {{f32, {4, 8}}, {f32, {3, 7}}}),
                  "[linear] x is 4x8, the weight is 3x7");
  expect_contains(error_of_op(Op::linear, {{f32, {4, 8}}, {f32, {3, 8}}, {f32, {4}}}),
                  "the bias must have 3 elements");
  expect_contains(error_of_op(Op::layer_norm, {{f32, {4, 8}}, {f32, {4}}}),
                  "[layer_norm] operand 1 is 4, x is 4x8; weight and bias must have 8 elements");
}

TEST(ShapeRules, RefuseGathersAndScattersThatDoNotFit) {
  expect_contains(error_of_op(Op::embedding, {{f32, {10, 4}}, {f32, {2}}}),
                  "[embedding] the indices are f32; they must be i32 or i64");
  expect_contains(error_of_op(Op::embedding, {{f32, {10}}, {i32, {2}}}),
                  "it must be [rows, columns]");
  expect_contains(
      error_of_op(Op::index_copy, {{f32, {8, 4}}, {i32, {2}}, {f32, {3, 4}}}, with_axes({0})),
      "the source must be 2x4");
  expect_contains(
      error_of_op(Op::index_copy, {{f32, {8, 4}}, {i32, {2}}, {f16, {2, 4}}}, with_axes({0})),
      "they must have one dtype");
  expect_contains(
      error_of_op(Op::index_copy, {{f32, {8}}, {i32, {2, 1}}, {f32, {2}}}, with_axes({0})),
      "it must have one axis");
  expect_contains(
      error_of_op(Op::index_copy, {{f32, {3, 8}}, {i32, {2, 1}}, {f32, {3, 1}}}, with_axes({1})),
      "rows for each element of an axis 0 before axis 1");
  EXPECT_EQ(shape_of(Op::index_copy, {{f32, {3, 8}}, {i32, {3, 1}}, {f32, {3, 1}}}, with_axes({1})),
            (Shape{3, 8}));
  const ValueType self{f32, {8, 4}}, ids{i32, {2, 4}}, source{f32, {2, 4}};
  expect_contains(error_of_op(Op::scatter_reduce, {self, ids, {f16, {2, 4}}}, with_axes({0})),
                  "they must have one dtype");
  expect_contains(error_of_op(Op::scatter_reduce, {self, {i32, {2}}, source}, with_axes({0})),
                  "the index is 2, the source 2x4; they must have one shape");
  expect_contains(error_of_op(Op::scatter_reduce, {{f32, {8, 3}}, ids, source}, with_axes({0})),
                  "all but axis 0 at most as long");
  Attributes any = with_axes({0});
  any.reduction = ir::ReduceKind::any;
  expect_contains(error_of_op(Op::scatter_reduce, {self, ids, source}, any),
                  "the reduction is any; it must be sum, prod, max or min");
  expect_contains(error_of_op(Op::cat, {{f32, {2, 3}}, {f32, {3, 3}}}, with_axes({1})),
                  "[cat] part 0 is 2x3, part 1 is 3x3; parts may differ only in axis 1");
}

TEST(ShapeRules, RefuseAttentionThatDoesNotFit) {
  ValueType q{f32, {1, 4, 2, 8}}, kv{f32, {1, 2, 6, 8}};
  EXPECT_EQ(shape_of(Op::attention, {q, kv, kv}), q.shape);
  expect_contains(error_of_op(Op::attention, {q, {f32, {1, 3, 6, 8}}, {f32, {1, 3, 6, 8}}}),
                  "[attention] q has 4 heads, k has 3; q's heads must be a multiple of k's");
  expect_contains(error_of_op(Op::attention, {q, kv, {f32, {1, 2, 5, 8}}}),
                  "they must have one shape");
  expect_contains(error_of_op(Op::attention, {q, {f32, {1, 2, 6, 4}}, {f32, {1, 2, 6, 4}}}),
                  "batch and head size must be equal");
  expect_contains(error_of_op(Op::attention, {q, kv, kv, {i32, {1}}}), "it needs causal");
  Attributes causal;
  causal.causal = true;
  expect_contains(error_of_op(Op::attention, {q, kv, kv, {f32, {1}}}, causal), "position is f32");
  expect_contains(error_of_op(Op::attention, {q, kv, kv, {i32, {2}}}, causal), "one element");
  Attributes window;
  window.window = 4;
  expect_contains(error_of_op(Op::attention, {q, kv, kv}, window),
                  "a window was given without causal; it needs causal");
  window.window = -1;
  expect_contains(error_of_op(Op::attention, {q, kv, kv}, window), "the window is -1");
  expect_contains(error_of_op(Op::attention, {{f32, {4, 8}}, kv, kv}),
                  "[batch, heads, rows, columns]");
}

TEST(ShapeRules, RefuseMasksOfAttentionThatDoNotFit) {
  const ValueType q{f32, {1, 4, 2, 8}}, kv{f32, {1, 2, 6, 8}}, mask{DType::boolean, {1, 4, 2, 6}};
  EXPECT_EQ(shape_of(Op::attention, {q, kv, kv, mask}), q.shape);
  expect_contains(error_of_op(Op::attention, {q, kv, kv, {f32, {1, 1, 2, 6}}}),
                  "mask is 1x1x2x6; it must be 1x4x2x6, a number for each score");
  expect_contains(
      error_of_op(Op::attention, {q, kv, kv, {f32, {2, 6, 1, 1, 1}}}),
      "operand 3 is f32[2x6x1x1x1]; behind q, k and v come a position [1], a page table "
      "[batch, pages], scales of both [batch, heads, keys] and a mask 1x4x2x6, in this "
      "order");
  expect_contains(error_of_op(Op::attention, {q, kv, kv, {i32, mask.shape}}),
                  "mask is i32; it must be bool, or floats");
  Attributes causal;
  causal.causal = true;
  EXPECT_EQ(shape_of(Op::attention, {q, kv, kv, {i32, {1}}, mask}, causal), q.shape);
  expect_contains(error_of_op(Op::attention, {q, kv, kv, mask, {i32, {1}}}, causal),
                  "operand 4 is i32[1]; behind q, k and v come a position [1]");
}

TEST(ShapeRules, RefusePagesOfAttentionThatDoNotFit) {
  const ValueType q{f32, {1, 4, 2, 8}}, pages{f32, {3, 2, 16, 8}}, table{i64, {1, 2}};
  EXPECT_EQ(shape_of(Op::attention, {q, pages, pages, table}), q.shape);
  EXPECT_EQ(shape_of(Op::attention, {q, pages, pages, table, {f32, {1, 4, 2, 32}}}), q.shape);
  expect_contains(error_of_op(Op::attention, {q, pages, pages, {f32, {1, 2}}}),
                  "the page table is f32; it must be i32 or i64");
  expect_contains(
      error_of_op(Op::attention, {q, pages, pages, {i64, {1, 0}}}),
      "the page table is 1x0; it must have a line for each of 1 texts, with the numbers");
  expect_contains(error_of_op(Op::attention, {q, pages, pages, {i64, {2, 2}}}),
                  "the page table is 2x2; it must have a line for each of 1 texts");
  for (std::int64_t rows : {8, 24})
    expect_contains(
        error_of_op(Op::attention, {q, {f32, {3, 2, rows, 8}}, {f32, {3, 2, rows, 8}}, table}),
        "with a power of two of at least 16 rows in each of one page or more");
  expect_contains(error_of_op(Op::attention, {q, pages, pages, table, {f32, {1, 4, 2, 16}}}),
                  "mask is 1x4x2x16; it must be 1x4x2x32");
}

TEST(ShapeRules, RefuseCodesOfAttentionThatDoNotFit) {
  const ValueType q{f32, {1, 4, 2, 8}}, codes{DType::i8, {1, 2, 6, 8}}, scales{f32, {1, 2, 6}};
  EXPECT_EQ(shape_of(Op::attention, {q, codes, codes, scales, scales}), q.shape);
  expect_contains(error_of_op(Op::attention, {q, codes, codes}),
                  "q is f32, k is i8, v is i8; they must have one dtype, or k and v scales");
  const ValueType kv{f32, codes.shape}, of_f8{DType::f8e4m3, codes.shape};
  for (const ValueType& other : {kv, of_f8})
    expect_contains(error_of_op(Op::attention, {q, codes, other, scales, scales}),
                    "and they have scales; they must have one dtype, i8 or floats of 8 bits");
  expect_contains(error_of_op(Op::attention, {q, codes, codes, scales, {f32, {1, 2, 5}}}),
                  "the scales of v are f32[1x2x5]; they must be f32[1x2x6], a number for each row");
  expect_contains(error_of_op(Op::attention, {q, codes, codes, {f16, {1, 2, 6}}, scales}),
                  "the scales of k are f16[1x2x6]; they must be f32[1x2x6]");
  expect_contains(error_of_op(Op::attention, {q, kv, kv, scales}), "operand 3 is f32[1x2x6]");
}

TEST(ShapeRules, RefuseGradientsOfAttentionThatDoNotFit) {
  const ValueType q{f32, {1, 4, 2, 8}}, kv{f32, {1, 2, 6, 8}}, rows{f32, {1, 4, 2}};
  EXPECT_EQ(shape_of(Op::attention_gradient, {q, kv, kv, q, rows, rows}), q.shape);
  expect_contains(error_of_op(Op::attention_gradient, {q, kv, kv, kv, rows, rows}),
                  "the gradient is f32[1x2x6x8]; it must be as q, f32[1x4x2x8]");
  expect_contains(error_of_op(Op::attention_gradient, {q, kv, kv, q, {f64, {1, 4, 2}}, rows}),
                  "operand 4 is f64[1x4x2]; it must be f32[1x4x2], a number for each row");
  expect_contains(error_of_op(Op::attention_gradient, {q, kv, kv, q, rows, q}),
                  "operand 5 is f32[1x4x2x8]; it must be f32[1x4x2], a number for each row");
  Attributes one_body;
  one_body.bodies = Bodies({Graph()});
  expect_contains(error_of_op(Op::attention_gradient, {q, kv, kv, q, rows, rows}, one_body),
                  "has 1 functions of scores; it must be one and its gradient, or none");
  // A function of scores and places alone, or its gradient.
  auto body = [](std::size_t more, DType last) {
    Graph graph;
    GraphBuilder builder(graph);
    const NodeId score = builder.input(f32, {});
    for (int place = 0; place < 4; ++place) builder.input(i32, {});
    for (std::size_t i = 0; i < more; ++i) builder.input(last, {});
    graph.outputs = {score};
    return graph;
  };
  auto error_of_bodies = [&](const Graph& function, const Graph& gradient) {
    Attributes attributes;
    attributes.bodies = Bodies({function, gradient});
    return error_of_op(Op::attention_gradient, {q, kv, kv, q, rows, rows}, attributes);
  };
  expect_contains(error_of_bodies(body(0, f32), body(0, f32)),
                  "the gradient of its function of scores has 5 inputs and 1 results; it must have "
                  "6 or more, and one");
  expect_contains(error_of_bodies(body(0, f32), body(2, f32)),
                  "the gradient of its function of scores reads 1 operands; it must read those of "
                  "the function");
  expect_contains(error_of_bodies(body(0, f32), body(1, f64)),
                  "input 5 of the gradient of its function of scores is f64[scalar]; it must be "
                  "f32 without axes");
}

TEST(ShapeRules, CountTheNumbersOfARange) {
  EXPECT_EQ(count_of_range(0, 10, 3), 4);
  EXPECT_EQ(count_of_range(10, 0, -4), 3);
  EXPECT_EQ(count_of_range(5, 5, 1), 0);
  Attributes zero_step;
  zero_step.step = 0;
  expect_contains(error_of_op(Op::arange, {}, zero_step), "[arange] step is 0");
}

TEST(ShapeRules, GroupedProducts) {
  const ValueType ends{DType::i32, {3}};
  EXPECT_EQ(shape_of(Op::grouped_matmul, {{bf16, {7, 4}}, {bf16, {3, 4, 5}}, ends}), (Shape{7, 5}));
  EXPECT_EQ(shape_of(Op::grouped_matmul, {{f32, {4, 7}}, {f32, {7, 5}}, ends}), (Shape{3, 4, 5}));
  auto error = [](ValueType a, ValueType b, ValueType e) {
    return error_of_op(Op::grouped_matmul, {std::move(a), std::move(b), std::move(e)});
  };
  expect_contains(error({f32, {7, 4}}, {bf16, {3, 4, 5}}, ends), "operand 1 is bf16");
  expect_contains(error({DType::i8, {7, 4}}, {DType::i8, {3, 4, 5}}, ends), "operand 0 is i8");
  expect_contains(error({f32, {7, 4}}, {f32, {3, 4, 5}}, {f32, {3}}), "the indices are f32");
  expect_contains(error({f32, {2, 7, 4}}, {f32, {3, 4, 5}}, ends), "a must be a matrix");
  expect_contains(error({f32, {7, 4}}, {f32, {3, 6, 5}}, ends), "inner sizes differ: a is 7x4");
  expect_contains(error({f32, {7, 4}}, {f32, {2, 4, 5}}, ends),
                  "b has 2 matrices, and there are 3");
  expect_contains(error({f32, {7, 4}}, {f32, {4, 5}}, {DType::i64, {0}}), "at least one group");
}

TEST(ShapeRules, OfArgsortAskForAnAxisAndAsManyAsItHas) {
  Attributes first;
  first.end = 3;
  EXPECT_EQ(shape_of(Op::argsort, {{bf16, {2, 5}}}, first), (Shape{2, 3}));
  expect_contains(error_of_op(Op::argsort, {{f32, {}}}), "[argsort] the operand has no axes");
  expect_contains(error_of_op(Op::argsort, {{f32, {2}}}, first),
                  "the first 3 of 2 elements are asked for; it must be between none and all");
  expect_contains(error_of_op(Op::argsort, {{f32, {std::int64_t{1} << 31}}}, first),
                  "a row has 2147483648 elements; there may be up to 2^31 - 1");
  expect_contains(error_of_op(Op::argsort, {{DType::f8e5m2, {5}}}, first), "operand 0 is f8e5m2");
}

TEST(ShapeRules, OfCumulationsKeepTheShapeAndMayNameANumbersDtype) {
  Attributes rows;
  rows.axes = {1};
  EXPECT_EQ(shape_of(Op::cumulate, {{bf16, {2, 5}}}, rows), (Shape{2, 5}));
  expect_contains(error_of_op(Op::cumulate, {{f32, {}}}, rows), "[cumulate] axis 1");
  expect_contains(error_of_op(Op::cumulate, {{DType::boolean, {2, 5}}}, rows),
                  "the result is to be bool; it can be a number");
  expect_contains(error_of_op(Op::cumulate, {{DType::f8e5m2, {2, 5}}}, rows),
                  "operand 0 is f8e5m2");
  rows.reduction = ir::ReduceKind::any;
  expect_contains(error_of_op(Op::cumulate, {{f32, {2, 5}}}, rows),
                  "the reduction is any; it must be sum, prod, max or min");
}

TEST(ShapeRules, ConvolutionsHaveFiltersForTheChannelsOfTheirGroups) {
  Attributes plane;
  plane.sizes = {4, 3};
  plane.window_strides = plane.dilations = {1, 2};
  plane.before = {1, 0};
  plane.groups = 2;
  const ValueType x{f32, {2, 6, 4, 7}}, filters{f32, {8, 3, 3, 2}};
  EXPECT_EQ(shape_of(Op::convolution, {x, filters, {f32, {8}}}, plane), (Shape{2, 8, 4, 3}));
  expect_contains(error_of_op(Op::convolution, {x, {f32, {8, 3, 3}}}, plane),
                  "both must have one to three axes behind the first two");
  expect_contains(error_of_op(Op::convolution, {x, {f16, {8, 3, 3, 2}}}, plane),
                  "operand 1 is f16, operand 0 is f32");
  expect_contains(error_of_op(Op::convolution, {{i32, {2, 6, 4, 7}}, {i32, {8, 3, 3, 2}}}, plane),
                  "operand 0 is i32; it must be floating");
  expect_contains(error_of_op(Op::convolution, {x, {f32, {7, 3, 3, 2}}}, plane),
                  "in 2 groups; the channels must be those of all groups");
  expect_contains(error_of_op(Op::convolution, {x, {f32, {8, 3, 3, 0}}}, plane),
                  "an image and a filter must have an element");
  expect_contains(error_of_op(Op::convolution, {x, filters, {f32, {6}}}, plane),
                  "the bias is 6, the filters are 8x3x3x2; the bias must have 8 elements");
  Attributes wrong = plane;
  wrong.groups = 0;
  expect_contains(error_of_op(Op::convolution, {x, filters}, wrong), "in 0 groups; the channels");
  wrong = plane;
  wrong.window_strides = {1, 0};
  expect_contains(error_of_op(Op::convolution, {x, filters}, wrong),
                  "the strides are 1x0; there must be 2, each in [1, 2147483647]");
  wrong = plane;
  wrong.before = {1};
  expect_contains(error_of_op(Op::convolution, {x, filters}, wrong),
                  "the zeros before are 1; there must be 2, each in [0,");
}

}  // namespace
}  // namespace tilewright::graph::shape_rules_test
