// Operands of a writing op that lie in the memory which it writes: the op reads what they were.
#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_overlap_test {
namespace {

using ::testing::HasSubstr;

std::vector<TensorType> like_first(std::span<const TensorType> operands) { return {operands[0]}; }

// Adds elements of the second operand one after the other, so that each would see the former ones
// where both are one memory.
const CustomOp& add_by_kernel() {
  static const dsl::Kernel kernel("add_one_by_one",
                                  [](dsl::Pointer x, dsl::Pointer by, dsl::Scalar n) {
                                    for (dsl::Tile i : dsl::range(0, n, 1))
                                      dsl::store(x + i, dsl::load(x + i) + dsl::load(by + i));
                                  });
  static const CustomOp op =
      custom_op("add_by_kernel", like_first,
                TileKernel{kernel,
                           [](const CustomCall& call) {
                             return TileLaunch{Grid(1), {call.operand(0).count()}};
                           }},
                {.writes = {0}});
  return op;
}
const CustomOp& add_by_function() {
  static const CustomOp op = custom_op(
      "add_by_function", like_first,
      BufferFunction([](std::span<const BufferView> operands, std::span<const BufferView>) {
        std::span<float> x = operands[0].elements<float>();
        std::span<const float> by = operands[1].elements<const float>();
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += by[i];
      }),
      {.writes = {0}});
  return op;
}

// Elements 1 to 5 of 0.1, 0.2 ... to which 0 to 4 are added.
TEST(CustomOpOverlap, AnOpReadsWhatOperandsWere) {
  for (const CustomOp* op : {&add_by_kernel(), &add_by_function()}) {
    SCOPED_TRACE(op->name());
    const Tensor x = ramp({6}, 0.1F);
    const Tensor sums = x.slice(0, 1, 6) + x.slice(0, 0, 5);

    Tensor at_once = x.clone(), target = at_once.slice(0, 1, 6);
    op->all({target, at_once.slice(0, 0, 5)});
    expect_near(target, sums);
    expect_near(at_once.slice(0, 0, 1), x.slice(0, 0, 1));

    Tensor compiled = x.clone();
    compile([&](const Tensor& t) {
      Tensor to = t.slice(0, 1, 6);
      op->all({to, t.slice(0, 0, 5)});
      return t * 1.0;
    })(compiled);
    expect_near(compiled, at_once);

    Tensor twice = x.clone();
    op->all({twice, twice});
    expect_near(twice, x * 2.0);
    Tensor in_one_call = x.clone();
    compile([&](const Tensor& t) {
      Tensor to = t;
      op->all({to, t});
      return t * 1.0;
    })(in_one_call);
    expect_near(in_one_call, twice);
  }
}

// Two arguments of a call that share memory.
TEST(CustomOpOverlap, ArgumentsThatShareMemory) {
  for (const CustomOp* op : {&add_by_kernel(), &add_by_function()}) {
    SCOPED_TRACE(op->name());
    const Tensor x = ramp({6}, 0.1F);
    auto add = [&](const Tensor& to, const Tensor& by) {
      Tensor target = to;
      op->all({target, by});
      return target * 1.0;
    };
    Tensor memory = x.clone();
    auto whole = compile(add, {.fullgraph = true});
    EXPECT_THAT(error_of([&] { whole(memory.slice(0, 1, 6), memory.slice(0, 0, 5)); }),
                HasSubstr("input 0 is written in place and shares memory with input 1"));
    EXPECT_THAT(error_of([&] { whole(memory, memory); }), HasSubstr("pass a clone of one of them"));
    expect_near(memory, x);
    auto fast = compile(add, {.tell_breaks = false});
    const Tensor sums = x.slice(0, 1, 6) + x.slice(0, 0, 5);
    expect_near(fast(memory.slice(0, 1, 6), memory.slice(0, 0, 5)), sums);
    expect_near(memory.slice(0, 1, 6), sums);
    memory = x.clone();
    expect_near(fast(memory, memory), x * 2.0);
    expect_near(memory, x * 2.0);
  }
}

TEST(CustomOpOverlap, RowsAreCopiedFromWhatTheyWere) {
  const Tensor x = ramp({4, 3}, 0.1F);
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{1, 2, 3}, {3});
  Tensor shifted = x.clone();
  shifted.index_copy_(0, rows, shifted.slice(0, 0, 3));
  expect_near(shifted.slice(0, 1, 4), x.slice(0, 0, 3));
}

}  // namespace
}  // namespace tilewright::custom_op_overlap_test
