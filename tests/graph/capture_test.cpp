#include "graph/tensor/capture.h"

#include <thread>

#include "graph/compile/compile.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "tests/errors.h"

namespace tilewright::graph::capture_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

TEST(Capture, RecordsOperationsWithTheirLines) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {2, 3});
  EXPECT_TRUE(x.is_symbolic());
  Tensor y = relu(x * 2 + 1);
  Captured result = capture.finish({y});
  EXPECT_EQ(print(result.graph),
            "graph {\n"
            "  %0: f32[2x3] = input\n"
            "  %1: f32[2x3] = full {number=2}\n"
            "  %2: f32[2x3] = mul %0, %1\n"
            "  %3: f32[2x3] = full {number=1}\n"
            "  %4: f32[2x3] = add %2, %3\n"
            "  %5: f32[2x3] = relu %4\n"
            "  inputs %0\n"
            "  return %5\n"
            "}\n");
  EXPECT_TRUE(result.captured.empty());
  EXPECT_EQ(describe(result.graph.node(2).where).rfind("capture_test.cpp:", 0), 0U);
  EXPECT_NO_THROW(verify(result.graph));
}

TEST(Capture, MakesBroadcastingAndPromotionExplicit) {
  Capture capture;
  Tensor x = capture.placeholder(f16, {3}), y = capture.placeholder(f32, {2, 1});
  Graph graph = capture.finish({x + y}).graph;
  EXPECT_EQ(print(graph),
            "graph {\n"
            "  %0: f16[3] = input\n"
            "  %1: f32[2x1] = input\n"
            "  %2: f32[3] = to %0\n"
            "  %3: f32[1x3] = reshape %2 {sizes=1x3}\n"
            "  %4: f32[2x3] = expand %3 {sizes=2x3}\n"
            "  %5: f32[2x3] = expand %1 {sizes=2x3}\n"
            "  %6: f32[2x3] = add %4, %5\n"
            "  inputs %0 %1\n"
            "  return %6\n"
            "}\n");
}

TEST(Capture, TakesConcreteTensorsAsInputsOnceByTheMemoryTheySee) {
  Tensor weight = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  Capture capture;
  Tensor x = capture.placeholder(f32, {2, 2});
  Tensor y = x + weight;
  Tensor z = y * weight.transpose(0, 1) + weight.transpose(0, 1);
  Captured result = capture.finish({z + weight});
  ASSERT_EQ(result.captured.size(), 2U);
  EXPECT_EQ(result.captured[0].data(), weight.data());
  EXPECT_EQ(result.captured[1].strides(), (Strides{1, 2}));
  ASSERT_EQ(result.graph.inputs.size(), 3U);
  EXPECT_EQ(result.graph.input_strides[2], (Strides{1, 2}));
  EXPECT_TRUE(result.graph.mutations.empty());
}

TEST(Capture, TurnsWritesIntoMutations) {
  Tensor cache = zeros({4, 2});
  Capture capture;
  Tensor rows = capture.placeholder(i64, {1}), x = capture.placeholder(f32, {1, 2});
  cache.index_copy_(0, rows, x);
  Tensor seen = sum(cache);
  Captured result = capture.finish({seen});
  ASSERT_EQ(result.graph.mutations.size(), 1U);
  EXPECT_EQ(result.graph.mutations[0].input, result.graph.inputs[2]);
  HostTensor index(i64, {1}), row(f32, {1, 2}), before(f32, {4, 2});
  index.integer = {2};
  row.floating = {5, 6};
  std::vector<HostTensor> inputs = {index, row, before};
  Evaluation values = evaluate(result.graph, inputs, Rounding::double_);
  EXPECT_EQ(values.outputs[0].floating, (std::vector<double>{11}));
  EXPECT_EQ(values.mutated[0].floating, (std::vector<double>{0, 0, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(cache.to_vector<float>(), Floats(8, 0.0F));  // capture itself runs nothing
}

TEST(Capture, LetsAllHandlesSeeAWriteToAnArgument) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {2});
  Tensor handle = x;
  x.copy_from(x + 1);
  Captured result = capture.finish({handle * 2});
  ASSERT_EQ(result.graph.mutations.size(), 1U);
  HostTensor input(f32, {2});
  std::vector<HostTensor> inputs = {input};
  Evaluation values = evaluate(result.graph, inputs, Rounding::double_);
  EXPECT_EQ(values.outputs[0].floating, (std::vector<double>{2, 2}));
  EXPECT_EQ(values.mutated[0].floating, (std::vector<double>{1, 1}));
}

// While a function is captured there is no layout: a view is a reshape of values.
TEST(Capture, TakesViewsOfValuesAsReshapesWhateverTheirLayout) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {2, 6}, {1, 2});
  EXPECT_TRUE(x.is_contiguous());
  Tensor heads = relu(x).view({2, 3, -1}).transpose(1, 2);
  EXPECT_TRUE(heads.is_contiguous());
  Tensor flat = heads.view({12});
  expect_contains(error_of([&] { x.view({5}); }), "[reshape] a tensor of shape 2x6");
  Captured result = capture.finish({flat});
  HostTensor input(f32, {2, 6});
  for (int i = 0; i < 12; ++i) input.floating[static_cast<std::size_t>(i)] = i + 1;
  std::vector<HostTensor> inputs = {input};
  EXPECT_EQ(evaluate(result.graph, inputs, Rounding::double_).outputs[0].floating,
            (std::vector<double>{1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12}));
}

