// Frozen weights: products of many rows read packed copies of them.
#include "graph/lower/packed_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/compile/bindings/weight_copies.h"
#include "graph/compile/compile.h"
#include "graph/functions/dlpack.h"
#include "graph/functions/dlpack_layout.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::graph::packed_weights_test {
namespace {

using tilewright::Mode;

using Tensors = std::vector<Tensor>;

const Options frozen{.fullgraph = true, .device = Device::cpu(), .freezing = true};
const Options live{.fullgraph = true, .device = Device::cpu()};

Tensor random_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = uniform(generator);
  return Tensor::from(elements, shape);
}

std::int64_t packed_by(const CompiledFunction& function) {
  return function.report().back().packed_weights;
}

void expect_close(const Tensor& a, const Tensor& b, float tolerance, const std::string& about) {
  ASSERT_EQ(a.shape(), b.shape());
  auto x = a.to(f32).to_vector<float>(), y = b.to(f32).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << "element " << i << ", " << about;
}

TEST(PackedWeights, AreThoseOfProductsWithManyRows) {
  Tensor weight = random_tensor({96, 64}, 1);
  auto function = [=](const Tensor& x) { return linear(x, weight); };
  Compiled fast = compile(function, frozen), plain = compile(function, live);
  for (std::int64_t rows : {1, 47, 48, 200}) {
    Tensor x = random_tensor({rows, 64}, 2);
    expect_close(fast(x), plain(x), 1e-5F, std::to_string(rows));
    EXPECT_EQ(packed_by(fast), rows >= 48 ? 1 : 0) << rows;
    EXPECT_EQ(packed_by(plain), 0);
  }
  EXPECT_EQ(fast.report().back().packed_bytes, 96 * 64 * 4);
  expect_contains(fast.explain(), "1 frozen weight lies packed in 24.0 KiB");
}

struct Layout {
  const char* name;
  std::int64_t columns, depth;
  bool is_turned;       // contiguous along columns
  std::int64_t packed;  // how many; -1: that depends on the host
};

// Each with a bias and a function behind it, so that what is fused reads blocks of columns too.
TEST(PackedWeights, MayLieAndEndAnywhere) {
  for (const Layout& l :
       {Layout{"whole panels of three vectors", 144, 70, false, 1},
        Layout{"of four", 128, 70, true, 1}, Layout{"a panel that is not full", 1000, 33, false, 1},
        Layout{"an odd number of columns", 1009, 40, true, 1},
        Layout{"fewer columns than two vectors", 7, 64, false, 0},
        Layout{"less than a panel of some hosts", 45, 64, false, -1},
        Layout{"one column", 1, 64, false, 0},
        Layout{"fewer rows than a vector has elements", 192, 3, false, 0}}) {
    Tensor stored =
        random_tensor(l.is_turned ? Shape{l.depth, l.columns} : Shape{l.columns, l.depth}, 3);
    Tensor weight = l.is_turned ? stored : stored.transpose(0, 1);
    Tensor bias = random_tensor({l.columns}, 4), x = random_tensor({2, 60, l.depth}, 5);
    auto function = [=](const Tensor& t) { return gelu(matmul(t, weight) + bias); };
    Compiled fast = compile(function, frozen);
    expect_close(fast(x), compile(function, live)(x), 2e-5F, l.name);
    if (l.packed >= 0) {
      EXPECT_EQ(packed_by(fast), l.packed) << l.name;
    }
  }
}

// A slice begins inside its memory; a weight that is used twice is copied once.
TEST(PackedWeights, AreCopiedOnce) {
  Tensor both = random_tensor({192, 96}, 6), x = random_tensor({64, 96}, 7);
  Tensor first = both.slice(0, 0, 96), second = both.slice(0, 96, 192);
  auto chain = [=](const Tensor& t) {
    return linear(tanh(linear(linear(t, first), second)), first);
  };
  Compiled fast = compile(chain, frozen);
  expect_close(fast(x), compile(chain, live)(x), 2e-4F, "a chain");
  EXPECT_EQ(packed_by(fast), 2);

  // Another function, and another signature of it, have the same copies.
  PackedWeight weight{0, f32, {{96, 96}, {1, 96}, 0}, {48, false}};
  std::weak_ptr<Buffer> copy;
  {
    auto packed = packed_copy(first, weight);
    EXPECT_EQ(packed_copy(both.slice(0, 0, 96), weight), packed);
    EXPECT_NE(packed_copy(second, weight), packed);
    const auto* lies = static_cast<const float*>(packed->data());
    std::vector<float> from = first.to_vector<float>();
    for (std::size_t k : {0, 1, 95})
      for (std::size_t n : {0, 47, 48, 95})
        EXPECT_EQ(lies[n / 48 * 48 * 96 + k * 48 + n % 48], from[n * 96 + k]) << n << ", " << k;
    copy = packed;
  }
  Tensor alone = random_tensor({96, 96}, 8);
  std::weak_ptr<Buffer> of_alone = packed_copy(alone, weight);
  EXPECT_TRUE(of_alone.expired());  // nobody has it
}

