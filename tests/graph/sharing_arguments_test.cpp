// Compiled functions that write arguments which share elements with others: they do what they do
// op by op, in segments, while calls whose arguments are apart run whole.
#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <random>
#include <stdexcept>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::sharing_arguments_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Function = std::function<Tensor(const Tensor&, const Tensor&)>;

Tensor doubled_and_added(const Tensor& x, const Tensor& y) {
  Tensor to = x;
  to.copy_from(x * 2);
  return x + y;
}

Tensor numbers() { return arange(0, 64).to(f32).clone(); }

// The function of two parts of one array, compiled beforehand or not, and the array afterwards.
void expect_as_at_once(const Function& f, Compiled& fast, const Function& first,
                       const Function& second) {
  Tensor memory = numbers(), expected = numbers();
  const Tensor wanted = f(first(expected, {}), second(expected, {}));
  expect_near(fast(first(memory, {}), second(memory, {})), wanted);
  expect_near(memory, expected);
}

// All of them begin at 64 bytes, which GPUs compile for.
Tensor low(const Tensor& t, const Tensor&) { return t.slice(0, 0, 32); }
Tensor middle(const Tensor& t, const Tensor&) { return t.slice(0, 16, 48); }
Tensor high(const Tensor& t, const Tensor&) { return t.slice(0, 32, 64); }

const PlanReport& report_of(const Compiled& fast, std::vector<PlanReport>& kept) {
  kept = fast.report();
  return kept.front();
}

TEST(SharingArguments, AreWrittenAsOpByOpAndOthersRunWhole) {
  for (const Mode mode : {Mode::default_, Mode::reduce_overhead})
    for (const bool apart_first : {true, false}) {
      SCOPED_TRACE(apart_first);
      Compiled fast = compile(doubled_and_added, {.mode = mode, .tell_breaks = false});
      std::vector<PlanReport> kept;
      if (apart_first) expect_as_at_once(doubled_and_added, fast, low, high);
      for (int turn = 0; turn < 3; ++turn) {
        expect_as_at_once(doubled_and_added, fast, low, middle);
        expect_as_at_once(doubled_and_added, fast, middle, low);
        expect_as_at_once(doubled_and_added, fast, low, low);
      }
      if (!apart_first) {
        EXPECT_THAT(report_of(fast, kept).graph_break, HasSubstr("a write at"));
      }
      expect_as_at_once(doubled_and_added, fast, low, high);
      expect_as_at_once(doubled_and_added, fast, low, middle);
      EXPECT_THAT(report_of(fast, kept).graph_break, IsEmpty());
      EXPECT_THAT(fast.recompilations(), IsEmpty());
      EXPECT_THAT(report_of(fast, kept).sharing_break,
                  HasSubstr("a write at sharing_arguments_test.cpp:"));
      EXPECT_THAT(fast.explain(), HasSubstr("calls with arguments that share memory"));
    }
}

TEST(SharingArguments, AreAnErrorOfWholeGraphs) {
  Compiled fast = compile(doubled_and_added, {.fullgraph = true});
  Tensor memory = numbers();
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_THAT(error_of([&] { fast(low(memory, {}), middle(memory, {})); }),
                HasSubstr("input 0 is written in place and shares memory with input 1: the "
                          "function writes argument 0, with what is computed at "
                          "sharing_arguments_test.cpp:"));
    expect_near(memory, numbers());
    fast(low(numbers(), {}), high(numbers(), {}));
  }
}

TEST(SharingArguments, AreTold) {
  testing::internal::CaptureStderr();
  Compiled fast = compile(doubled_and_added);
  Tensor memory = numbers();
  fast(low(memory, {}), high(memory, {}));
  for (int turn = 0; turn < 2; ++turn) fast(low(memory, {}), middle(memory, {}));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("writes memory that it uses otherwise"));
  EXPECT_THAT(said, HasSubstr("in calls with arguments that share memory which it writes"));
  EXPECT_EQ(said.find("[compile]"), said.rfind("[compile]"));
}

