// Writes through views inside compiled functions, and views of what is written: as whole graphs
// they compute what the same operations do at once, on memory.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "graph/compile/compile.h"
#include "graph/ir/evaluate.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::view_writes_test {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(Tensor x)>;

void expect_same(const Function& function, const Tensor& x) {
  Tensor at_once = x.clone();
  const Tensors wanted = function(at_once);
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : wanted) values.push_back(tensor.to_vector<float>());
  auto fast = compile(function, {.fullgraph = true});
  for (int turn = 0; turn < 2; ++turn) {
    Tensor argument = x.clone();
    const Tensors got = fast(argument);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i].to_vector<float>(), values[i]) << "result " << i;
    ASSERT_EQ(argument.to_vector<float>(), at_once.to_vector<float>()) << "the argument";
  }
}

TEST(ViewWrites, GoToWhatTheViewIsOf) {
  const Tensor x = ramp({4, 6}, 0.5F);
  auto fill = [](Tensor view, double value) { view.copy_from(full(view.shape(), value)); };
  expect_same(
      [&](Tensor t) {
        fill(t.select(0, 1), 7);
        fill(t.slice(1, 1, 6, 2).transpose(0, 1).slice(0, 1, 3), 8);
        return Tensors{t * 2.0};
      },
      x);
  // Writes a value, and through three views of it; the other views of it follow.
  expect_same(
      [&](Tensor t) {
        Tensor y = t + 1.0, row = y.select(0, 2), flat = y.reshape({24}),
               part = flat.slice(0, 3, 9);
        fill(part.reshape({2, 3}).transpose(0, 1).select(0, 1), -1);
        fill(row.slice(0, 0, 2), -2);
        return Tensors{y, row * 1.0, flat * 1.0, part * 3.0, t * 1.0};
      },
      x);
  // A view that has been taken before a write has the new elements.
  expect_same(
      [&](Tensor t) {
        Tensor column = t.select(1, 2), inner = column.slice(0, 1, 3);
        t.copy_from(t * 2.0);
        return Tensors{column + 0.5, inner * 1.0};
      },
      x);
}

// Where strides cannot say what a reshape gives, it is a copy, at once and compiled.
TEST(ViewWrites, DoNotGoThroughReshapesThatCopy) {
  const Tensor x = ramp({4, 6}, 0.5F);
  expect_same(
      [](Tensor t) {
        Tensor flat = t.transpose(0, 1).reshape({24});
        Tensor before = flat * 1.0;
        t.copy_from(t * 3.0);
        flat.slice(0, 0, 5).copy_from(zeros({5}));
        return Tensors{before, flat * 1.0, t * 1.0};
      },
      x);
  // Nor through those that are asked to lie in order and do not.
  expect_same(
      [](Tensor t) {
        Tensor kept = t.slice(0, 1, 3).contiguous(), copied = t.slice(1, 1, 3).contiguous();
        kept.copy_from(zeros({2, 6}));
        copied.copy_from(ones({4, 2}));
        return Tensors{t * 1.0, kept * 1.0, copied * 1.0};
      },
      x);
}

// A transposed argument is reshaped the same way: a write to the copy does not change it.
TEST(ViewWrites, DoNotGoThroughCopiesOfArgumentsThatDoNotLieInOrder) {
  auto function = [](Tensor t) {
    Tensor flat = t.reshape({24});
    flat.slice(0, 0, 5).copy_from(zeros({5}));
    return Tensors{flat * 1.0, t * 1.0};
  };
  auto argument = [] { return ramp({6, 4}, 0.5F).clone().transpose(0, 1); };
  Tensor at_once = argument(), compiled = argument();
  const Tensors wanted = function(at_once),
                got = compile(Function(function), {.fullgraph = true})(compiled);
  for (std::size_t i = 0; i < wanted.size(); ++i) expect_near(got[i], wanted[i]);
  expect_near(compiled, at_once);
}

// One element more along a new axis of 1 is none that is spread, which no graph sees.
TEST(ViewWrites, OfWhatIsExpandedByNothingBreakTheGraph) {
  auto write = [](const Tensor& t) {
    Tensor y = t * 2.0;
    y.expand({1, 4, 1}).copy_from(zeros({1, 4, 1}));
    return y + 1.0;
  };
  const Tensor x = ramp({4, 1}, 0.5F);
  Compiled fast = compile(write, {.tell_breaks = false});
  for (int call = 0; call < 2; ++call) expect_near(fast(x), write(x));
}