TEST(PackedWeights, KeepTheirWeightsFromBeingWritten) {
  Tensor weight = random_tensor({96, 64}, 9), x = random_tensor({64, 64}, 10);
  Tensor other = random_tensor({96, 64}, 11);
  auto function = [=](const Tensor& t) { return linear(t, weight); };
  Compiled fast = compile(function, frozen);
  weight.copy_from(other);  // not yet used
  Tensor before = fast(x).clone();
  expect_close(before, compile(function, live)(x), 1e-5F, "written before the first call");
  expect_contains(error_of([&] { weight.data(); }), "[data] the tensor is frozen");
  expect_contains(error_of([&] { weight.select(0, 1).data(); }), "read it through const_data()");
  EXPECT_EQ(static_cast<const float*>(weight.const_data())[0], weight.to_vector<float>()[0]);
  expect_contains(error_of([&] { to_dlpack_legacy(weight); }), "[to_dlpack_legacy] the tensor is");
  DLManagedTensorVersioned* shared = to_dlpack(weight);
  EXPECT_EQ(shared->flags & 1, 1u);
  shared->deleter(shared);
  expect_contains(error_of([&] { weight.copy_from(other); }), "[copy_from] the tensor is frozen");
  expect_contains(error_of([&] { weight.slice(0, 0, 1).copy_from(other.slice(0, 0, 1)); }),
                  "frozen");
  expect_contains(error_of([&] {
                    weight.index_copy_(0, Tensor::from<std::int64_t>({0}, {1}),
                                       other.slice(0, 0, 1));
                  }),
                  "[index_copy_] the tensor is frozen");
  Compiled writes = compile(
      [=](const Tensor& t) mutable {
        weight.copy_from(weight + t);
        return t;
      },
      live);
  expect_contains(error_of([&] { writes(other); }), "frozen");
  Compiled writes_argument = compile(
      [](const Tensor& w, const Tensor& t) {
        Tensor written = w;
        written.copy_from(w * t);
        return t;
      },
      live);
  expect_contains(error_of([&] { writes_argument(weight, other); }),
                  "[compile] argument 0 is written in place and frozen");
  EXPECT_EQ(fast(x).to_vector<float>(), before.to_vector<float>());
  weight.clone().copy_from(other);
}

// Tensors that the function itself writes are read in place, at each call.
TEST(PackedWeights, AreNotWhatTheFunctionWrites) {
  Tensor weight = random_tensor({96, 64}, 12), same = weight.clone();
  Tensor x = random_tensor({64, 64}, 13);
  auto step = [](Tensor w) {
    return [w](const Tensor& t) mutable {
      Tensor y = linear(t, w);
      w.copy_from(w * 0.5);
      return y;
    };
  };
  Compiled fast = compile(step(weight), frozen), plain = compile(step(same), live);
  for (int call = 0; call < 3; ++call) expect_close(fast(x), plain(x), 1e-5F, "a call");
  EXPECT_EQ(packed_by(fast), 0);
}

// In every mode, and with a search for blocks, whose candidates read random panels.
TEST(PackedWeights, WorkInEveryMode) {
  Tensor weight = random_tensor({336, 64}, 14), x = random_tensor({150, 64}, 15);
  auto function = [=](const Tensor& t) { return relu(linear(t, weight)); };
  Tensor expected = compile(function, live)(x);
  for (auto mode : {tilewright::Mode::default_, tilewright::Mode::reduce_overhead,
                    tilewright::Mode::max_autotune})
    for (Backend backend : {Backend::aot_eager, Backend::tilewright}) {
      Options options = frozen;
      options.mode = mode;
      options.backend = backend;
      options.tune_seconds = 0.2;
      Compiled fast = compile(function, options);
      for (int call = 0; call < 2; ++call)
        expect_close(fast(x), expected, 1e-5F, std::string(name_of(mode)));
      EXPECT_EQ(packed_by(fast), 1);
    }
}

