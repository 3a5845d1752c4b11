// Kernels written by hand, launched on tensors.
#include <gmock/gmock.h>

#include "dsl/language/kernel.h"
#include "graph/compile/compile.h"
#include "graph/tensor/tensor.h"
#include "tests/errors.h"
#include "tests/every_device.h"

namespace tilewright::tensor_argument_test {
namespace {

using namespace dsl;
using ::testing::HasSubstr;

// Both directives are what a user has; `zeros` then means tiles in a kernel.
const Kernel twice("twice",
                   [](Pointer x, Pointer y, Constexpr block) {
                     Var sum = zeros({block}, f32);
                     sum += load(x + arange(0, block)) * 2.0;
                     store(y + arange(0, block), sum);
                   },
                   {"x", "y", "block"});

// Kernels run on the default device, and so on memory of it.
Tensor empty(const Shape& shape) { return Tensor::empty(shape, f32, default_device()); }

// A kernel's operands have been computed, and no later reader sees a result of a still later
// writer.
TEST(TensorArgument, MayBeOfACompiledFunctionWhichRunsInSegmentsThen) {
  auto function = [](const Tensor& x) {
    Tensor y = x * 3, z = empty({64});
    twice.launch(1, y, z, 64);
    Tensor sum = z + y;
    twice.launch(1, sum, z, 64);
    return sum + z * 10;
  };
  Compiled fast = compile(function, {.tell_breaks = false});
  const Tensor x = tilewright::full({64}, 1.5).to(default_device()).clone();
  for (int call = 0; call < 3; ++call)
    EXPECT_EQ(fast(x).to_vector<float>(), function(x).to_vector<float>());
  EXPECT_EQ(fast(x).to_vector<float>()[0], 1.5F * 9 * 21);
}

TEST(TensorArgument, ThatAKernelFillsIsThereAfterABreak) {
  auto function = [](const Tensor& x) {
    Tensor y = empty({64});
    twice.launch(1, x, y, 64);
    return y + sum(x).item<float>();
  };
  Compiled fast = compile(function, {.tell_breaks = false});
  const Tensor x = tilewright::full({64}, 1.5).to(default_device()).clone();
  for (int call = 0; call < 3; ++call)
    EXPECT_EQ(fast(x).to_vector<float>(), function(x).to_vector<float>());
}

TEST(TensorArgument, IsMemoryOfAnyRank) {
  const Tensor x = tilewright::full({2, 4, 8}, 3.0).to(default_device());
  Tensor y = empty({2, 4, 8});
  twice.launch(1, x, y, 64);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 6));
  Tensor half = tilewright::full({64}, 1.5, f16).to(default_device());
  Kernel widen("widen", [](Pointer a, Pointer b) {
    store(b + arange(0, 64), cast(load(a + arange(0, 64)), f32));
  });
  widen.launch(1, half, y);
  EXPECT_EQ(y.to_vector<float>()[63], 1.5F);
}

TEST(TensorArgument, KnowsItsSizeAndWhereItLies) {
  Tensor x = tilewright::ones({64}).to(default_device());
  EXPECT_THAT(error_of([&] { twice.launch(1, x, x, 64); }), HasSubstr("overlap"));
  EXPECT_THAT(error_of([&] { twice.launch(1, x.slice(0, 0, 32), x.slice(0, 32, 64), 32); }),
              "no error");
  LaunchArgument argument = x;
  EXPECT_EQ(argument.size_bytes(), 256);
  EXPECT_FALSE(argument.lies_elsewhere(default_device().memory()));
}

TEST(TensorArgument, MustBeContiguousAndDefined) {
  Tensor x = tilewright::ones({8, 8}), y = empty({64});
  EXPECT_THAT(
      error_of([&] { twice.launch(1, x.transpose(0, 1), y, 64); }),
      HasSubstr("[launch] a tensor of shape 8x8 has the strides 1x8; strides are not passed "
                "to kernels: launch it on contiguous()"));
  EXPECT_THAT(error_of([&] { twice.launch(1, Tensor(), y, 64); }),
              HasSubstr("[launch] a tensor is undefined"));
}

