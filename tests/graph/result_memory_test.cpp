// Results of a compiled function share memory exactly where those of the original function do.
#include "graph/compile/bindings/result_memory.h"

#include <gtest/gtest.h>

#include <tuple>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::graph::result_memory_test {
namespace {

using tilewright::Mode;

using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead};

// Writes to each result in turn and lists what the argument and all results hold afterwards.
std::vector<Floats> after_writes(Tensor x, Tensors results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].copy_from(results[i] * 10.0 + static_cast<double>(i + 1));
  std::vector<Floats> values = {x.to_vector<float>()};
  for (const Tensor& result : results) values.push_back(result.to_vector<float>());
  return values;
}
template <typename F>
void expect_as_eager(F function) {
  auto x = [] { return Tensor::from(Floats{1, 2, 3, 4}, {4}); };
  Tensor own = x();
  std::vector<Floats> wanted = after_writes(own, function(Tensors{own}));
  for (Mode mode : modes) {
    auto compiled = compile(function, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      Tensor argument = x();
      EXPECT_EQ(after_writes(argument, compiled(Tensors{argument})), wanted)
          << name_of(mode) << ", call " << call;
    }
  }
}

TEST(ResultMemory, ACloneOfAnArgumentIsNotTheArgument) {
  expect_as_eager([](const Tensors& in) { return Tensors{in[0].clone()}; });
}

TEST(ResultMemory, AnArgumentIsReturnedAsItself) {
  expect_as_eager([](const Tensors& in) { return Tensors{in[0], in[0].clone(), in[0]}; });
}

TEST(ResultMemory, AViewOfAnArgumentSharesItsMemory) {
  expect_as_eager([](const Tensors& in) { return Tensors{in[0].slice(0, 1, 3), in[0] + 1.0}; });
  expect_as_eager([](const Tensors& in) {
    Tensor square = in[0].reshape({2, 2}), turned = square.transpose(0, 1);
    return Tensors{turned, turned.select(0, 1), square.slice(1, 0, 1), square};
  });
  // Such a reshape copies.
  expect_as_eager([](const Tensors& in) {
    Tensor flat = in[0].reshape({2, 2}).transpose(0, 1).reshape({4});
    return Tensors{flat, in[0].slice(0, 0, 1)};
  });
  expect_as_eager([](const Tensors& in) { return Tensors{in[0].slice(0, 1, 3).clone()}; });
}

TEST(ResultMemory, AViewOfAWrittenArgumentSharesItsMemory) {
  expect_as_eager([](const Tensors& in) {
    Tensor x = in[0];
    x.copy_from(x * 3.0);
    return Tensors{x.slice(0, 1, 3), x, x.slice(0, 0, 1) * 2.0};
  });
}

TEST(ResultMemory, AViewOfAnArgumentWithStridesSharesItsMemory) {
  for (Mode mode : modes) {
    auto column = compile([](const Tensor& x) { return x.transpose(0, 1).select(0, 1); },
                          {.mode = mode, .fullgraph = true});
    for (int call = 0; call < 2; ++call) {
      Tensor whole = ramp({6, 5}).clone(), part = whole.slice(0, 1 + call, 4 + call);
      Tensor result = column(part);
      EXPECT_EQ(result.const_data(), part.select(1, 1).const_data());
      EXPECT_EQ(result.strides(), (Strides{5}));
    }
  }
}

TEST(ResultMemory, AViewOfAStateSharesItsMemory) {
  for (Mode mode : modes) {
    Tensor state = zeros({3, 2}).clone();
    auto step = compile(
        [&](const Tensor& x) {
          state.copy_from(state + x);
          return state.select(0, 1);
        },
        {.mode = mode, .fullgraph = true});
    for (int call = 1; call <= 3; ++call) {
      Tensor row = step(ones({3, 2}));
      EXPECT_EQ(row.to_vector<float>(), Floats(2, static_cast<float>(call)));
      EXPECT_EQ(row.const_data(), state.select(0, 1).const_data());
    }
  }
}

TEST(ResultMemory, WhatIsSimplifiedToTheArgumentIsATensorOfItsOwn) {
  expect_as_eager([](const Tensors& in) { return Tensors{in[0] * 1.0, -(-in[0])}; });
}

TEST(ResultMemory, EqualResultsAreApart) {
  expect_as_eager([](const Tensors& in) {
    Tensor sum = in[0] + 1.0, other = in[0] + 1.0;
    return Tensors{sum, other, sum.clone(), sum};
  });
}

TEST(ResultMemory, AWrittenArgumentAndItsCloneAreApart) {
  expect_as_eager([](const Tensors& in) {
    Tensor x = in[0];
    x.copy_from(x * 3.0);
    return Tensors{x.clone(), x};
  });
}

TEST(ResultMemory, ACloneOfAWeightIsNotTheWeight) {
  Tensor weight = Tensor::from(Floats{5, 6}, {2});
  for (Mode mode : modes) {
    auto compiled =
        compile([&](const Tensor&) { return std::tuple(weight.clone(), weight); }, {.mode = mode});
    auto [copy, same] = compiled(zeros({1}));
    copy.copy_from(full({2}, 9));
    EXPECT_EQ(weight.to_vector<float>(), (Floats{5, 6}));
    EXPECT_EQ(same.to_vector<float>(), (Floats{5, 6}));
  }
}

}  // namespace
}  // namespace tilewright::graph::result_memory_test
