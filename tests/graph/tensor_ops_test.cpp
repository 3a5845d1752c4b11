// Operations on tensors at once, against values by hand, and their messages.
#include <cmath>

#include "graph/compile/compile.h"
#include "graph/functions/creation.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::tensor_ops_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

TEST(TensorOps, IntegersKeepAllTheirBits) {
  constexpr std::int64_t odd = 9007199254740993;  // 2^53 + 1
  Tensor x = Tensor::from(Integers{0, odd, -odd}, {3});
  EXPECT_EQ((x + odd).to_vector<std::int64_t>(), (Integers{odd, 2 * odd, 0}));
  EXPECT_EQ((x == odd).to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(full({1}, INT64_MAX, i64).item<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(full({1}, INT64_MIN, i64).item<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(full({1}, UINT64_MAX, DType::u64).item<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(arange(odd, odd + 2).to_vector<std::int64_t>(), (Integers{odd, odd + 1}));
  auto f = compile([](const Tensor& a) {
    return where(a == odd, a + INT64_MAX, full({3}, odd, i64) * 3) + arange(odd, odd + 3);
  });
  EXPECT_EQ(f(x).to_vector<std::int64_t>(),
            (Integers{4 * odd, INT64_MIN + odd - 1 + odd + 1, 4 * odd + 2}));
}

// As range in Python. Spans are beyond i64, for which torch.arange in PyTorch 2.15 gives nothing.
TEST(TensorOps, RangesMayGoOverAllIntegers) {
  constexpr std::int64_t least = INT64_MIN, most = INT64_MAX, quarter = std::int64_t{1} << 62;
  struct Case {
    std::int64_t start, end, step;
    Integers right;
    std::vector<bool> is_negative;
  };
  const Case cases[] = {
      {least, most, quarter, {least, -quarter, 0, quarter}, {true, true, false, false}},
      {most, least, -quarter, {most, quarter - 1, -1, -quarter - 1}, {false, false, true, true}},
      {least, most, most, {least, -1, most - 1}, {true, true, false}},
      {0, most, quarter, {0, quarter}, {false, false}}};
  for (const Case& c : cases) {
    auto function = [&](const Tensor& shift) {
      const Tensor range = arange(c.start, c.end, c.step);
      return std::vector<Tensor>{range + shift, range < 0};
    };
    const Tensor none = zeros({1}, i64);
    const std::vector<Tensor> at_once = function(none), compiled = compile(function)(none);
    for (const auto& got : {at_once, compiled}) {
      EXPECT_EQ(got[0].to_vector<std::int64_t>(), c.right);
      EXPECT_EQ(got[1].to_vector<bool>(), c.is_negative);
    }
  }
}

TEST(TensorOps, IntegersDividedByZeroAreZero) {
  Tensor x = Tensor::from(Integers{7, -7}, {2}), zero = zeros({2}, i64);
  auto all = [&](const Tensor& a, const Tensor& b) {
    return cat({remainder(a, b), fmod(a, b), floor_divide(a, b), div(a, b, RoundingMode::trunc)},
               0);
  };
  EXPECT_EQ(all(x, zero).to_vector<std::int64_t>(), Integers(8, 0));
  EXPECT_EQ(compile(all)(x, zero).to_vector<std::int64_t>(), Integers(8, 0));
}

TEST(TensorOps, BroadcastOperandsAndPromoteTheirDtypes) {
  Tensor row = counted({3}), column = counted({2, 1});
  EXPECT_EQ((row + column * 10).to_vector<float>(), (Floats{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ((1 - row).to_vector<float>(), (Floats{1, 0, -1}));
  Tensor integers = Tensor::from(std::vector<std::int32_t>{7, -7, 2}, {3});
  EXPECT_EQ((integers + 1).dtype(), i32);
  EXPECT_EQ((integers + 0.5).dtype(), f32);
  EXPECT_EQ((integers + row).dtype(), f32);
  EXPECT_EQ((integers / 2).to_vector<float>(), (Floats{3.5, -3.5, 1}));
  EXPECT_EQ(remainder(integers, 4).to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 1, 2}));
  EXPECT_EQ(fmod(integers, 4).to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, -3, 2}));
  EXPECT_EQ(floor_divide(integers, 4).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, -2, 0}));
  EXPECT_EQ(div(integers, 4, RoundingMode::trunc).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, -1, 0}));
  EXPECT_EQ(exp(integers).dtype(), f32);
  EXPECT_EQ((row.to(f16) + row.to(bf16)).dtype(), f32);
  EXPECT_EQ((row.to(f16) * 3).dtype(), f16);
}

