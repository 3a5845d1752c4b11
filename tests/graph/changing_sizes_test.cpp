// Functions that are called with many sizes: few programs serve them, and what they compute is what
// programs of one size compute.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "graph/compile/compile.h"
#include "graph/lower/block_sizes.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/tensors.h"

namespace tilewright::changing_sizes_test {
namespace {

using Sizes = std::vector<std::int64_t>;
// Two classes, with primes, powers of two and their neighbours; the last block of rows is never
// full where blocks have more than one.
const Sizes many_sizes = {17,  16,  31,  32,  33,  63,  64,  65, 97,
                          127, 128, 129, 200, 255, 257, 300, 511};

Options on_host(Dynamic dynamic) { return {.dynamic = dynamic, .device = Device::cpu()}; }

// Keys of the programs of all plans.
std::set<std::string> programs_of(const CompiledFunction& function) {
  std::set<std::string> keys;
  for (const PlanReport& plan : function.report())
    for (const RegionReport& region : plan.regions) keys.insert(region.key);
  return keys;
}

// Sums may be in another order.
void expect_same(const Tensor& actual, const Tensor& expected, double most = 2e-6) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_LE(relative_difference(actual.to(DType::f32).to_vector<float>(),
                                expected.to(DType::f32).to_vector<float>()),
            most);
}

struct Layer {
  Tensor gain = ramp({48}) * 0.01 + 1;
  Tensor wide = sin(ramp({48, 80})), narrow = cos(ramp({80, 48}));
  Tensor operator()(const Tensor& x) const {
    Tensor normed = x * rsqrt(mean(x * x, {-1}, true) + 1e-5) * gain;
    return x + matmul(gelu(matmul(normed, wide)), narrow);
  }
};

Tensor rows_of(std::int64_t rows, std::int64_t width) { return sin(ramp({rows, width})); }

TEST(ChangingSizes, HaveTheResultsOfEachSizeAlone) {
  const Layer layer;
  Compiled many = compile(layer, on_host(Dynamic::always));
  for (std::int64_t rows : many_sizes) {
    SCOPED_TRACE(rows);
    Compiled alone = compile(layer, on_host(Dynamic::never));
    Tensor x = rows_of(rows, 48);
    expect_same(many(x), alone(x));
  }
}

std::size_t most_regions(const CompiledFunction& function) {
  std::size_t most = 0;
  for (const PlanReport& plan : function.report()) most = std::max(most, plan.regions.size());
  return most;
}

// For each region, the program of the first call, and one for each class of sizes.
TEST(ChangingSizes, ShareProgramsOfTheirClass) {
  const Layer layer;
  Compiled many = compile(layer, {.max_signatures = 1, .device = Device::cpu()});
  Compiled always = compile(layer, on_host(Dynamic::always));
  std::set<std::int64_t> classes;
  for (std::int64_t rows : many_sizes) {
    many(rows_of(rows, 48));
    always(rows_of(rows, 48));
    classes.insert(graph::least_of_size_class(rows));
  }
  EXPECT_EQ(many.report().size(), many_sizes.size());
  EXPECT_LE(programs_of(many).size(), most_regions(many) * (1 + classes.size()));
  EXPECT_LE(programs_of(always).size(), most_regions(always) * classes.size());
}

TEST(ChangingSizes, OfOneHaveAProgramOfTheirOwn) {
  EXPECT_EQ(graph::least_of_size_class(1), 1);
  for (std::int64_t rows : {2, 7, 15}) EXPECT_EQ(graph::least_of_size_class(rows), 2);
  EXPECT_EQ(graph::least_of_size_class(16), 16);
  EXPECT_EQ(graph::least_of_size_class(1000), graph::least_of_size_class(64));
}

// Each function as a name, its shape for a size, and itself.
struct Shaped {
  const char* name;
  Shape (*shape)(std::int64_t size);
  Tensor (*function)(const Tensor& x);
};
const Shaped shaped[] = {
    {"softmax of rows",
     [](std::int64_t n) {
       return Shape{n, 100};
     },
     [](const Tensor& x) { return softmax(x, -1); }},
    {"softmax of columns",
     [](std::int64_t n) {
       return Shape{100, n};
     },
     [](const Tensor& x) { return softmax(x, -1); }},
    {"softmax along the first axis",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return softmax(x, 0); }},
    {"sum over what changes",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return sum(x, {0}); }},
    {"transposed",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return x.transpose(0, 1) * 2 + 1; }},
    {"transposed, the other way round",
     [](std::int64_t n) {
       return Shape{40, n};
     },
     [](const Tensor& x) { return x.transpose(0, 1) * 2 + 1; }},
    {"a chain over contiguous elements", [](std::int64_t n) { return Shape{n}; },
     [](const Tensor& x) { return tanh(x) * 2 + exp(x); }},
    {"a row is added to each",
     [](std::int64_t n) {
       return Shape{n, 24};
     },
     [](const Tensor& x) { return x + ramp({24}); }},
    {"heads",
     [](std::int64_t n) {
       return Shape{2, n, 32};
     },
     [](const Tensor& x) {
       Tensor heads = x.reshape({2, x.size(1), 4, 8}).transpose(1, 2);
       return matmul(softmax(matmul(heads, heads.transpose(2, 3)), -1), heads);
     }},
    {"product with itself",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return matmul(x.transpose(0, 1), x); }},
    {"arg max of rows",
     [](std::int64_t n) {
       return Shape{n, 33};
     },
     [](const Tensor& x) { return argmax(x, -1); }},
    {"a part of the rows",
     [](std::int64_t n) {
       return Shape{n, 33};
     },
     [](const Tensor& x) { return x.slice(0, 1, x.size(0)) + x.slice(0, 0, x.size(0) - 1); }},
    {"wide rows",
     [](std::int64_t n) {
       return Shape{n, 3000};
     },
     [](const Tensor& x) { return x - mean(x, {-1}, true); }},
};

