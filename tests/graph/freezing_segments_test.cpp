// Freezing in functions whose graph breaks: weights that segments read are packed once, for each
// layer that runs the same segment, and a tensor that the function turns out to write is no weight.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/random/random.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::freezing_segments_test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

const Options frozen{.tell_breaks = false, .device = Device::cpu(), .freezing = true};

Tensor random(const Shape& shape, std::uint64_t seed) {
  return randn(shape, f32, Generator(seed)) * 0.1;
}
void expect_close(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const auto a = got.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t k = 0; k < a.size(); ++k)
    ASSERT_NEAR(a[k], b[k], 1e-4F * (1 + std::abs(b[k]))) << "element " << k;
}
void read(const Tensor& x) { static_cast<void>(amax(x).item<float>()); }

struct Made {
  std::int64_t packed = 0, packed_bytes = 0, values = 0, segments = 0;
};
Made made_of(const CompiledFunction& function) {
  Made made;
  for (const PlanReport& report : function.report()) {
    made.packed += report.packed_weights;
    made.packed_bytes += report.packed_bytes;
    made.values += report.frozen_values;
    if (!report.segment.empty()) ++made.segments;
  }
  return made;
}

TEST(FreezingSegments, PacksWeightsBeforeAndBehindABreak) {
  const Tensor w = random({96, 128}, 1), filters = random({64, 128, 3}, 2), x = random({64, 96}, 3);
  const Function function = [=](const Tensor& t) {
    Tensor y = matmul(t, w);
    read(y);
    return conv1d(y.transpose(0, 1).unsqueeze(0), filters, {}, {.padding = {1}});
  };
  Compiled fast = compile(function, frozen);
  for (int call = 0; call < 3; ++call) expect_close(fast(x), function(x));
  EXPECT_EQ(made_of(fast).packed, 2);
  EXPECT_EQ(made_of(fast).packed_bytes, (96 * 128 + 64 * 128 * 3) * 4);
}

// Layers of one structure are one segment, and each has a copy.
TEST(FreezingSegments, PacksTheWeightOfEachLayerThatRunsASegment) {
  std::vector<Tensor> weights;
  for (std::uint64_t i = 0; i < 5; ++i) weights.push_back(random({96, 96}, 10 + i));
  const Function function = [=](const Tensor& t) {
    Tensor y = t;
    for (const Tensor& w : weights) {
      y = tanh(matmul(y, w * rsqrt(sum(w * w, {1}, true))));
      read(y);
    }
    return y;
  };
  const Tensor x = random({64, 96}, 4);
  Compiled fast = compile(function, frozen);
  for (int call = 0; call < 3; ++call) expect_close(fast(x), function(x));
  const Made made = made_of(fast);
  EXPECT_EQ(made.packed, 5);
  EXPECT_EQ(made.values, 5);
  EXPECT_LE(made.segments, 2);
}

TEST(FreezingSegments, LeavesArgumentsAndWhatWasComputedAlone) {
  const Tensor x = random({64, 96}, 5);
  auto function = [](const Tensor& t, const Tensor& argument) {
    Tensor y = matmul(t, argument), square = matmul(t.transpose(0, 1), t);
    read(y);
    return matmul(y, square) + matmul(t, argument.slice(0, 0, 96));
  };
  Compiled fast = compile(function, frozen);
  for (std::uint64_t call = 0; call < 3; ++call) {
    const Tensor other = random({96, 96}, 20 + call);
    expect_close(fast(x, other), function(x, other));
  }
  EXPECT_EQ(made_of(fast).packed, 0);
}

// State that a function keeps from one call to the next was made by it.
TEST(FreezingSegments, LeavesStateThatCallsKeepAlone) {
  const Tensor x = random({64, 64}, 6);
  auto make = [=] {
    return [state = std::make_shared<Tensor>()](const Tensor& t) {
      Tensor y = state->defined() ? matmul(t, *state) * 0.1 : t;
      *state = y + 0.5;
      read(y);
      return y;
    };
  };
  auto plain = make();
  Compiled fast = compile(make(), frozen);
  for (int call = 0; call < 5; ++call) {
    Tensor between = random({8}, 7);  // made by the caller between two calls
    expect_close(fast(x + between.slice(0, 0, 1)), plain(x + between.slice(0, 0, 1)));
  }
  EXPECT_EQ(made_of(fast).packed, 0);
}