TEST(ViewWrites, OfWhatIsNotInMemoryOfItsOwnAreRefused) {
  const Tensor x = ramp({4, 1}, 0.5F);
  auto write = [](const Tensor& t) {
    Tensor y = t * 1.0;
    y.expand({4, 3}).copy_from(zeros({4, 3}));
    return y;
  };
  expect_contains(error_of([&] { write(x); }), "copy_from");
  expect_contains(error_of([&] { compile(write, {.fullgraph = true})(x); }), "copy_from");
}

// Random functions: views of views, of an argument and of values, written and read in any order.
class RandomFunction {
 public:
  explicit RandomFunction(std::uint64_t seed) : seed_(seed) {}

  Tensors operator()(const Tensor& x) const {
    std::mt19937_64 chance(seed_);
    auto below = [&](std::size_t n) { return static_cast<std::size_t>(chance() % n); };
    Tensors all{x, x * 2.0 + 1.0};
    for (int step = 0; step < 12; ++step) {
      const Tensor from = all[below(all.size())];
      const std::size_t kind = below(10);
      if (kind < 6)
        all.push_back(view(from, below(4), chance()));
      else if (kind < 9)
        Tensor(from).copy_from(from * 0.5 + static_cast<double>(step));
      else
        all.push_back(from + 1.0);
    }
    Tensors results;
    for (const Tensor& each : all) results.push_back(each * 1.0);
    return results;
  }

 private:
  static Tensor view(const Tensor& x, std::size_t kind, std::uint64_t number) {
    const int axis = static_cast<int>(number % static_cast<std::uint64_t>(std::max(x.rank(), 1)));
    const auto other =
        static_cast<int>((number >> 8) % static_cast<std::uint64_t>(std::max(x.rank(), 1)));
    if (x.rank() == 0) return x.unsqueeze(0);
    const std::int64_t size = x.size(axis);
    switch (kind) {
      case 0: return x.transpose(axis, other);
      case 1: {
        const auto start =
            static_cast<std::int64_t>((number >> 16) % static_cast<std::uint64_t>(size));
        return x.slice(axis, start, size, 1 + static_cast<std::int64_t>((number >> 32) % 2));
      }
      case 2: return x.rank() > 1 ? x.select(axis, size - 1) : x.unsqueeze(0);
      default: return x.rank() > 1 ? x.reshape({-1}) : x.reshape({1, x.size(0)});
    }
  }
  std::uint64_t seed_;
};

TEST(ViewWrites, OfRandomFunctionsAreAsAtOnce) {
  const Tensor x = ramp({3, 4, 2}, 0.25F);
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(RandomFunction(seed), x);
    if (HasFatalFailure()) return;
  }
}

// A write, and a use after it, take time for each view between, not for each pair of these.
TEST(ViewWrites, BehindManyViewsGoToTheValue) {
  constexpr int many = 60'000;
  graph::Capture capture;
  Tensor x = capture.placeholder(f32, {2, 3}), y = x * 1.0, view = y;
  for (int i = 0; i < many; ++i) view = view.transpose(0, 1);
  y.copy_from(y * 2.0);  // outdates all of them
  const Tensor read = view + 1.0;
  view.copy_from(view * 3.0);
  const graph::Captured result = capture.finish({read, y * 1.0});
  std::vector<graph::HostTensor> inputs = {graph::HostTensor(f32, {2, 3})};
  inputs[0].floating = {1, 2, 3, 4, 5, 6};
  const auto values = graph::evaluate(result.graph, inputs, graph::Rounding::double_).outputs;
  EXPECT_EQ(values[0].floating, (std::vector<double>{3, 5, 7, 9, 11, 13}));
  EXPECT_EQ(values[1].floating, (std::vector<double>{6, 12, 18, 24, 30, 36}));
}