TEST(ChangingSizes, AreRightWhereverTheyChange) {
  for (const Shaped& one : shaped) {
    Compiled many = compile(one.function, on_host(Dynamic::always));
    for (std::int64_t size : {1, 2, 15, 16, 17, 64, 67, 130, 257}) {
      SCOPED_TRACE(concat(one.name, " of ", size));
      Tensor x = sin(ramp(one.shape(size)));
      if (element_count(one.function(x).shape()) == 0) continue;
      expect_same(many(x), one.function(x));
    }
  }
}

// Attention of 6 heads that share 2 of keys, in rows of [batch, rows, heads * size] as of a layer,
// or in heads apart.
struct Attended {
  const char* name;
  std::int64_t head_size, extra_keys;  // keys that are before the first row
  bool apart;
  AttentionOptions options;
  // A mask for scores [batch, heads, rows, keys].
  Tensor (*mask)(std::int64_t batch, std::int64_t rows, std::int64_t keys) = nullptr;
};
// Each text has its own number of keys, as in an encoder.
Tensor seen_keys(std::int64_t batch, std::int64_t, std::int64_t keys) {
  Tensor last = arange(1, batch + 1).reshape({batch, 1, 1, 1}) * 5 + (keys - batch * 5 - 1);
  return arange(0, keys) <= last;
}
Tensor bias_of_places(std::int64_t, std::int64_t rows, std::int64_t keys) {
  return sin(ramp({6, rows, keys}));
}
Tensor hidden_corner(std::int64_t batch, std::int64_t rows, std::int64_t keys) {
  Tensor hides = arange(0, keys) > arange(0, rows).unsqueeze(1) + 3;
  Tensor number = where(hides, std::numeric_limits<float>::lowest(), 0.0);
  return number.expand({batch, 1, rows, keys});
}
const Attended attended[] = {
    {"plain", 64, 0, false, {}},
    {"causal", 64, 0, false, {.causal = true}},
    {"causal, heads apart", 48, 0, true, {.causal = true}},
    {"causal, keys before",
     32,
     37,
     false,
     {.causal = true, .alignment = CausalAlignment::bottom_right}},
    {"in a window", 64, 0, false, {.causal = true, .window = 40}},
    {"wide heads", 96, 11, true, {}},
    {"keys of each text", 64, 0, false, {}, seen_keys},
    {"a bias", 32, 0, false, {}, bias_of_places},
    {"a bias, causal", 64, 5, true, {.causal = true}, bias_of_places},
    {"a hidden corner", 64, 0, false, {}, hidden_corner},
};

