// Tensors that a function makes of numbers of the host: each call has its own, as when the function
// runs at once, whatever is done to them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"
#include "tests/errors.h"

namespace tilewright::made_inside_test {
namespace {

struct MadeInside {
  std::string name;
  std::function<std::vector<Tensor>(const Tensor&)> function;
  bool is_whole = true;  // without a break
};

Tensor ramp_of_three() { return Tensor::from(std::vector<float>{1, 2, 3}, {3}); }

std::vector<MadeInside> all_made_inside() {
  std::vector<MadeInside> all;
  auto add = [&](const char* name, std::function<std::vector<Tensor>(const Tensor&)> f,
                 bool is_whole = true) {
    all.push_back({name, std::move(f), is_whole});
  };
  add("written", [](const Tensor& x) -> std::vector<Tensor> {
    Tensor t = ramp_of_three();
    t.copy_from(t + x);
    return {t * 1.0};
  });
  add("written_and_returned", [](const Tensor& x) -> std::vector<Tensor> {
    Tensor t = ramp_of_three();
    t.copy_from(t + x);
    return {t};
  });
  add("written_before_it_is_read", [](const Tensor& x) -> std::vector<Tensor> {
    Tensor t = ramp_of_three(), u = Tensor::empty({3});
    t.copy_from(x);
    u.copy_from(t * 2.0);
    return {u};
  });
  add("an_accumulator", [](const Tensor& x) -> std::vector<Tensor> {
    Tensor total = Tensor::scalar(1.0F);
    for (int i = 0; i < 3; ++i) total.copy_from(total + sum(x));
    return {total};
  });
  add("read_after_a_copy", [](const Tensor& x) -> std::vector<Tensor> {
    Tensor t = ramp_of_three(), before = t * 2.0;
    t.copy_from(x);
    return {before, t, before + t};
  });
  add(
      "viewed_and_written",
      [](const Tensor& x) -> std::vector<Tensor> {
        Tensor t = ramp_of_three(), first = t.slice(0, 0, 1);
        t.copy_from(t + x);
        return {first + 0.0, t};
      },
      false);
  add(
      "written_by_a_view",
      [](const Tensor& x) -> std::vector<Tensor> {
        Tensor t = ramp_of_three();
        t.slice(0, 0, 2).copy_from(x.slice(0, 1, 3));
        return {t + x};
      },
      false);
  add("a_generator", [](const Tensor& x) -> std::vector<Tensor> {
    Generator g(3);
    Tensor a = x + rand({3}, f32, g);
    return {a, a * rand({3}, f32, g)};
  });
  add("a_generator_seeded_again", [](const Tensor& x) -> std::vector<Tensor> {
    Generator g(3);
    Tensor a = rand({3}, f32, g);
    g.manual_seed(7);
    return {x + a, dropout(x, 0.5, true, g)};
  });
  return all;
}

class TensorsMadeInside : public testing::TestWithParam<MadeInside> {};

std::vector<std::vector<float>> values_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.to_vector<float>());
  return values;
}

TEST_P(TensorsMadeInside, AreNewInEachCall) {
  const MadeInside& c = GetParam();
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    for (int every : {0, 1}) {
      SCOPED_TRACE(every);
      auto f = compile(
          c.function,
          {.mode = mode, .fullgraph = c.is_whole, .tell_breaks = false, .verify_capture = every});
      for (int call = 0; call < 4; ++call) {
        Tensor x = full({3}, call - 1.5);
        EXPECT_EQ(values_of(f(x)), values_of(c.function(x))) << call;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, TensorsMadeInside, testing::ValuesIn(all_made_inside()),
                         [](const auto& p) { return p.param.name; });

TEST(MadeInside, AResultIsTheCallersToWrite) {
  auto f = compile([](const Tensor& x) {
    Tensor t = ramp_of_three();
    return std::vector<Tensor>{x * 2.0, t, t, t.slice(0, 1, 3)};
  });
  const Tensor x = ones({3});
  std::vector<Tensor> first = f(x);
  first[1].copy_from(full({3}, 9.0));
  first[3].copy_from(full({2}, 9.0));
  const std::vector<Tensor> second = f(x);
  EXPECT_EQ(second[1].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(second[2].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(second[3].to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(MadeInside, AViewAndAWriteAreAnErrorOfAWholeGraph) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor t = ramp_of_three(), first = t.slice(0, 0, 1);
        t.copy_from(t + x);
        return first + t;
      },
      {.fullgraph = true});
  const std::string message = error_of([&] { f(ones({3})); });
  expect_contains(message, "there are views of it; write a clone() of it");
  expect_contains(message, "made_inside_test.cpp");
}

TEST(MadeInside, OtherNumbersAreSeenByVerifyCapture) {
  float factor = 2;
  auto f =
      compile([&](const Tensor& x) { return x * Tensor::scalar(factor); }, {.verify_capture = 1});
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  factor = 3;
  expect_contains(error_of([&] { f(ones({2})); }),
                  "makes a tensor of shape scalar of other numbers than when it was captured");
}

TEST(MadeInside, TheDefaultGeneratorIsOneForAllCalls) {
  auto f = compile([](const Tensor& x) { return x + rand({3}); }, {.fullgraph = true});
  const Tensor x = zeros({3}).clone();
  EXPECT_NE(f(x).to_vector<float>(), f(x).to_vector<float>());
}

TEST(ArgumentsOfOneArray, MayBeWrittenWhereTheyAreApart) {
  auto f = compile(
      [](const Tensor& a, const Tensor& b) {
        Tensor t = a;
        t.copy_from(a + b);
        return t * 2.0;
      },
      {.fullgraph = true});
  auto apart = [&](const Tensor& a, const Tensor& b) {
    const std::vector<float> before = (a + b).to_vector<float>(), other = b.to_vector<float>();
    f(a, b);
    EXPECT_EQ(a.contiguous().to_vector<float>(), before);
    EXPECT_EQ(b.contiguous().to_vector<float>(), other);
  };
  const Tensor m = arange(0, 64).to(f32).reshape({8, 8}).clone();
  apart(m.slice(1, 0, 4), m.slice(1, 4, 8));
  apart(m.slice(1, 4, 8), m.slice(1, 0, 4));
  apart(m.slice(0, 0, 8, 2), m.slice(0, 1, 8, 2));
  apart(m.select(1, 3), m.select(1, 2));
  apart(m.slice(0, 0, 4).slice(1, 0, 4), m.slice(0, 4, 8).slice(1, 2, 6));
  const std::string overlapping = error_of([&] { f(m.slice(1, 0, 4), m.slice(1, 3, 7)); });
  expect_contains(overlapping, "shares memory with input 1");
  expect_contains(error_of([&] { f(m.slice(0, 0, 4), m.slice(0, 3, 7)); }), "shares memory");
  expect_contains(error_of([&] { f(m.select(1, 3), m.select(0, 3)); }), "shares memory");
}

}  // namespace
}  // namespace tilewright::made_inside_test
