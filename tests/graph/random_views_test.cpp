// Random functions of parts of arrays: of two arguments and a tensor besides, views of views,
// written and read in any order, and given back as they are or computed with. Compiled, whole or in
// segments, they leave in memory what the same operations do at once.
#include <gtest/gtest.h>

#include <random>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::random_views_test {
namespace {

using Tensors = std::vector<Tensor>;

Tensor random_view(const Tensor& x, std::mt19937_64& chance) {
  auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(chance() % static_cast<std::uint64_t>(n));
  };
  if (x.rank() == 0) return x.unsqueeze(0);
  const int axis = static_cast<int>(below(x.rank()));
  switch (below(4)) {
    case 0: return x.transpose(axis, static_cast<int>(below(x.rank())));
    case 1: {
      const std::int64_t start = below(x.size(axis));
      return x.slice(axis, start, x.size(axis), 1 + below(2));
    }
    case 2: return x.rank() > 1 ? x.select(axis, x.size(axis) - 1) : x.unsqueeze(0);
    default: return x.rank() > 1 ? x.reshape({-1}) : x.reshape({1, x.size(0)});
  }
}

struct RandomFunction {
  std::uint64_t seed;
  bool breaks;
  Tensor state;

  Tensors operator()(const Tensor& x, const Tensor& y) const {
    std::mt19937_64 chance(seed);
    Tensors all{x, x * 2.0 + 1.0, y, state};
    for (int step = 0; step < 12; ++step) {
      const Tensor from = all[chance() % all.size()];
      const auto kind = chance() % (breaks ? 11 : 10);
      if (kind < 6)
        all.push_back(random_view(from, chance));
      else if (kind < 9)
        Tensor(from).copy_from(from * 0.5 + static_cast<double>(step));
      else if (kind == 9)
        all.push_back(from + 1.0);
      else
        all.push_back(from * (sum(from).item<float>() > 3 ? 0.25 : 0.5));
    }
    for (Tensor& each : all)
      if (chance() % 2 == 0) each = each * 1.0;
    return all;
  }
};

// An array and two parts of it without an element in common.
Tensors parts(std::uint64_t kind) {
  Tensor array = ramp({6, 8}, 0.5F).clone();
  switch (kind % 3) {
    case 0:
      return {array, array.slice(0, 0, 3).slice(1, 1, 5), array.slice(0, 1, 5).slice(1, 5, 8)};
    case 1:
      return {array, array.slice(0, 0, 3).slice(1, 1, 5).transpose(0, 1),
              array.slice(0, 3, 6).slice(1, 1, 5)};
    default: return {array, array.slice(1, 0, 8, 2), array.slice(1, 1, 8, 2)};
  }
}

// The contents of the results, the array and the state after three calls.
std::vector<std::vector<float>> values_of(const RandomFunction& form, const Options* options) {
  RandomFunction function = form;
  function.state = ramp({3, 3}).clone();
  const Tensors given = parts(form.seed);
  Tensors results;
  if (options == nullptr) {
    for (int call = 0; call < 3; ++call) results = function(given[1], given[2]);
  } else {
    auto fast = compile(function, *options);
    for (int call = 0; call < 3; ++call) results = fast(given[1], given[2]);
  }
  results.push_back(given[0]);
  results.push_back(function.state);
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : results) values.push_back(tensor.to_vector<float>());
  return values;
}

TEST(RandomViews, OfPartsOfArraysAreAsAtOnce) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed)
    for (bool breaks : {false, true}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << (breaks ? ", breaks" : ""));
      const RandomFunction function{seed, breaks, {}};
      const Options options{.mode = seed % 2 ? Mode::default_ : Mode::reduce_overhead,
                            .tell_breaks = false};
      const auto wanted = values_of(function, nullptr), got = values_of(function, &options);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].size(), wanted[i].size()) << "result " << i;
        for (std::size_t j = 0; j < got[i].size(); ++j)
          ASSERT_NEAR(got[i][j], wanted[i][j], 1e-4 * (1 + std::abs(wanted[i][j])))
              << "result " << i << ", element " << j;
      }
    }
}

// Cases that random functions found.
TEST(RandomViews, MayLieBetweenElementsThatAreWritten) {
  auto function = [](Tensor x, const Tensor& y) {
    x.copy_from(x + 1.0);
    return y * 2.0;
  };
  Tensor array = ones({3, 8}).clone();
  const Tensor even = array.slice(1, 0, 8, 2), column = array.select(1, 1);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    EXPECT_EQ(compile(function, {.mode = mode})(even, column).to_vector<float>(),
              std::vector<float>(3, 2));
  EXPECT_EQ(even.to_vector<float>(), std::vector<float>(12, 3));
  EXPECT_EQ(column.to_vector<float>(), std::vector<float>(3, 1));
  EXPECT_EQ(compile(function)(even, array.select(1, 2)).to_vector<float>(),
            std::vector<float>(3, 8));
}

TEST(RandomViews, OfWhatIsWrittenByAnotherHandleAreNotStale) {
  Tensor state = ramp({3, 3}).clone();
  const Tensor same = state.transpose(0, 0);
  auto function = [&](const Tensor& x) {
    state.copy_from(state + x);
    Tensor row = state.select(0, 1);
    Tensor(same).copy_from(same * 0.5);
    return row * 1.0;
  };
  const Tensor x = ones({3, 3});
  const std::vector<float> wanted = function(x).to_vector<float>();
  state.copy_from(ramp({3, 3}));
  EXPECT_EQ(compile(function, {.tell_breaks = false})(x).to_vector<float>(), wanted);
}

TEST(RandomViews, ThatReshapesCopyAreNoViewsOfAnArgumentThatIsReturned) {
  const Tensor array = ramp({3, 8}).clone();
  auto fast = compile([](Tensor x) {
    x.copy_from(x + 1.0);
    return Tensors{x, x.reshape({-1})};
  });
  const Tensor x = array.slice(1, 1, 5);
  const Tensors results = fast(x);
  EXPECT_EQ(results[1].to_vector<float>(), x.to_vector<float>());
  Tensor(results[0]).copy_from(zeros({3, 4}));
  EXPECT_NE(results[1].to_vector<float>()[0], 0);
}

}  // namespace
}  // namespace tilewright::random_views_test