TEST(Capture, GivesViewsOfAWrittenTensorItsNewValue) {
  Tensor cache = zeros({2, 2});
  Capture capture;
  cache.copy_from(full({2, 2}, 3));
  Captured result = capture.finish({cache.select(0, 1)});
  Tensor concrete = result.captured[0];
  std::vector<HostTensor> inputs = {HostTensor(f32, {2, 2})};
  EXPECT_EQ(evaluate(result.graph, inputs, Rounding::double_).outputs[0].floating,
            (std::vector<double>{3, 3}));
}

TEST(Capture, RefusesReadsOfDataByNameOfTheLine) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {1});
  expect_contains(error_of([&] { x.item<float>(); }),
                  "[item] the value is not known while the function is captured (at "
                  "capture_test.cpp:");
  expect_contains(error_of([&] { (x + 1).to_vector<float>(); }), "[to_vector] the value is not");
  expect_contains(error_of([&] { x.data(); }), "[data] the value is not known");
  expect_contains(error_of([&] { x.strides(); }), "[strides] the tensor has no memory");
  EXPECT_THROW(x.item<float>(), DataReadError);
  Tensor written = zeros({1});
  written.copy_from(x);
  expect_contains(error_of([&] { written.item<float>(); }), "[item] the value is not known");
}

TEST(Capture, RefusesToNest) {
  Capture outer;
  expect_contains(error_of([] { Capture inner; }), "[compile] a function is being captured");
  EXPECT_EQ(Capture::active(), &outer);
}

TEST(Capture, RefusesTensorsThatEscapedFromIt) {
  std::vector<Tensor> kept;  // what is assigned is given back (handle_assignments.h)
  {
    Capture capture;
    kept.push_back(capture.placeholder(f32, {2}) + 1);
  }
  Tensor& escaped = kept[0];
  EXPECT_EQ(Capture::active(), nullptr);
  expect_contains(error_of([&] { escaped + 1; }), "[add] the tensor was made while a function was");
  expect_contains(error_of([&] { escaped.to_vector<float>(); }), "that is over");
  expect_contains(error_of([&] { escaped.reshape({1, 2}); }), "that is over");
  Capture next;
  expect_contains(error_of([&] { escaped + 1; }), "[add] the tensor belongs to another capture");
}

TEST(Capture, TellsAnotherThreadThatItIsGoingOn) {
  Compiled twice = compile([](const Tensor& x) { return x * 2; });
  Capture capture;
  Tensor value = capture.placeholder(f32, {2}) + 1;
  std::string used, read, passed;
  std::thread([&] {
    used = error_of([&] { value + 1; });
    read = error_of([&] { value.item<float>(); });
    passed = error_of([&] { twice(value); });
  }).join();
  expect_contains(used,
                  "[add] the tensor is a value of a function that another thread is capturing");
  expect_contains(read, "[item] the tensor is a value of a function that another thread is");
  expect_contains(passed, "[compile] argument 0 is a value of a function that another thread is");
  capture.finish({value});
  expect_contains(error_of([&] { value + 1; }), "that is over");
}

TEST(Capture, RefusesAWrittenTensorThatIsAlsoReadThroughAnotherView) {
  Tensor cache = zeros({4, 2});
  Capture capture;
  Tensor x = capture.placeholder(f32, {2});
  Tensor read = cache.select(0, 1) + x;
  cache.copy_from(zeros({4, 2}));
  expect_contains(error_of([&] { capture.finish({read}); }),
                  "[compile] the tensor of shape 4x2 written at capture_test.cpp:");
}

// Broadcast by the operation, it is no other view of the memory.
TEST(Capture, AllowsWritesToWhatWasReadBroadcast) {
  for (const Shape& shape : {Shape{1, 2}, Shape{2}, Shape{}}) {
    Tensor b = zeros(shape);
    Capture capture;
    Tensor y = capture.placeholder(f32, {4, 2});
    Tensor before = y + b;
    b.copy_from(b + 1);
    Captured result = capture.finish({before, y * b});
    EXPECT_EQ(result.captured.size(), 1U) << shape;
    EXPECT_EQ(result.captured[0].shape(), shape);
    EXPECT_EQ(result.graph.mutations.size(), 1U);
  }
}

TEST(Capture, AllowsWritesToDisjointViewsOfOneBuffer) {
  Tensor cache = zeros({2, 2, 2});
  Capture capture;
  Tensor x = capture.placeholder(f32, {2, 2});
  Tensor first = cache.select(0, 0), second = cache.select(1, 1).slice(0, 1, 2);
  first.copy_from(x);
  second.copy_from(x.slice(0, 0, 1));
  EXPECT_EQ(capture.finish({}).graph.mutations.size(), 2U);
}

TEST(Capture, RefusesMisuseLikeEagerExecutionDoes) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {4, 6});
  expect_contains(error_of([&] { matmul(x, x); }), "[matmul] inner sizes differ");
  expect_contains(error_of([&] { x.reshape({5, 5}); }), "[reshape] a tensor of shape 4x6");
  expect_contains(error_of([&] { x.slice(0, 3, 9, 0); }), "[slice] step is 0");
  expect_contains(error_of([&] { scaled_dot_product_attention(x, x, x); }), "[attention] q is 4x6");
  expect_contains(error_of([&] { x + Tensor(); }), "[add] the tensor is undefined");
}

}  // namespace
}  // namespace tilewright::graph::capture_test