TEST(TensorOps, CompareAndChoose) {
  Tensor x = counted({4});
  EXPECT_EQ((x >= 2).to_vector<bool>(), (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(where(x >= 2, x, -1).to_vector<float>(), (Floats{-1, -1, 2, 3}));
  EXPECT_EQ(where(x == 1, 5, 6).dtype(), i64);
  Tensor bits = Tensor::from(std::vector<std::int32_t>{12, -9}, {2});
  using Integers = std::vector<std::int32_t>;
  EXPECT_EQ(bitwise_and(bits, 10).to_vector<std::int32_t>(), (Integers{8, 2}));
  EXPECT_EQ(bitwise_or(bits, 3).to_vector<std::int32_t>(), (Integers{15, -9}));
  EXPECT_EQ(bitwise_xor(bits, bits).to_vector<std::int32_t>(), (Integers{0, 0}));
  EXPECT_EQ(shift_left(bits, 2).to_vector<std::int32_t>(), (Integers{48, -36}));
  EXPECT_EQ(shift_right(bits, 1).to_vector<std::int32_t>(), (Integers{6, -5}));
  EXPECT_EQ(logical_and(x, x < 3).to_vector<bool>(), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(logical_not(x).to_vector<bool>()[0], true);
  EXPECT_EQ(maximum(x, 1.5).to_vector<float>(), (Floats{1.5, 1.5, 2, 3}));
}

TEST(TensorOps, ReduceOverAxes) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(sum(x).item<float>(), 15);
  EXPECT_EQ(sum(x, {0}).to_vector<float>(), (Floats{3, 5, 7}));
  EXPECT_EQ(sum(x, {-1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(mean(x, {1}).to_vector<float>(), (Floats{1, 4}));
  EXPECT_EQ(amax(x, {0, 1}).item<float>(), 5);
  EXPECT_EQ(amin(x, {1}).to_vector<float>(), (Floats{0, 3}));
  EXPECT_EQ(argmax(x, 1).to_vector<std::int64_t>(), (Integers{2, 2}));
  EXPECT_FLOAT_EQ(var(x).item<float>(), 3.5F);
  EXPECT_FLOAT_EQ(var(x, {}, 0).item<float>(), 35.0F / 12);
  EXPECT_EQ(sum(x > 2).item<std::int64_t>(), 3);
}

TEST(TensorOps, MultiplyMatrices) {
  Tensor a = counted({2, 3}), b = counted({3, 2});
  EXPECT_EQ(matmul(a, b).to_vector<float>(), (Floats{10, 13, 28, 40}));
  EXPECT_EQ(matmul(a, a.transpose(0, 1)).to_vector<float>(), (Floats{5, 14, 14, 50}));
  EXPECT_EQ(matmul(counted({2, 2, 3}), b).to_vector<float>(),
            (Floats{10, 13, 28, 40, 46, 67, 64, 94}));
  EXPECT_EQ(matmul(counted({1, 2, 3}), counted({2, 3, 1})).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(linear(a, b.transpose(0, 1), counted({2})).to_vector<float>(),
            (Floats{10, 14, 28, 41}));
}

TEST(TensorOps, NormaliseRows) {
  Tensor x = Tensor::from(Floats{0, std::log(3.0F)}, {1, 2});
  Floats soft = softmax(x, -1).to_vector<float>();
  EXPECT_NEAR(soft[0], 0.25, 1e-6);
  EXPECT_NEAR(log_softmax(x, 1).to_vector<float>()[1], std::log(0.75), 1e-6);
  Tensor y = Tensor::from(Floats{1, 3}, {1, 2});
  EXPECT_NEAR(layer_norm(y, {}, {}, 0).to_vector<float>()[1], 1, 1e-6);
  EXPECT_NEAR(layer_norm(y, counted({2}), counted({2}), 0).to_vector<float>()[1], 2, 1e-6);
  EXPECT_NEAR(rms_norm(y, {}, 0).to_vector<float>()[1], 3 / std::sqrt(5.0), 1e-6);
}

TEST(TensorOps, GatherAndJoin) {
  Tensor table = counted({4, 2});
  Tensor ids = Tensor::from(Integers{3, 0, 3}, {3});
  EXPECT_EQ(embedding(ids, table).to_vector<float>(), (Floats{6, 7, 0, 1, 6, 7}));
  EXPECT_EQ(cat({counted({2, 1}), counted({2, 2})}, 1).to_vector<float>(),
            (Floats{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(arange(1, 8, 3).to_vector<std::int64_t>(), (Integers{1, 4, 7}));
  EXPECT_EQ(full({2}, 0.5, f16).to(f32).to_vector<float>(), (Floats{0.5, 0.5}));
}

TEST(TensorOps, CopyRowsInPlace) {
  Tensor x = zeros({4, 2});
  Tensor rows = Tensor::from(Integers{2, 0}, {2});
  EXPECT_EQ(&x.index_copy_(0, rows, counted({2, 2})), &x);
  EXPECT_EQ(x.to_vector<float>(), (Floats{2, 3, 0, 0, 0, 1, 0, 0}));
  Tensor columns = zeros({2, 4});
  columns.index_copy_(-1, rows, counted({2, 2}));
  EXPECT_EQ(columns.to_vector<float>(), (Floats{1, 0, 0, 0, 3, 0, 2, 0}));
}

// Rows for each element of axis 0, before the axis or at it, at once and compiled.
TEST(TensorOps, IndexCopyTakesRowsForEachOfABatch) {
  const Tensor rows = Tensor::from(Integers{1, 0, 2, 1}, {2, 2});
  auto copied = [&](bool is_compiled) {
    Tensor texts = zeros({2, 2, 3}), turned = zeros({2, 3});
    auto copy = [&](const Tensor& index, const Tensor& source) {
      turned.index_copy_(1, index, source.select(1, 0));
      return texts.index_copy_(2, index, source) + 0;
    };
    const Tensor source = counted({2, 2, 2});
    if (is_compiled)
      compile(copy, {.fullgraph = true})(rows, source);
    else
      copy(rows, source);
    std::vector<float> all = texts.to_vector<float>(), more = turned.to_vector<float>();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Floats wanted = {1, 0, 0, 3, 2, 0, 0, 5, 4, 0, 7, 6, 1, 0, 0, 0, 5, 4};
  EXPECT_EQ(copied(false), wanted);
  EXPECT_EQ(copied(true), wanted);
}

TEST(TensorOps, AttendToWhatTheMaskShows) {
  // One key is so much closer that it takes all the weight.
  Tensor q = Tensor::from(Floats{0, 100, 100, 0}, {1, 1, 2, 2});
  Tensor k = Tensor::from(Floats{1, 0, 0, 1}, {1, 1, 2, 2});
  Tensor v = Tensor::from(Floats{1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(scaled_dot_product_attention(q, k, v).to_vector<float>(), (Floats{3, 4, 1, 2}));
  AttentionOptions causal{.causal = true, .scale = {}, .position = {}};
  EXPECT_EQ(scaled_dot_product_attention(q, k, v, causal).to_vector<float>(), (Floats{1, 2, 1, 2}));
  // Two query heads share one key head; a position lets the first row see both keys.
  causal.position = Tensor::from(Integers{1}, {1});
  Tensor heads = Tensor::from(Floats{0, 100, 100, 0}, {1, 2, 1, 2});
  EXPECT_EQ(scaled_dot_product_attention(heads, k, v, causal).to_vector<float>(),
            (Floats{3, 4, 1, 2}));
  // A mask is broadcast over batches, heads and rows.
  const Tensor first = Tensor::from(Integers{1, 0}, {2}) > 0;
  EXPECT_EQ(scaled_dot_product_attention(q, k, v, {.mask = first}).to_vector<float>(),
            (Floats{1, 2, 1, 2}));
  const Tensor against = Tensor::from(Floats{0, -200}, {1, 2});
  EXPECT_EQ(scaled_dot_product_attention(q, k, v, {.mask = against}).to_vector<float>(),
            (Floats{1, 2, 1, 2}));
  EXPECT_EQ(scaled_dot_product_attention(q, k, v, {.mask = logical_and(first, logical_not(first))})
                .to_vector<float>(),
            (Floats{0, 0, 0, 0}));
  expect_contains(error_of([&] { scaled_dot_product_attention(q, k, v, {.mask = zeros({3})}); }),
                  "attention");
}

TEST(TensorOps, RefuseMisuseWithTheUsersLine) {
  Tensor x = counted({4, 6});
  auto at_this_file = [&](auto call, const std::string& what) {
    std::string message = error_of(call);
    expect_contains(message, what);
    expect_contains(message, "tensor_ops_test.cpp:");
  };
  at_this_file([&] { matmul(x, x); }, "[matmul] inner sizes differ: a is 4x6, b is 4x6");
  at_this_file(
      [&] {
        matmul(counted({2, 4, 6}), counted({3, 6, 2}));
      },
      "[matmul] leading axes do not broadcast");
  at_this_file([&] { x + counted({5}); }, "[add] shapes do not broadcast: 4x6, 5");
  at_this_file([&] { sum(x, {2}); }, "[sum] axis 2 is outside");
  at_this_file([&] { sum(x, {1, -1}); }, "[sum] axis 1 is named twice");
  at_this_file([&] { softmax(x, 2); }, "[softmax] axis 2 is outside");
  at_this_file([&] { mean(x > 1); }, "[mean] operand 0 is bool");
  at_this_file([&] { embedding(x, x); }, "[embedding] the indices are f32");
  at_this_file([&] { embedding(Tensor::from(Integers{4}, {1}), x); },
               "[embedding] id 4 is outside a table of 4 rows");
  at_this_file(
      [&] {
        x.index_copy_(0, Tensor::from(Integers{9}, {1}), counted({1, 6}));
      },
      "[index_copy_] row 9 is outside an axis of size 4");
  at_this_file([&] { layer_norm(x, {}, counted({6})); }, "[layer_norm] a bias was given without");
  at_this_file([&] { layer_norm(x, counted({4})); }, "[layer_norm] operand 1 is 4");
  at_this_file([&] { linear(x, counted({3, 5})); }, "[linear] x is 4x6, the weight is 3x5");
  at_this_file([&] { cat({x, counted({3, 6})}, 1); }, "[cat] part 0 is 4x6, part 1 is 3x6");
  at_this_file([&] { cat({}, 0); }, "[cat] there are no parts");
  at_this_file(
      [&] {
        matmul(x, counted({6, 2}).to(f16));
      },
      "[matmul] operand 1 is f16, operand 0 is f32; the operands must have one dtype");
  at_this_file([&] { (x > 1) - (x > 2); }, "[sub] the operand is bool");
  at_this_file([&] { remainder(x.to(i32), 0); },
               "[remainder] the divisor of integers is the number 0");
  at_this_file([&] { full({2, -1}, 1); }, "[full] size -1 in 2x-1");
  at_this_file([&] { zeros({INT64_MAX, 2}); }, "too many elements");
  const Tensor line = zeros({1}).expand({(std::int64_t{1} << 31) + 8});
  at_this_file([&] { argmax(line); }, "[argmax] the axis has 2147483656 elements");
  at_this_file([&] { argmin(line, 0); }, "[argmin] the axis has 2147483656 elements");
  at_this_file([&] { max(line, 0); }, "the axis has 2147483656 elements");
  at_this_file([&] { full({2}, 1000, DType::i8); }, "[full] 1000 does not fit i8");
  at_this_file([&] { full({2}, -300, DType::u8); }, "[full] -300 does not fit u8");
  at_this_file([&] { full({2}, 1e30, i64); }, "[full] 1e+30 does not fit i64");
  at_this_file([&] { full({2}, UINT64_MAX, i64); }, "does not fit i64");
  at_this_file([&] { full({2}, std::nan(""), i32); }, "[full] nan does not fit i32");
  at_this_file([&] { full({2}, 2.5, i64); }, "[full] 2.5 is no i64");
  at_this_file([&] { full_like(x.to(DType::u8), 0.5); }, "[full] 0.5 is no u8");
  EXPECT_EQ(full({1}, -3.0, i64).item<std::int64_t>(), -3);
  at_this_file([&] { where(x > 1, x.to(DType::i8), 1000); }, "[where] 1000 does not fit i8");
  at_this_file([&] { amax(zeros({0}) > 1); }, "[amax] axis 0 of shape 0 is empty");
  at_this_file([&] { argmin(zeros({2, 0}), 1); }, "[argmin] axis 1 of shape 2x0 is empty");
  Tensor q = counted({1, 1, 2, 4});
  AttentionOptions ends{.alignment = CausalAlignment::bottom_right};
  at_this_file([&] { scaled_dot_product_attention(q, q, q, ends); }, "was given without causal");
  ends.causal = true;
  ends.position = Tensor::from(Integers{1}, {1});
  at_this_file([&] { scaled_dot_product_attention(q, q, q, ends); }, "was given with a position");
  at_this_file([&] { x + Tensor() + 1; }, "[add] the tensor is undefined");
}

}  // namespace
}  // namespace tilewright::tensor_ops_test