// Outside of compiled functions, view raises an Error where it would have to copy. Inside, such a
// view is read as any other value, but a write to either side would not reach the other.
TEST(ViewWrites, ThroughViewsThatWouldCopyAreRefused) {
  const Tensor x = ramp({4, 6}, 0.5F);
  auto argument = [&] { return x.clone().transpose(0, 1); };
  const std::vector<float> before = argument().to_vector<float>();
  const std::vector<std::function<Tensor(Tensor)>> writes = {
      [](Tensor t) {
        t.view({-1})[0] = 5;
        return t * 1.0;
      },
      [](Tensor t) {
        t.view_as(zeros({24})).slice(0, 3, 5).copy_from(zeros({2}));
        return t * 1.0;
      },
      [](Tensor t) {
        Tensor flat = t.view(-1);
        t.mul_(2.0);
        return flat * 1.0;
      },
      [](Tensor t) {
        (t * 2.0).transpose(0, 1).view({8, 3}).copy_from(zeros({8, 3}));
        return t * 1.0;
      }};
  for (const auto& write : writes) {
    expect_contains(error_of([&] { write(argument()); }), "use reshape");
    for (const bool fullgraph : {true, false}) {
      Tensor given = argument();
      const std::string error =
          error_of([&] { compile(write, {.fullgraph = fullgraph, .tell_breaks = false})(given); });
      expect_contains(error, "would be a copy (at ");
      expect_contains(error, "use reshape() and assign its result, or view contiguous()");
    }
  }
  Tensor given = argument();
  const std::string error = error_of([&] { compile(writes[0])(given); });
  expect_contains(error, "the view of shape 24 of a tensor of shape 6x4 with strides 1x6");
  EXPECT_EQ(given.to_vector<float>(), before);
  auto read = compile([](const Tensor& t) { return t.view(-1) * 2.0; }, {.fullgraph = true});
  EXPECT_EQ(read(argument()).to_vector<float>(), (argument() * 2.0).to_vector<float>());
}

// The function runs in segments, so that the view has memory of its own when it is written.
TEST(ViewWrites, ThroughViewsThatWereCopiedAtABreakAreRefused) {
  const std::vector<std::function<void(Tensor)>> writes = {
      [](Tensor flat) { flat.mul_(2.0); }, [](Tensor flat) { flat[0] = 5; },
      [](Tensor flat) {
        flat.slice(0, 0, 2).view({2, 1}).copy_from(zeros({2, 1}));
      },
      [](Tensor flat) { (void)flat.data(); }};
  for (const auto& write : writes) {
    auto function = [&](const Tensor& t) {
      Tensor flat = t.view(-1), row = t.transpose(0, 1).view(-1);
      if (flat[0].item<float>() > 100) return t;
      row[1] = 7;
      write(flat);
      return t;
    };
    Tensor x = ramp({4, 6}, 0.5F).clone();
    expect_contains(error_of([&] { compile(function, {.tell_breaks = false})(x.transpose(0, 1)); }),
                    "view() gave the tensor of shape ");
    EXPECT_EQ(x.to_vector<float>()[1], 7);
  }
}

// As in PyTorch 2.15: contiguous() is the tensor itself where that is contiguous, else a copy.
TEST(ViewWrites, ThroughContiguousTensorsGoWhereTheseLie) {
  auto fill = [](Tensor t) {
    t.contiguous().view(-1)[0] = 5;
    return t + 0.0;
  };
  const std::vector<std::function<Tensor(Tensor)>> parts = {
      [](Tensor t) { return t; }, [](Tensor t) { return t.slice(0, 1, 3); },
      [](Tensor t) { return t.transpose(0, 1); }, [](Tensor t) { return t.slice(1, 0, 3); }};
  // The first element of each part afterwards.
  const std::vector<float> wanted = {5, 5, 1, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const bool is_outside : {true, false}) {
      SCOPED_TRACE(testing::Message() << "part " << i << (is_outside ? " of the caller's" : ""));
      auto function = [&](const Tensor& t) {
        Tensor part = is_outside ? t : parts[i](t);
        const Tensor result = fill(part);
        return Tensors{result, t * 1.0};
      };
      auto given = [&] {
        Tensor t = (ramp({4, 6}, 0.5F) * 0.0 + 1.0).clone();
        return is_outside ? parts[i](t) : t;
      };
      Tensor eager = given();
      const Tensors at_once = function(eager);
      EXPECT_EQ(at_once[0].to_vector<float>()[0], wanted[i]);
      for (const bool fullgraph : {true, false}) {
        Tensor compiled = given();
        const Tensors got = compile(function, {.fullgraph = fullgraph})(compiled);
        for (std::size_t k = 0; k < got.size(); ++k)
          EXPECT_EQ(got[k].to_vector<float>(), at_once[k].to_vector<float>()) << "result " << k;
        EXPECT_EQ(compiled.to_vector<float>(), eager.to_vector<float>());
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::view_writes_test