// The first call of a function that is asked for one result only, and reads the other before.
TEST(SharingArguments, MayBeReadBeforeAndBesides) {
  const Function reads_first = [](const Tensor& x, const Tensor& y) {
    Tensor to = x;
    const Tensor before = y * 3;
    to.copy_from(before + 1);
    return before + y;
  };
  const Function only_writes = [](const Tensor& x, const Tensor& y) {
    Tensor to = x;
    to.copy_from(y * 2);
    return to.slice(0, 0, 2) + 1;
  };
  const Function writes_both = [](const Tensor& x, const Tensor& y) {
    Tensor a = x, b = y;
    a.copy_from(x + 1);
    b.copy_from(y * 2);
    a.copy_from(x * 3);
    return x - y;
  };
  const Function returns_it = [](const Tensor& x, const Tensor& y) {
    Tensor to = y;
    to.slice(0, 1, 3).copy_from(x.slice(0, 0, 2) * 5);
    return x;
  };
  for (const Function& f : {reads_first, only_writes, writes_both, returns_it})
    for (const bool apart_first : {true, false}) {
      Compiled fast = compile(f, {.tell_breaks = false});
      if (apart_first) expect_as_at_once(f, fast, low, high);
      expect_as_at_once(f, fast, low, middle);
      expect_as_at_once(f, fast, middle, low);
      expect_as_at_once(f, fast, low, low);
      expect_as_at_once(f, fast, low, high);
    }
}

TEST(SharingArguments, WithWhatTheFunctionCaptures) {
  for (const bool apart_first : {true, false}) {
    Tensor held = numbers(), expected = numbers();
    auto f = [](const Tensor& x, const Tensor& held) {
      Tensor to = x;
      to.copy_from(x + held.slice(0, 4, 8));
      return held * 2;
    };
    Compiled fast = compile([&](const Tensor& x) { return f(x, held); }, {.tell_breaks = false});
    if (apart_first) fast(ones({4}).clone());
    for (int turn = 0; turn < 2; ++turn) {
      for (const std::int64_t at : {4, 2, 0})
        expect_near(fast(held.slice(0, at, at + 4)), f(expected.slice(0, at, at + 4), expected));
      expect_near(held, expected);
    }
    Tensor other = ones({4}).clone();
    expect_near(fast(other), expected * 2);
    expect_near(other, expected.slice(0, 4, 8) + 1);
  }
}

TEST(SharingArguments, LeaveWhatWasDoneUntilAnException) {
  bool raises = true;
  auto f = [&](const Tensor& x, const Tensor& y) {
    Tensor to = x;
    to.copy_from(y + 1);
    const Tensor sum = x + y;
    if (raises) throw std::runtime_error("enough");
    return sum;
  };
  Compiled fast = compile(f, {.tell_breaks = false});
  Tensor memory = numbers(), expected = numbers();
  EXPECT_THROW(fast(low(memory, {}), middle(memory, {})), std::runtime_error);
  EXPECT_THROW(f(low(expected, {}), middle(expected, {})), std::runtime_error);
  expect_near(memory, expected);
  raises = false;
  expect_near(fast(low(memory, {}), middle(memory, {})),
              f(low(expected, {}), middle(expected, {})));
  expect_near(memory, expected);
}

TEST(SharingArguments, OfARepeatedCall) {
  CompiledFunction fast(
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{doubled_and_added(x[0], x[1])};
      },
      {.tell_breaks = false});
  Tensor memory = numbers(), expected = numbers();
  const Tensor got = fast.repeat(3, {low(memory, {}), middle(memory, {})})[0];
  for (int i = 0; i < 2; ++i) doubled_and_added(low(expected, {}), middle(expected, {}));
  expect_near(got, doubled_and_added(low(expected, {}), middle(expected, {})));
  expect_near(memory, expected);
}

// A value that is copied to an argument is the value of both, and yet the result is the argument.
TEST(SharingArguments, ThatAreCopiedToAndReturnedAreTheResult) {
  const Tensor weight = Tensor::from<float>({7, 8}, {2}).clone();
  const Function copies = [](const Tensor& x, const Tensor& y) {
    Tensor to = x;
    to.copy_from(y);
    return to;
  };
  const Function copies_weight = [&](const Tensor& x, const Tensor&) {
    Tensor to = x;
    to.copy_from(weight);
    return to;
  };
  for (const Mode mode : {Mode::default_, Mode::reduce_overhead})
    for (const Function& f : {copies, copies_weight}) {
      Compiled fast = compile(f, {.mode = mode});
      Tensor x = Tensor::from<float>({1, 2}, {2}).clone(),
             y = Tensor::from<float>({3, 4}, {2}).clone();
      Tensor result = fast(x, y);
      result.mul_(0);
      expect_near(x, zeros({2}));
      expect_near(y, Tensor::from<float>({3, 4}, {2}));
      expect_near(weight, Tensor::from<float>({7, 8}, {2}));
    }
}