// Each call has memory of its own for it, as the function at once has.
TEST(TensorArgument, MayBeMemoryThatACompiledFunctionAllocates) {
  auto launched = [](const Tensor& x) {
    Tensor y = empty({64});
    twice.launch(1, x, y, 64);
    return std::pair(y, y + 1);
  };
  const Tensor x = tilewright::ones({64}).to(default_device());
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(launched, {.mode = mode, .fullgraph = true});
    const auto [one, more] = fast(x);
    EXPECT_EQ(one.to_vector<float>(), std::vector<float>(64, 2));
    EXPECT_EQ(more.to_vector<float>(), std::vector<float>(64, 3));
    const auto [other, rest] = fast(x * 2.0);
    EXPECT_EQ(other.to_vector<float>(), std::vector<float>(64, 4));
    if (mode == Mode::default_) {
      EXPECT_EQ(one.to_vector<float>(), std::vector<float>(64, 2));
    }
  }
}

// Values that were written through an address, by an operation, or through a view are there.
TEST(TensorArgument, KeepsWhatIsInMemoryThatWasTouchedBeforeALaunch) {
  const Kernel first("first", [](Pointer x, Pointer y) { store(y, load(x)); }, {"x", "y"});
  auto by = [&](const std::function<void(Tensor&, const Tensor&)>& touch) {
    auto function = [&](const Tensor& x) {
      Tensor y = Tensor::empty({4});
      touch(y, x);
      first.launch(1, x, y);
      return y + 0.0;
    };
    Compiled fast = compile(function, {.tell_breaks = false});
    fast(tilewright::full({4}, 7.0));
    return fast(tilewright::full({4}, 7.0)).to_vector<float>();
  };
  const std::vector<float> wanted = {7, 3, 3, 3};
  EXPECT_EQ(by([](Tensor& y, const Tensor&) { std::fill_n(static_cast<float*>(y.data()), 4, 3); }),
            wanted);
  EXPECT_EQ(by([](Tensor& y, const Tensor& x) { y.copy_from(x * 0.0 + 3.0); }), wanted);
  EXPECT_EQ(by([](Tensor& y, const Tensor& x) { y.slice(0, 0, 4).copy_from(x * 0.0 + 3.0); }),
            wanted);
}

// A cache is written at each call, as it is at once.
TEST(TensorArgument, MayBeACapturedTensorThatIsWritten) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Tensor cache = tilewright::zeros({64}).to(default_device()).clone();
    const Kernel gather("gather",
                        [](Pointer x, Pointer to) {
                          Tile i = arange(0, 64);
                          store(to + i, load(to + i) + load(x + i));
                        },
                        {"x", "to"});
    auto fast = compile(
        [&](const Tensor& x) {
          gather.launch(1, x * 1.0, cache);
          return x + cache;
        },
        {.mode = mode, .fullgraph = true});
    const Tensor x = tilewright::full({64}, 2.0).to(default_device()).clone();
    for (int call = 1; call <= 3; ++call) {
      EXPECT_EQ(fast(x).to_vector<float>(), std::vector<float>(64, 2.0F + 2.0F * call));
      EXPECT_EQ(cache.to_vector<float>(), std::vector<float>(64, 2.0F * call));
    }
    EXPECT_EQ(fast.report().size(), 1U);
  }
}

const Kernel two_results("two_results",
                         [](Pointer x, Pointer a, Pointer b, Constexpr n) {
                           Tile i = arange(0, 64), v = load(x + i, i < n);
                           store(a + i, v + 1.0, i < n);
                           store(b + i, v * 2.0, i < 3);
                         },
                         {"x", "a", "b", "n"});

