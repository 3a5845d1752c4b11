#include "dsl/launch/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::device_test {
namespace {

const AttentionOptions at_the_end{.causal = true, .alignment = CausalAlignment::bottom_right};

TEST(Device, IsTheHostUnlessNamed) {
  Setting unset("TILEWRIGHT_DEVICE", nullptr);
  EXPECT_EQ(Device(), Device::cpu());
  EXPECT_EQ(Options().device.text(), "cpu");
  EXPECT_FALSE(Device::cpu().target().is_gpu());
}

TEST(Device, IsTheOneThatTheEnvironmentNames) {
  Setting set("TILEWRIGHT_DEVICE", "emulated:sm_90a");
  EXPECT_EQ(default_device(), Device::emulated("sm_90a"));
  EXPECT_EQ(Options().device, default_device());
  EXPECT_EQ(graph::PlanOptions().device, default_device());
  Setting wrong("TILEWRIGHT_DEVICE", "sm_90a");
  expect_contains(error_of([] { default_device(); }),
                  "[TILEWRIGHT_DEVICE] unknown device \"sm_90a\"; known are cpu, cuda");
}

TEST(Device, ReadsWhatItWrites) {
  for (const char* text : {"cpu", "emulated:sm_80", "emulated:sm_90a"})
    EXPECT_EQ(Device::parse(text).text(), text);
  EXPECT_EQ(Device::parse("emulated:sm_80"), Device::emulated("sm_80"));
  EXPECT_EQ(Device::emulated("sm_90a").target().sm, 90);
}

TEST(Device, NamesWhatIsKnown) {
  for (const char* text : {"", "gpu", "cpu:0", "sm_80", "emulated", "emulated:", "emulated:sm_1"}) {
    std::string message = error_of([&] { Device::parse(text); });
    expect_contains(message, "[device] unknown device \"");
    expect_contains(message, "cpu, cuda, cuda:0, cuda:1, ..., emulated:sm_80");
  }
  expect_contains(error_of([&] { Device::emulated("avx2"); }), "\"emulated:avx2\"");
}

// Elements without a pattern that a wrong index could hide in.
Tensor noise(const Shape& shape, std::uint32_t seed = 1) {
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return Tensor::from(elements, shape);
}
Tensor numbers(const std::vector<std::int64_t>& x) {
  return Tensor::from(x, {static_cast<std::int64_t>(x.size())});
}
std::vector<double> elements_of(const Tensor& x) {
  if (x.dtype() == DType::i64) {
    auto integers = x.to_vector<std::int64_t>();
    return {integers.begin(), integers.end()};
  }
  auto floats = x.to(DType::f32).to_vector<float>();
  return {floats.begin(), floats.end()};
}
void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  auto x = elements_of(a), y = elements_of(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(std::abs(x[i] - y[i]), tolerance * (1 + std::abs(y[i]))) << "element " << i;
}

// The most elements of any tile of the programs.
std::int64_t largest_tile(const std::string& dump) {
  std::int64_t largest = 0;
  std::regex tile(R"(: [a-z0-9]+\[([0-9x]+)\])");
  bool in_program = false;
  std::stringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("func")) in_program = true;
    if (line.starts_with("}")) in_program = false;
    std::smatch match;
    if (!in_program || !std::regex_search(line, match, tile)) continue;
    std::int64_t count = 1;
    std::stringstream sizes(match[1].str());
    for (std::string size; std::getline(sizes, size, 'x');) count *= std::stoll(size);
    largest = std::max(largest, count);
  }
  return largest;
}

class EmulatedDevice : public testing::TestWithParam<const char*> {
 protected:
  // The reference for f32 is computed in f64: its own error, which differs from one processor to
  // another, would add to that of the tested code.
  static std::vector<Tensor> reference_arguments(std::vector<Tensor> arguments) {
    for (Tensor& x : arguments)
      if (x.dtype() == DType::f32) x = x.to(DType::f64);
    return arguments;
  }