TEST(SharingArguments, MayBeCopiedToFromWhatTheFunctionCapturesOfThem) {
  const Tensor memory = numbers(), same = memory;
  Compiled fast = compile(
      [=](const Tensor& x) {
        Tensor to = x;
        to.copy_from(same);
        return same;
      },
      {.tell_breaks = false});
  for (int turn = 0; turn < 2; ++turn) expect_near(fast(memory), numbers());
  Tensor other = zeros({64}).clone();
  fast(other);
  expect_near(other, numbers());
}

// An index that shares memory at one call, and lies elsewhere at the next.
TEST(SharingArguments, AreIndicesOfTheirOwn) {
  using Indices = std::vector<std::int64_t>;
  auto of = [](const Indices& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}).clone();
  };
  auto f = [](const Tensor& x, const Tensor& i, const Tensor& s) {
    Tensor to = x;
    to.index_add_(0, i, s);
    return to.index_select(0, i);
  };
  Compiled fast = compile(f, {.tell_breaks = false});
  for (int turn = 0; turn < 2; ++turn) {
    Tensor memory = of({1, 0, 2});
    fast(memory, memory.slice(0, 0, 2), of({0, 0}));
    memory = of({1, 0, 2});
    EXPECT_EQ(fast(memory, of({1, 0}), memory.slice(0, 1, 3)).to_vector<std::int64_t>(),
              (Indices{0, 3}));
  }
}

TEST(SharingArguments, OfASignatureThatIsSavedOrLookedInto) {
  Compiled fast = compile(
      [](const Tensor& x, const Tensor& y) {
        Tensor to = x;
        to.copy_from(x - y - 1);
        return sqrt(to);
      },
      {.tell_breaks = false, .detect_nan = true});
  Tensor memory = numbers();
  fast(low(memory, {}) + 40, low(memory, {}));
  EXPECT_THAT(error_of([&] { fast(low(memory, {}), low(memory, {})); }),
              HasSubstr("detect_nan: result 0 has a NaN; the call ran in segments"));
  Compiled shared = compile(doubled_and_added, {.tell_breaks = false});
  shared(low(memory, {}), middle(memory, {}));
  EXPECT_THAT(error_of([&] { shared.save_package("package"); }),
              HasSubstr(") had arguments that share memory"));
}

// Parts of one 6x6 array: rows, columns, every other one, turned, or all but an edge.
Tensor part(const Tensor& memory, unsigned kind) {
  const std::int64_t at = kind / 6 % 3;
  switch (kind % 6) {
    case 0: return memory.slice(0, at, at + 4).slice(1, 0, 4);
    case 1: return memory.slice(1, at, at + 4).slice(0, 2, 6);
    case 2: return memory.slice(0, at, at + 4).slice(1, 1, 5).transpose(0, 1);
    case 3: return memory.reshape({36}).slice(0, at, at + 32, 2).reshape({4, 4});
    case 4: return memory.reshape({36}).slice(0, 20, 36).reshape({4, 4});
    default: return memory.slice(0, 0, 4).slice(1, at, at + 4);
  }
}

Tensor random_steps(std::vector<Tensor> pool, unsigned seed) {
  std::mt19937 random(seed);
  for (int step = 0; step < 8; ++step) {
    Tensor x = pool[random() % pool.size()], y = pool[random() % pool.size()];
    switch (random() % 6) {
      case 0: pool.push_back(x * 0.5 + y); break;
      case 1: x.copy_from(y * 0.5 + 1); break;
      case 2: x.select(0, 1).copy_from(y.select(1, 2)); break;
      case 3: pool.push_back(x.transpose(0, 1)); break;
      case 4: x.copy_from(y); break;
      default: x.add_(tanh(y)); break;
    }
  }
  return pool.back() + pool[random() % pool.size()];
}

TEST(SharingArguments, OfRandomFunctionsAndParts) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto f = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      return random_steps({a, b, c}, seed);
    };
    Compiled fast = compile(f, {.tell_breaks = false});
    std::mt19937 random(seed + 1000);
    Tensor memory = ramp({6, 6}, 0.1F), expected = ramp({6, 6}, 0.1F);
    for (int call = 0; call < 4; ++call) {
      std::array<unsigned, 3> kinds{};
      for (unsigned& kind : kinds) kind = static_cast<unsigned>(random());
      auto parts = [&](const Tensor& of, std::size_t i) { return part(of, kinds[i]); };
      const Tensor wanted = f(parts(expected, 0), parts(expected, 1), parts(expected, 2));
      expect_near(fast(parts(memory, 0), parts(memory, 1), parts(memory, 2)), wanted);
      expect_near(memory, expected);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tilewright::sharing_arguments_test