TEST(ChangingSizes, AreRightInAttention) {
  for (const Attended& one : attended)
    for (DType dtype : {DType::f32, DType::bf16}) {
      auto function = [&](const Tensor& q, const Tensor& k, const Tensor& mask) {
        AttentionOptions options = one.options;
        if (one.mask != nullptr) options.mask = mask;
        return scaled_dot_product_attention(q, k, k * 0.5, options);
      };
      Compiled many = compile(function, on_host(Dynamic::always));
      auto heads = [&](std::int64_t batch, std::int64_t rows, std::int64_t count) {
        if (one.apart) return sin(ramp({batch, count, rows, one.head_size})).to(dtype);
        return sin(ramp({batch, rows, count, one.head_size})).to(dtype).permute({0, 2, 1, 3});
      };
      for (auto [batch, rows] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
               {1, 1}, {2, 13}, {1, 47}, {1, 67}, {2, 130}, {2, 257}}) {
        SCOPED_TRACE(concat(one.name, ", ", dtype, ", ", batch, " x ", rows));
        Tensor q = heads(batch, rows, 6), k = heads(batch, rows + one.extra_keys, 2);
        Tensor mask =
            one.mask != nullptr ? one.mask(batch, rows, rows + one.extra_keys) : ramp({1});
        Compiled alone = compile(function, on_host(Dynamic::never));
        expect_same(many(q, k, mask), alone(q, k, mask), dtype == DType::f32 ? 2e-6 : 2e-2);
      }
    }
}

// As a step of a decoder whose keys grow has them.
TEST(ChangingSizes, OfKeysServeOneRow) {
  auto step = [](const Tensor& q, const Tensor& k, const Tensor& mask) {
    return scaled_dot_product_attention(q, k, k * 0.5, {.mask = mask});
  };
  Compiled many = compile(step, on_host(Dynamic::always));
  std::set<std::string> first;
  for (std::int64_t keys : {130, 131, 200, 257, 384, 511}) {
    Tensor q = sin(ramp({2, 6, 1, 64})), k = cos(ramp({2, 2, keys, 64}));
    Tensor mask = arange(0, keys) > (arange(0, 2) * 9).reshape({2, 1, 1, 1});
    expect_same(many(q, k, mask), step(q, k, mask));
    if (first.empty()) first = programs_of(many);
  }
  EXPECT_EQ(programs_of(many), first);
}

// A chain of steps on rows [n, 48], chosen by chance.
Tensor random_steps(std::uint64_t seed, const Tensor& rows) {
  std::mt19937_64 random(seed);
  Tensor x = rows;
  for (int step = 0; step < 5; ++step) {
    const auto salt = static_cast<double>(random() % 7 + 1);
    switch (random() % 8) {
      case 0: x = gelu(matmul(x, sin(ramp({48, 48}) * salt) * 0.3)); break;
      // A weight that lies along what is summed up, too large to be read as a whole.
      case 1: {
        Tensor wide = cos(ramp({700, 48}) * salt) * 0.2, narrow = sin(ramp({48, 700}) * salt) * 0.1;
        Tensor gate = matmul(x, wide.transpose(0, 1));
        x = x + tanh(matmul(gate * sigmoid(gate), narrow.transpose(0, 1)));
        break;
      }
      case 2: x = x * rsqrt(mean(x * x, {-1}, true) + 1e-2); break;
      case 3: x = softmax(x, -1) * salt; break;
      case 4: x = x + rows * 0.5; break;
      case 5: {
        Tensor heads = x.reshape({1, x.size(0), 3, 16}).permute({0, 2, 1, 3});
        Tensor mixed = scaled_dot_product_attention(heads, heads, heads, {.causal = true});
        x = mixed.permute({0, 2, 1, 3}).reshape({x.size(0), 48});
        break;
      }
      case 6: x = x - x.slice(0, 0, 1) * 0.5; break;
      case 7: x = (x.transpose(0, 1) * 0.7).transpose(0, 1) + ramp({48}) * 0.01; break;
    }
  }
  return x;
}

TEST(ChangingSizes, AreRightInRandomSteps) {
  const std::vector<Sizes> sizes = {
      {1, 2, 17, 64, 129}, {5, 16, 47, 48, 49}, {3, 31, 96, 97, 256}, {1, 13, 33, 127, 300}};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto steps = [&](const Tensor& x) { return random_steps(seed, x); };
    Compiled many = compile(steps, on_host(Dynamic::always));
    for (std::int64_t n : sizes[seed % sizes.size()]) {
      SCOPED_TRACE(concat("seed ", seed, ", ", n, " rows"));
      Tensor x = rows_of(n, 48);
      expect_same(many(x), steps(x), 1e-5);
    }
  }
}

// Elements written in place must not be read again by a block that is moved back.
TEST(ChangingSizes, AreRightWhereArgumentsAreWritten) {
  auto step = [](const Tensor& x, const Tensor& y) {
    Tensor z = x;
    z.copy_from(x * 2 + softmax(y, -1));
    return sum(z, {-1});
  };
  CompiledFunction many(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{step(in[0], in[1])}; },
      on_host(Dynamic::always));
  for (std::int64_t rows : many_sizes) {
    SCOPED_TRACE(rows);
    Tensor y = rows_of(rows, 50), x = y.clone(), expected = y.clone();
    Tensor sums = step(expected, y);
    expect_same(many.call({x, y})[0], sums);
    expect_same(x, expected);
  }
}