// It may be read first, and taken for a weight.
TEST(FreezingSegments, GivesUpATensorThatALaterSegmentWrites) {
  const Tensor start = random({96, 96}, 8), x = random({64, 96}, 9);
  auto make = [&] {
    return [=, cache = start.clone()](const Tensor& t) mutable {
      Tensor y = matmul(t, cache);
      read(y);
      cache.copy_from(cache * 0.5 + y.slice(0, 0, 1));
      return y;
    };
  };
  auto plain = make();
  Compiled fast = compile(make(), frozen);
  for (int call = 0; call < 4; ++call) expect_close(fast(x), plain(x));
  EXPECT_EQ(made_of(fast).packed, 0);
}

TEST(FreezingSegments, GivesUpATensorThatIsWrittenThroughAnAddress) {
  const Tensor start = random({96, 96}, 60), x = random({64, 96}, 61);
  auto make = [&] {
    return [=, table = start.clone()](const Tensor& t) {
      Tensor y = matmul(t, table);
      read(y);
      static_cast<float*>(table.data())[0] += 1;
      return y + matmul(t, table);
    };
  };
  auto plain = make();
  Compiled fast = compile(make(), frozen);
  for (int call = 0; call < 4; ++call) expect_close(fast(x), plain(x));
  EXPECT_EQ(made_of(fast).packed, 0);
}

// Another function has a copy, which would not follow.
TEST(FreezingSegments, MayNotWriteWhatAnotherFunctionHasFrozen) {
  const Tensor cache = random({96, 96}, 30), x = random({64, 96}, 31);
  Compiled other = compile([=](const Tensor& t) { return matmul(t, cache); }, frozen);
  other(x);
  Compiled fast = compile(
      [=](const Tensor& t) mutable {
        Tensor y = matmul(t, cache);
        read(y);
        Tensor(cache).copy_from(cache * 0.5);
        return y;
      },
      frozen);
  expect_contains(error_of([&] { fast(x); }), "frozen");
}

TEST(FreezingSegments, SeesAWeightThatIsReplaced) {
  struct Layer {
    Tensor w;
    Tensor operator()(const Tensor& t) const {
      Tensor y = t * 1.0;
      read(y);
      return matmul(y, w);
    }
  };
  auto layer = std::make_shared<Layer>(Layer{random({96, 96}, 32)});
  const Tensor x = random({64, 96}, 33);
  Compiled fast = compile([layer](const Tensor& t) { return (*layer)(t); }, frozen);
  for (std::uint64_t i = 0; i < 3; ++i) {
    expect_close(fast(x), (*layer)(x));
    EXPECT_EQ(made_of(fast).packed, 1) << i;
    layer->w = random({96, 96}, 40 + i);
  }
}

TEST(FreezingSegments, KeepsWeightsFromBeingWrittenOutside) {
  Tensor w = random({96, 96}, 50);
  const Tensor x = random({64, 96}, 51);
  Compiled fast = compile(
      [w](const Tensor& t) {
        read(t * 1.0);
        return matmul(t, w);
      },
      frozen);
  fast(x);
  expect_contains(error_of([&] {
                    w.copy_from(random({96, 96}, 52));
                  }),
                  "[copy_from] the tensor is frozen");
}

TEST(FreezingSegments, WorksInEveryModeAndForManySizes) {
  const Tensor w = random({96, 96}, 53);
  const Function function = [=](const Tensor& t) {
    Tensor y = matmul(t, w);
    read(y);
    return matmul(tanh(y), w);
  };
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Options options = frozen;
    options.mode = mode;
    Compiled fast = compile(function, options);
    for (std::int64_t rows : {64, 80, 96, 64}) {
      const Tensor x = random({rows, 96}, 54);
      expect_close(fast(x), function(x));
    }
    EXPECT_GE(made_of(fast).packed, 1);
  }
}

}  // namespace
}  // namespace tilewright::freezing_segments_test