// Sizes that are no multiple of what parts begin at; a part that the kernel leaves stays.
TEST(TensorArgument, MayBeOneOfSeveralThatALaunchWrites) {
  auto function = [](const Tensor& x, const Tensor& first) {
    Tensor a = tilewright::zeros({5, 10}).clone(), b = first * 3.0;
    two_results.launch(1, x * 1.0, a, b, 50);
    return std::pair(a, b + a.slice(0, 0, 1).reshape({10}));
  };
  const Tensor x = tilewright::arange(0, 50, 1, f32).to(default_device()).clone();
  const Tensor first = tilewright::full({10}, 1.0).to(default_device()).clone();
  std::vector<float> a, b;
  for (int i = 0; i < 50; ++i) a.push_back(static_cast<float>(i) + 1);
  for (int i = 0; i < 10; ++i) b.push_back((i < 3 ? 2.0F * i : 3.0F) + i + 1);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(function, {.mode = mode, .fullgraph = true});
    for (int call = 0; call < 3; ++call) {
      const auto [got_a, got_b] = fast(x, first);
      EXPECT_EQ(got_a.to_vector<float>(), a);
      EXPECT_EQ(got_b.to_vector<float>(), b);
    }
  }
}

TEST(TensorArgument, MayBeACapturedTensorAmongSeveralThatALaunchWrites) {
  Tensor cache = tilewright::zeros({50}).to(default_device()).clone();
  auto fast = compile(
      [&](const Tensor& x) {
        Tensor b = tilewright::zeros({3}).clone();
        two_results.launch(1, x, cache, b, 50);
        return b;
      },
      {.fullgraph = true});
  const Tensor x = tilewright::full({50}, 4.0).to(default_device()).clone();
  EXPECT_EQ(fast(x).to_vector<float>(), std::vector<float>(3, 8));
  EXPECT_EQ(cache.to_vector<float>(), std::vector<float>(50, 5));
  EXPECT_THAT(error_of([&] {
                compile([&](const Tensor& y) {
                  two_results.launch(1, y, cache, cache, 50);
                  return y;
                })(x);
              }),
              HasSubstr("[two_results] a tensor is given twice"));
}

// The error names the line of the launch, and none of the library's own.
TEST(TensorArgument, IsNotOfAnotherTypeThanOthersThatALaunchWrites) {
  const Kernel mixed("mixed",
                     [](Pointer x, Pointer a, Pointer b) {
                       Tile i = arange(0, 64), v = load(x + i);
                       store(a + i, v);
                       store(b + i, cast(v, i32));
                     },
                     {"x", "a", "b"});
  int line = 0;
  auto launched = [&](const Tensor& x) {
    Tensor a = x * 0.0, b = (x * 0.0).to(i32);
    line = __LINE__ + 1;
    mixed.launch(1, x, a, b);
    return a + b;
  };
  const Tensor x = tilewright::ones({64}).to(default_device());
  const std::string at = " at tensor_argument_test.cpp:";
  const std::string text = error_of([&] { compile(launched, {.fullgraph = true})(x); });
  EXPECT_THAT(text, HasSubstr("[compile] the function reads data" + at + std::to_string(line) +
                              ", which breaks the graph"));
  EXPECT_THAT(text,
              HasSubstr("a launch that is part of a graph writes tensors of one element type"));
  testing::internal::CaptureStderr();
  Compiled fast = compile(launched);
  EXPECT_EQ(fast(x).to_vector<float>(), std::vector<float>(64, 2));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the graph breaks: launch" + at + std::to_string(line)));
  EXPECT_THAT(fast.explain(), HasSubstr("runs in segments, since the graph breaks: launch"));
}

TEST(TensorArgument, IsNotWrittenWhereAFunctionHoldsACopy) {
  TILEWRIGHT_ON_THE_HOST_ONLY("weights in another order");
  Tensor weight = tilewright::ones({96, 64}), rows = tilewright::ones({64, 64});
  auto frozen = compile([=](const Tensor& t) { return linear(t, weight); }, {.freezing = true});
  frozen(rows);
  Tensor x = tilewright::ones({64});
  EXPECT_THAT(error_of([&] { twice.launch(1, x, weight, 64); }),
              HasSubstr("[launch] the tensor is frozen"));
  twice.launch(1, weight, x, 64);  // it may be read
  EXPECT_EQ(x.to_vector<float>()[63], 2);
}

}  // namespace
}  // namespace tilewright::tensor_argument_test