TEST(ChangingSizes, AreNoErrorPastTheLimitOfSignatures) {
  Compiled many = compile([](const Tensor& x) { return x * 2; },
                          {.max_signatures = 1, .device = Device::cpu()});
  for (std::int64_t rows : many_sizes) expect_same(many(ramp({rows})), ramp({rows}) * 2);
  // Another dtype is another signature.
  std::string error = error_of([&] { many(ramp({3}).to(DType::f64)); });
  expect_contains(error, "1 signatures are compiled, which is the limit; this call, (f64 3)");
}

// The first size has programs of its own.
TEST(ChangingSizes, ShareProgramsFromTheSecondOn) {
  const Layer layer;
  Compiled many = compile(layer, {.device = Device::cpu()});
  many(rows_of(64, 48));
  const std::size_t own = programs_of(many).size();
  many(rows_of(97, 48));
  const std::size_t both = programs_of(many).size();
  EXPECT_GT(both, own);
  for (std::int64_t rows : {65, 128, 300, 511}) many(rows_of(rows, 48));
  EXPECT_EQ(programs_of(many).size(), both);
}

// A step of decoding after prompts has the programs that it would have alone.
TEST(ChangingSizes, HaveTheirOwnProgramsForOneRow) {
  const Layer layer;
  Compiled many = compile(layer, {.device = Device::cpu()}),
           alone = compile(layer, on_host(Dynamic::never));
  many(rows_of(64, 48));
  many(rows_of(1, 48));
  alone(rows_of(1, 48));
  EXPECT_TRUE(std::ranges::includes(programs_of(many), programs_of(alone)));
}

// A configuration that was searched for one size is for that size.
TEST(ChangingSizes, HaveTheirOwnProgramsWhereTheClockChooses) {
  const Layer layer;
  Compiled many = compile(layer, {.mode = Mode::max_autotune_no_cudagraphs,
                                  .max_signatures = 3,
                                  .device = Device::cpu(),
                                  .tune_seconds = 1e-3});
  std::size_t before = 0;
  for (std::int64_t rows : {64, 97, 128}) {
    many(rows_of(rows, 48));
    EXPECT_GT(programs_of(many).size(), before) << rows;
    before = programs_of(many).size();
  }
}

TEST(ChangingSizes, KeepThePlansThatWereUsedLatest) {
  int runs = 0;
  Compiled many = compile([&](const Tensor& x) { return ++runs, x * 2; },
                          {.max_signatures = 1, .max_sizes = 2, .device = Device::cpu()});
  for (std::int64_t rows : {1, 2, 3}) many(ramp({rows}));
  EXPECT_EQ(runs, 3);
  many(ramp({2}));  // so that 3 was used before it
  many(ramp({4}));
  EXPECT_EQ(many.report().size(), 3U);
  EXPECT_EQ(runs, 4);
  for (std::int64_t rows : {1, 2, 4}) many(ramp({rows}));
  EXPECT_EQ(runs, 4);
  expect_same(many(ramp({3})), ramp({3}) * 2);
  EXPECT_EQ(runs, 5);
}

TEST(ChangingSizes, AreReplayedWhereLaunchesAreRecorded) {
  const Layer layer;
  Compiled many = compile(layer, {.mode = Mode::reduce_overhead, .device = Device::cpu()});
  for (int turn = 0; turn < 2; ++turn)
    for (std::int64_t rows : many_sizes) {
      Tensor x = rows_of(rows, 48);
      expect_same(many(x), layer(x));
    }
}

TEST(ChangingSizes, NeedAPlaceForAtLeastOne) {
  expect_contains(error_of([] { compile([](const Tensor& x) { return x; }, {.max_sizes = 0}); }),
                  "max_sizes is 0");
}

// One that differs in its dtype alone is no nearer than one that differs in sizes.
TEST(ChangingSizes, AreNoSignaturesOfEachDtype) {
  TILEWRIGHT_ON_THE_HOST_ONLY("on GPUs sizes are signatures up to the limit");
  Compiled twice = compile([](const Tensor& x) { return x * 2; });
  for (DType dtype : {f32, bf16, f16})
    for (std::int64_t size : {5, 9, 7, 11})
      EXPECT_EQ(twice(ones({size}, dtype)).to(f32).to_vector<float>(),
                std::vector<float>(static_cast<std::size_t>(size), 2));
}

}  // namespace
}  // namespace tilewright::changing_sizes_test