  // Compiled for the device, the function gives the same result as op by op on the host.
  template <typename F>
  void expect_same(F function, const std::vector<Tensor>& arguments, double tolerance = 2e-5,
                   MatmulPrecision precision = MatmulPrecision::highest) {
    CompiledFunction fast(
        [=](const std::vector<Tensor>& a) { return detail::call_with(function, a); },
        {.fullgraph = true, .matmul_precision = precision, .device = Device::emulated(GetParam())});
    Tensor actual = fast.call(arguments).front();
    Tensor expected = detail::call_with(function, reference_arguments(arguments)).tensors.front();
    expect_near(actual, expected.to(actual.dtype()), tolerance);
    EXPECT_LE(largest_tile(fast.dump()), 32 << 10) << fast.dump();
    EXPECT_GT(largest_tile(fast.dump()), 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, EmulatedDevice, testing::Values("sm_80", "sm_90a"));

TEST_P(EmulatedDevice, ComputesElementwise) {
  auto f = [](const Tensor& a, const Tensor& b) { return gelu(a * 2 + b) / (1 + exp(a)); };
  expect_same(f, {noise({3, 5}), noise({5}, 2)});
  expect_same(f, {noise({70, 130}), noise({70, 1}, 2)});
  expect_same(f, {noise({40'001}), noise({40'001}, 2)});
}

TEST_P(EmulatedDevice, ComputesSoftmaxOfRowsOfAnyLength) {
  auto f = [](const Tensor& x) { return softmax(x, -1); };
  for (std::int64_t width : {1, 7, 96, 1000, 5000}) expect_same(f, {noise({9, width})});
  expect_same(f, {noise({2, 40'000})});
  expect_same(f, {noise({2, 17'001})});
}

TEST_P(EmulatedDevice, ComputesSoftmaxAndSumsOverTheFirstAxis) {
  expect_same([](const Tensor& x) { return softmax(x, 0); }, {noise({65, 40})});
  expect_same([](const Tensor& x) { return sum(x, {0}); }, {noise({700, 100})});
  expect_same([](const Tensor& x) { return amax(x, {0}); }, {noise({3000, 40})});
}

TEST_P(EmulatedDevice, ComputesLayerNorm) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, w, b); };
  for (std::int64_t width : {48, 768, 20'000})
    expect_same(f, {noise({6, width}), noise({width}, 2), noise({width}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, FindsTheLargestInRowsOfAnyLength) {
  auto f = [](const Tensor& x) { return argmax(x, -1); };
  for (std::int64_t width : {50, 3000, 33'000}) expect_same(f, {noise({4, width})});
  std::vector<float> equal(40'000, 1.0F);
  equal[5] = equal[39'999] = 2.0F;
  expect_same(f, {Tensor::from(equal, {1, 40'000})});
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = INFINITY;
  for (float unlike : {nan, -infinity, infinity}) {
    std::vector<float> row(40'000, -infinity);
    row[20'003] = row[39'000] = unlike;
    expect_same(f, {Tensor::from(row, {1, 40'000})});
  }
}

TEST_P(EmulatedDevice, ComputesProductsWithWhatFollowsThem) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return relu(linear(x, w, b)); };
  for (std::int64_t rows : {1, 5, 33, 130})
    for (std::int64_t depth : {16, 100, 300})
      expect_same(f, {noise({rows, depth}), noise({70, depth}, 2), noise({70}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, SharesTheInnerAxisOfSmallProductsAmongPrograms) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return gelu(linear(x, w, b)) * 2;
  };
  for (std::int64_t depth : {2048, 3001})
    expect_same(f, {noise({20, depth}), noise({40, depth}, 2), noise({40}, 3)}, 2e-4);
  auto g = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  expect_same(g, {noise({2, 40, 1500}), noise({2, 1500, 30}, 2)}, 2e-4);
  auto gated = [](const Tensor& x, const Tensor& n, const Tensor& u, const Tensor& w) {
    Tensor y = rms_norm(x, n);
    return silu(linear(y, u)) * linear(y, w);
  };
  expect_same(gated,
              {noise({20, 2000}), noise({2000}, 2), noise({30, 2000}, 3), noise({30, 2000}, 4)},
              2e-4);
  for (DType dtype : {DType::f16, DType::bf16})
    expect_same(g, {noise({64, 2048}).to(dtype), noise({2048, 32}, 2).to(dtype)}, 4e-2);
}

TEST_P(EmulatedDevice, ComputesProductsOfFewRows) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (std::int64_t rows : {1, 2, 3, 4, 7})
      for (std::int64_t depth : {72, 1300}) {
        double tolerance = dtype == DType::f32 ? 2e-4 : 3e-2;
        Tensor x = noise({rows, depth}).to(dtype), w = noise({50, depth}, 2).to(dtype);
        expect_same([](const Tensor& a, const Tensor& b) { return relu(linear(a, b)); }, {x, w},
                    tolerance);
        expect_same([](const Tensor& a, const Tensor& b) { return matmul(a, b) * 2; },
                    {x, noise({depth, 50}, 2).to(dtype)}, tolerance);
      }
  expect_same([](const Tensor& x, const Tensor& g,
                 const Tensor& w) { return silu(linear(rms_norm(x, g), w)); },
              {noise({1, 3000}), noise({3000}, 2), noise({40, 3000}, 3)}, 2e-4);
}

// The programs that a product of these shapes becomes.
std::vector<std::string> product_programs(const Device& device, const Shape& a, const Shape& b) {
  graph::Capture capture;
  Tensor x = capture.placeholder(DType::bf16, a), y = capture.placeholder(DType::bf16, b);
  graph::Graph graph = capture.finish({relu(matmul(x, y))}).graph;
  auto plan = graph::make_plan(graph::run_passes(graph), {.interpret = true, .device = device});
  std::vector<std::string> names;
  for (const graph::PlanProgram& program : plan->programs()) names.push_back(program.name);
  return names;
}

TEST(Device, TwoProgramsMakeASmallProductOfALongInnerAxis) {
  using Names = std::vector<std::string>;
  Device gpu = Device::emulated("sm_90a");
  EXPECT_EQ(product_programs(gpu, {512, 4096}, {4096, 512}),
            (Names{"partial_matmul", "combine_matmul_max"}));
  EXPECT_EQ(product_programs(gpu, {512, 128}, {128, 512}), (Names{"product_matmul_max"}));
  EXPECT_EQ(product_programs(gpu, {4096, 4096}, {4096, 4096}), (Names{"product_matmul_max"}));
  EXPECT_EQ(product_programs(Device::cpu(), {512, 4096}, {4096, 512}),
            (Names{"product_matmul_max"}));
}

TEST(Device, ProgramsOfALargeProductStoreTheirBlocksOnly) {
  graph::Capture capture;
  Tensor a = capture.placeholder(DType::f16, {4096, 4096}),
         b = capture.placeholder(DType::f16, {4096, 4096});
  graph::Graph graph = capture.finish({matmul(a, b)}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = Device::emulated("sm_80")});
  std::string text = plan->program_text(0);
  expect_contains(text, "f32[128x128]");
  EXPECT_EQ(text.find("store_desc"), text.rfind("store_desc"));
  EXPECT_GT(text.find("store_desc"), text.rfind("yield")) << text;
}

// As tiles of 64 bits they took so many registers that ptxas spilled some.
TEST(Device, ColumnsAreComparedWithTheEndOfARowIn32Bits) {
  graph::Capture capture;
  Tensor x = capture.placeholder(DType::f32, {2, 40'000});
  graph::Graph graph = capture.finish({amax(x, {1})}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = Device::emulated("sm_80")});
  expect_contains(plan->program_text(0), ": i32[1x8192]");
  EXPECT_EQ(plan->program_text(0).find(": i64[1x8192]"), std::string::npos);
}

TEST_P(EmulatedDevice, ComputesProductsOfHalfPrecision) {
  auto f = [](const Tensor& a, const Tensor& b) { return matmul(a, b) * 0.5; };
  for (DType dtype : {DType::f16, DType::bf16})
    expect_same(f, {noise({70, 64}).to(dtype), noise({64, 96}, 2).to(dtype)}, 2e-2);
}

TEST_P(EmulatedDevice, MultipliesFloatsOf8Bits) {
  auto scaled = [](const Tensor& a, const Tensor& b) {
    return (matmul(a, b.permute({1, 0})) * 0.25).to(DType::bf16);
  };
  auto plain = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  auto made = [](const Tensor& a, const Tensor& b) {
    return matmul((a * 3).to(b.dtype()), b.permute({1, 0}));
  };
  for (DType dtype : {DType::f8e4m3, DType::f8e5m2, DType::f8e4m3fnuz}) {
    auto random = [&](const Shape& shape, std::uint32_t seed) {
      return noise(shape, seed).to(dtype);
    };
    expect_same(scaled, {random({200, 256}, 1), random({300, 256}, 2)}, 1e-2);
    expect_same(scaled, {random({9, 96}, 1), random({70, 96}, 2)}, 1e-2);
    expect_same(scaled, {random({1, 96}, 1), random({70, 96}, 2)}, 1e-2);
    expect_same(plain, {random({40, 64}, 1), random({64, 48}, 2)}, 1e-4);
    expect_same(made, {noise({70, 128}), random({40, 128}, 2)}, 1e-4);
  }
}

TEST_P(EmulatedDevice, MultipliesF32AsTf32WhereThatIsAskedFor) {
  auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  auto of_rows = [](const Tensor& x, const Tensor& w) { return relu(linear(x, w)); };
  auto attention = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  constexpr double tolerance = 8e-3;
  auto high = MatmulPrecision::high;
  expect_same(product, {noise({70, 64}), noise({64, 96}, 2)}, tolerance, high);
  expect_same(of_rows, {noise({200, 160}), noise({300, 160}, 2)}, tolerance, high);
  expect_same(of_rows, {noise({9, 96}), noise({70, 96}, 2)}, tolerance, high);
  expect_same(attention,
              {noise({1, 4, 100, 32}), noise({1, 2, 100, 32}, 2), noise({1, 2, 100, 32}, 3)},
              tolerance, high);
  expect_same(attention,
              {noise({1, 4, 3, 32}), noise({1, 2, 100, 32}, 2), noise({1, 2, 100, 32}, 3)},
              tolerance, high);

  CompiledFunction fast(
      [=](const std::vector<Tensor>& a) { return std::vector<Tensor>{product(a[0], a[1])}; },
      {.matmul_precision = high, .device = Device::emulated(GetParam())});
  fast.call({noise({64, 64}), noise({64, 64}, 2)});
  expect_contains(fast.dump(), ", tf32 : f32[");
}

TEST_P(EmulatedDevice, ComputesProductsOfWhatIsNormalised) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& g) {
    return silu(linear(rms_norm(x, g), w)) + 1;
  };
  expect_same(f, {noise({40, 200}), noise({300, 200}, 2), noise({200}, 3)}, 1e-4);
  expect_same(f, {noise({2, 500}), noise({80, 500}, 2), noise({500}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, ComputesBatchesAndProductsOfProducts) {
  expect_same([](const Tensor& a, const Tensor& b) { return matmul(a, b); },
              {noise({3, 20, 50}), noise({3, 50, 40}, 2)}, 1e-4);
  expect_same([](const Tensor& x, const Tensor& a,
                 const Tensor& b) { return softmax(linear(relu(linear(x, a)), b), -1); },
              {noise({30, 48}), noise({100, 48}, 2), noise({24, 100}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, ComputesAttention) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  expect_same(f, {noise({2, 4, 70, 16}), noise({2, 2, 70, 16}, 2), noise({2, 2, 70, 16}, 3)}, 1e-4);
  expect_same(f, {noise({1, 4, 1, 24}), noise({1, 2, 150, 24}, 2), noise({1, 2, 150, 24}, 3)},
              1e-4);
  auto from = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  expect_same(
      from,
      {noise({1, 2, 3, 16}), noise({1, 2, 200, 16}, 2), noise({1, 2, 200, 16}, 3), numbers({77})},
      1e-4);
}

// Enough rows that on Hopper two warpgroups share them, and with blocks of keys that all rows see,
// that some see, and that end beyond the keys.
TEST_P(EmulatedDevice, ComputesAttentionOfManyRowsOfNarrowTypes) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (auto [rows, keys, depth] : {std::array<std::int64_t, 3>{64, 330, 64},
                                     {128, 256, 128},
                                     {200, 200, 64},
                                     {200, 600, 64},
                                     {300, 520, 32},
                                     {700, 520, 32}}) {
      std::vector<Tensor> a = {noise({1, 2, rows, depth}).to(dtype),
                               noise({1, 1, keys, depth}, 2).to(dtype),
                               noise({1, 1, keys, depth}, 3).to(dtype)};
      for (const AttentionOptions& options : {AttentionOptions{}, {.causal = true}, at_the_end}) {
        SCOPED_TRACE(testing::Message() << dtype << " " << rows << " " << keys << options.causal);
        auto f = [=](const Tensor& q, const Tensor& k, const Tensor& v) {
          return scaled_dot_product_attention(q, k, v, options);
        };
        expect_same(f, a, 1e-2);
      }
    }
  std::vector<Tensor> a = {noise({2, 2, 160, 64}).to(DType::bf16),
                           noise({2, 1, 400, 64}, 2).to(DType::bf16),
                           noise({2, 1, 400, 64}, 3).to(DType::bf16)};
  auto from = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  for (std::int64_t position : {0, 7, 240})
    expect_same(from, {a[0], a[1], a[2], numbers({position})}, 1e-2);
  auto window = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    AttentionOptions options = at_the_end;
    options.window = 100;
    return scaled_dot_product_attention(q, k, v, options);
  };
  expect_same(window, a, 1e-2);
}

TEST_P(EmulatedDevice, ComputesAttentionToAWindowOfKeys) {
  for (std::int64_t window : {1, 40, 500}) {
    auto f = [window](const Tensor& q, const Tensor& k, const Tensor& v) {
      return scaled_dot_product_attention(
          q, k, v, {.causal = true, .window = window, .alignment = CausalAlignment::bottom_right});
    };
    expect_same(f, {noise({1, 4, 150, 16}), noise({1, 2, 150, 16}, 2), noise({1, 2, 150, 16}, 3)},
                1e-4);
    expect_same(f, {noise({1, 4, 1, 16}), noise({1, 2, 300, 16}, 2), noise({1, 2, 300, 16}, 3)},
                1e-4);
  }
}

// The first rows stand before the first key and see none: 0, whatever shape the program has.
TEST_P(EmulatedDevice, RowsThatSeeNoKeyAreZero) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  expect_same(f, {noise({1, 4, 90, 16}), noise({1, 2, 20, 16}, 2), noise({1, 2, 20, 16}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, SharesTheKeysOfFewRowsAmongPrograms) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  auto all = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v);
  };
  for (std::int64_t rows : {1, 3}) {
    std::vector<Tensor> a = {noise({2, 4, rows, 32}), noise({2, 2, 700, 32}, 2),
                             noise({2, 2, 700, 32}, 3)};
    expect_same(all, a, 1e-4);
    for (std::int64_t position : {0, 130, 696})  // some programs have no key that a row sees
      expect_same(f, {a[0], a[1], a[2], numbers({position})}, 1e-4);
    for (DType dtype : {DType::f16, DType::bf16})
      expect_same(all, {a[0].to(dtype), a[1].to(dtype), a[2].to(dtype)}, 1e-2);
  }
}

// The programs of decoding with a long cache.
std::vector<graph::PlanProgram> decoding(const Device& device, std::int64_t batch) {
  graph::Capture capture;
  Tensor q = capture.placeholder(DType::bf16, {batch, 32, 1, 128}),
         k = capture.placeholder(DType::bf16, {batch, 8, 4096, 128});
  graph::Graph graph = capture.finish({scaled_dot_product_attention(q, k, k)}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = device});
  EXPECT_EQ(plan->arena_bytes() > 0, plan->launches() > 1);
  return {plan->programs().begin(), plan->programs().end()};
}

TEST(Device, TwoProgramsDecodeWhereOneWouldLeaveMultiprocessorsIdle) {
  auto programs = decoding(Device::emulated("sm_90a"), 1);
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].name, "attention");
  EXPECT_EQ(programs[1].name, "attention_combine");
  EXPECT_EQ(decoding(Device::emulated("sm_90a"), 32).size(), 1u);
  EXPECT_EQ(decoding(Device::cpu(), 1).size(), 1u);
}

TEST_P(EmulatedDevice, ReadsRowsOfATable) {
  expect_same([](const Tensor& ids, const Tensor& table) { return embedding(ids, table) * 3; },
              {numbers({4, 0, 9, 4}), noise({10, 1500})});
}

TEST_P(EmulatedDevice, MovesTensorsAsTheyAre) {
  expect_same(
      [](const Tensor& a, const Tensor& b) {
        return cat({a, b * 2}, 1);
      },
      {noise({5, 3, 8}), noise({5, 4, 8}, 2)});
  expect_same([](const Tensor& a) { return a.permute({1, 0}) + 1; }, {noise({150, 90})});
  expect_same(
      [](const Tensor& a) {
        return (a.permute({2, 0, 1}) + 1).permute({0, 2, 1});
      },
      {noise({6, 50, 70})});
}

TEST_P(EmulatedDevice, WritesACacheInPlace) {
  auto run = [&](const Device& device) {
    Tensor cache = noise({2, 9, 4}, 5) * 0;
    Compiled step = compile(
        [cache](const Tensor& at, const Tensor& rows) {
          Tensor target = cache;
          target.index_copy_(1, at, rows * 2);
          return sum(target, {1});
        },
        {.device = device});
    std::vector<Tensor> results;
    for (std::int64_t i : {3, 0, 7}) results.push_back(step(numbers({i, i + 1}), noise({2, 2, 4})));
    return cat({results[0], results[1], results[2], sum(cache, {1})}, 0);
  };
  expect_near(run(Device::emulated(GetParam())), run(Device::cpu()), 1e-6);
}

TEST_P(EmulatedDevice, ReadsMemoryThatBeginsAnywhere) {
  Tensor x = noise({1025});
  auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  expect_same(add, {x.slice(0, 1, 1025), x.slice(0, 0, 1024)});
  Compiled fast = compile(add, {.device = Device::emulated(GetParam())});
  Tensor low = x.slice(0, 0, 1024), high = x.slice(0, 1, 1025);
  expect_near(fast(low, low), low + low, 1e-6);
  expect_near(fast(low, high), low + high, 1e-6);
  EXPECT_EQ(fast.report().size(), 2u);
  EXPECT_EQ(fast.report()[0].signature, "f32 1024 aligned, f32 1024 aligned");
  EXPECT_EQ(fast.report()[1].signature, "f32 1024 aligned, f32 1024");
  expect_contains(fast.dump(), "%p1: ptr<f32> align 4");
  Compiled any = compile(add, {.device = Device::emulated(GetParam())});
  any(high, high);
  expect_near(any(low, low), low + low, 1e-6);
  EXPECT_EQ(any.report().size(), 1u);
}

TEST_P(EmulatedDevice, KeepsItsProgramsInEveryMode) {
  auto f = [](const Tensor& x) { return softmax(x * 2, -1); };
  for (Mode mode : {Mode::reduce_overhead, Mode::max_autotune}) {
    Compiled fast = compile(f, {.mode = mode, .device = Device::emulated(GetParam())});
    for (std::uint32_t seed : {1, 2}) {
      Tensor x = noise({6, 40}, seed);
      expect_near(fast(x), f(x), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tilewright::device_test