// Against the interpreter, which reads the weight where it lies: shapes, types, orders, what is
// fused, and blocks that nobody would choose.
TEST(PackedWeights, ComputeWhatTheWeightsDo) {
  const unsigned seed = 20261122;
  std::mt19937 random(seed);
  auto below = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int packed = 0;
  for (int number = 0; number < 40; ++number) {
    const std::int64_t rows = below(48, 130), depth = below(16, 150);
    const std::int64_t kind = below(0, 4);  // of whole vectors, any, or less than a panel
    const std::int64_t columns = kind < 2   ? 16 * below(2, 30)
                                 : kind < 4 ? below(40, 700)
                                            : below(8, 47);
    const DType dtype = below(0, 1) == 0 ? f32 : bf16;
    const bool is_turned = below(0, 1) == 1, has_bias = below(0, 1) == 1, sums = below(0, 3) == 0;
    BlockSizes blocks;
    if (below(0, 2) != 0)
      blocks = {.rows = below(0, 60), .columns = below(0, 300), .splits = sums ? 0 : below(0, 3)};
    std::string about =
        concat("seed ", seed, ", case ", number, ": ", rows, "x", columns, "x", depth, " ", dtype,
               is_turned ? " turned" : "", has_bias ? " bias" : "", sums ? " sums" : "",
               ", blocks ", blocks.rows, "x", blocks.columns, ", splits ", blocks.splits);
    Tensor x = random_tensor({rows, depth}, 1 + number).to(dtype);
    Tensor stored =
        random_tensor(is_turned ? Shape{depth, columns} : Shape{columns, depth}, 2 + number)
            .to(dtype);
    Tensor bias = random_tensor({columns}, 3 + number).to(dtype);
    Capture capture;
    Tensor a = capture.placeholder(dtype, x.shape()),
           w = capture.placeholder(dtype, stored.shape());
    Tensor b = capture.placeholder(dtype, bias.shape());
    Tensor y = matmul(a, is_turned ? w : w.transpose(0, 1));
    if (has_bias) y = tanh(y + b);
    if (sums) y = y - mean(y, {1}, true);
    Graph graph = run_passes(capture.finish({y}).graph);
    Device cpu = Device::cpu();
    auto expected = make_plan(graph, {.interpret = true, .device = cpu});
    auto plan = make_plan(
        graph, {.device = cpu, .blocks = blocks, .inputs = {{}, {.is_frozen = true}, {}}});
    std::vector<void*> inputs;
    for (const Tensor* t : {&x, &stored, &bias}) inputs.push_back(address_of(*t->body()));
    auto wanted = expected->run(inputs);
    std::vector<std::shared_ptr<Buffer>> copies;
    for (const PackedWeight& weight : plan->packed_weights()) {
      ASSERT_EQ(weight.input, 1) << about;
      copies.push_back(packed_copy(stored, weight));
      inputs.push_back(copies.back()->data());
    }
    packed += static_cast<int>(copies.size());
    auto got = plan->run(inputs);
    auto tensor = [&](const std::shared_ptr<Buffer>& buffer) {
      return make_tensor(dtype, row_major(y.shape()), buffer);
    };
    expect_close(tensor(got[0]), tensor(wanted[0]), dtype == f32 ? 1e-4F : 2e-2F, about);
  }
  EXPECT_GE(packed, 5);
}

// On hosts that multiply it as f32, which is twice as large.
TEST(PackedWeights, AreNotOfATypeThatIsMultipliedAsAnother) {
  Tensor weight = random_tensor({96, 64}, 1).to(f16);
  Compiled fast = compile([=](const Tensor& x) { return linear(x, weight); }, frozen);
  Tensor x = random_tensor({60, 64}, 2).to(f16);
  expect_close(fast(x), linear(x, weight), 1e-2F, "f16");
  EXPECT_EQ(packed_by(fast), 0);
}

}  // namespace
}  // namespace tilewright::graph::packed_weights_test
