// Tensors as people write them: assignment operators, masks, members, lists of numbers, memory of
// any alignment. Values are PyTorch 2.15's.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/reductions.h"
#include "tests/errors.h"

namespace tilewright::tensor_members_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

Tensor table() { return Tensor::from({{3.F, 1.F, 2.F}, {-4.F, 0.5F, 6.F}}); }

TEST(TensorAssignments, AreInPlace) {
  auto function = [](Tensor x, const Tensor& y) {
    const Tensor same = x, row = x[1];
    x += y;
    x *= 2;
    x -= Tensor::from({1.F, 2.F, 3.F});
    x /= 4.0;
    return std::vector<Tensor>{same * 1.0, row * 1.0};
  };
  const Floats wanted = {1.75F, 0.5F, 0.75F, -1.75F, 0.25F, 2.75F}, second = {-1.75F, 0.25F, 2.75F};
  Tensor at_once = table();
  auto results = function(at_once, ones({2, 3}));
  EXPECT_EQ(at_once.to_vector<float>(), wanted);
  EXPECT_EQ(results[0].to_vector<float>(), wanted);
  EXPECT_EQ(results[1].to_vector<float>(), second);
  auto fast = compile(function, {.fullgraph = true});
  for (int call = 0; call < 2; ++call) {
    Tensor argument = table();
    results = fast(argument, ones({2, 3}));
    EXPECT_EQ(argument.to_vector<float>(), wanted);
    EXPECT_EQ(results[1].to_vector<float>(), second);
  }
}

TEST(TensorAssignments, OfOneMemoryReadBeforeTheyWrite) {
  Tensor x = Tensor::from({1.F, 2.F, 3.F, 4.F});
  x.slice(0, 1, 4) += x.slice(0, 0, 3);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 3, 5, 7}));
  x += x;
  EXPECT_EQ(x.to_vector<float>(), (Floats{2, 6, 10, 14}));
}

TEST(TensorAssignments, KeepTheDtype) {
  Tensor half = Tensor::from({1.F, 2.F}).to(f16);
  half += Tensor::from({0.5, 0.25});
  EXPECT_EQ(half.dtype(), f16);
  EXPECT_EQ(half.to(f32).to_vector<float>(), (Floats{1.5F, 2.25F}));
  half *= 0.5;
  EXPECT_EQ(half.to(f32).to_vector<float>(), (Floats{0.75F, 1.125F}));
  Tensor integers = Tensor::from<std::int64_t>({7, -7});
  integers *= 3;
  integers -= Tensor::from({true, false});
  EXPECT_EQ(integers.to_vector<std::int64_t>(), (Integers{20, -21}));
  expect_contains(error_of([&] { integers += 0.5; }), "[+=] the result is f32");
  expect_contains(error_of([&] { integers /= 2; }), "[/=] the result is f32");
  expect_contains(error_of([&] {
                    integers += ones({2, 2}, i64);
                  }),
                  "[+=] the tensor is 2, the result 2x2");
  expect_contains(error_of([&] { integers += 0.5; }), "tensor_members_test.cpp");
}

TEST(TensorAssignments, OfFrozenOrSpreadTensorsAreRefused) {
  Tensor spread = ones({1, 3}).expand({2, 3});
  expect_contains(error_of([&] { spread += 1; }), "has stride 0 along axis 0");
  expect_contains(error_of([&] { spread[0] = ones({3}), spread = Tensor(), spread += 1; }),
                  "the tensor is undefined");
}

TEST(TensorMasks, HaveOperators) {
  const Tensor a = Tensor::from({true, true, false, false}),
               b = Tensor::from({true, false, true, false}),
               n = Tensor::from<std::int64_t>({6, 0, -1, 3});
  auto flags = [](const Tensor& x) {
    EXPECT_EQ(x.dtype(), boolean);
    return x.to(i64).to_vector<std::int64_t>();
  };
  EXPECT_EQ(flags(a & b), (Integers{1, 0, 0, 0}));
  EXPECT_EQ(flags(a | b), (Integers{1, 1, 1, 0}));
  EXPECT_EQ(flags(a ^ b), (Integers{0, 1, 1, 0}));
  EXPECT_EQ(flags(!a), (Integers{0, 0, 1, 1}));
  EXPECT_EQ(flags(~a), (Integers{0, 0, 1, 1}));
  EXPECT_EQ(flags(!n), (Integers{0, 1, 0, 0}));
  EXPECT_EQ((n & 3).to_vector<std::int64_t>(), (Integers{2, 0, 3, 3}));
  EXPECT_EQ((8 | n).to_vector<std::int64_t>(), (Integers{14, 8, -1, 11}));
  EXPECT_EQ((~n).to_vector<std::int64_t>(), (Integers{-7, -1, 0, -4}));
  Tensor c = a.clone();
  c &= b;
  c |= !a;
  c ^= Tensor::from({true});
  EXPECT_EQ(flags(c), (Integers{0, 1, 0, 0}));
  auto inside = [](const Tensor& x) { return ((x > 0) & !(x >= 3)).to(f32); };
  EXPECT_EQ(compile(inside, {.fullgraph = true})(table()).to_vector<float>(),
            (Floats{0, 1, 1, 0, 1, 0}));
}

// Axes as a number or as a list.
TEST(TensorMembers, Reduce) {
  const Tensor x = table();
  EXPECT_EQ(x.sum().item<float>(), 8.5F);
  EXPECT_EQ(x.sum(1).to_vector<float>(), (Floats{6, 2.5F}));
  EXPECT_EQ(sum(x, 1).to_vector<float>(), (Floats{6, 2.5F}));
  EXPECT_EQ(sum(x, {0, -1}).item<float>(), 8.5F);
  EXPECT_EQ(x.sum(-1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(x.mean({0, 1}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(mean(x, 0).to_vector<float>(), (Floats{-0.5F, 0.75F, 4}));
  EXPECT_EQ(x.prod(0).to_vector<float>(), (Floats{-12, 0.5F, 12}));
  EXPECT_EQ(x.var(0).to_vector<float>(), (Floats{24.5F, 0.125F, 8}));
  EXPECT_EQ(var(x, 0, 0).to_vector<float>(), (Floats{12.25F, 0.0625F, 4}));
  EXPECT_EQ(x.max().item<float>(), 6);
  EXPECT_EQ(x.max(1).first.to_vector<float>(), (Floats{3, 6}));
  EXPECT_EQ(x.min(0).second.to_vector<std::int64_t>(), (Integers{1, 1, 0}));
  EXPECT_EQ(x.argmax().item<std::int64_t>(), 5);
  EXPECT_EQ(x.argmin(1).to_vector<std::int64_t>(), (Integers{1, 0}));
  EXPECT_EQ(x.amax(1).to_vector<float>(), (Floats{3, 6}));
  EXPECT_FALSE((x > 0).all().item<bool>());
  EXPECT_EQ((x > 2).any(0).to(f32).to_vector<float>(), (Floats{1, 0, 1}));
  EXPECT_EQ(x.cumsum(1).to_vector<float>(), (Floats{3, 4, 6, -4, -3.5F, 2.5F}));
  EXPECT_EQ(norm(x, 1, 1).to_vector<float>(), (Floats{6, 10.5F}));
  EXPECT_EQ(count_nonzero(x, 0).to_vector<std::int64_t>(), (Integers{2, 2, 2}));
  expect_contains(error_of([&] { x.sum(2); }), "tensor_members_test.cpp");
}

TEST(TensorMembers, AreTheFunctionsOfTheirNames) {
  const Tensor x = table();
  EXPECT_EQ(x.relu().to_vector<float>(), relu(x).to_vector<float>());
  EXPECT_EQ(x.exp().log().to_vector<float>(), log(exp(x)).to_vector<float>());
  EXPECT_EQ(x.softmax(-1).to_vector<float>(), softmax(x, -1).to_vector<float>());
  EXPECT_EQ(x.matmul(x.t()).to_vector<float>(), (Floats{14, 0.5F, 0.5F, 52.25F}));
  EXPECT_EQ(x.pow(2).to_vector<float>(), (Floats{9, 1, 4, 16, 0.25F, 36}));
  EXPECT_EQ(x.clamp(0, 2).to_vector<float>(), (Floats{2, 1, 2, 0, 0.5F, 2}));
  EXPECT_EQ(x.masked_fill(x > 2, 0).to_vector<float>(), (Floats{0, 1, 2, -4, 0.5F, 0}));
  EXPECT_EQ(x.masked_select(x > 2).to_vector<float>(), (Floats{3, 6}));
  EXPECT_EQ(x.sort(1, true).second.to_vector<std::int64_t>(), (Integers{0, 2, 1, 2, 1, 0}));
  EXPECT_EQ(x.topk(1).first.to_vector<float>(), (Floats{3, 6}));
  EXPECT_EQ(x.flip(1).to_vector<float>(), (Floats{2, 1, 3, 6, 0.5F, -4}));
  EXPECT_EQ(x.flatten().shape(), (Shape{6}));
  EXPECT_EQ(ones({2, 3, 4}).flatten(1).shape(), (Shape{2, 12}));
  EXPECT_EQ(ones({1, 3, 1}).squeeze().shape(), (Shape{3}));
  EXPECT_EQ(x.narrow(1, 1, 2).to_vector<float>(), (Floats{1, 2, 0.5F, 6}));
  EXPECT_EQ(x.unbind(1)[2].to_vector<float>(), (Floats{2, 6}));
  EXPECT_EQ(x.tril().to_vector<float>(), (Floats{3, 0, 0, -4, 0.5F, 0}));
  EXPECT_EQ(x.index_select(1, Tensor::from<std::int64_t>({2})).to_vector<float>(), (Floats{2, 6}));
  EXPECT_EQ(x.chunk(2, 0)[1].view({3}).to_vector<float>(), (Floats{-4, 0.5F, 6}));
  expect_contains(error_of([&] { ones({1, 2, 3}).t(); }), "[t] the tensor is 1x2x3");
}

TEST(TensorMembers, WriteInPlace) {
  Tensor x = table(), row = x[0];
  row.fill_(2);
  x[1].copy_(Tensor::from<std::int64_t>({7, 8, 9}));
  x.masked_fill_(x > 8, -1);
  EXPECT_EQ(x.to_vector<float>(), (Floats{2, 2, 2, 7, 8, -1}));
  x.zero_();
  EXPECT_EQ(row.to_vector<float>(), (Floats{0, 0, 0}));
  expect_contains(error_of([&] { row.masked_fill_(ones({2, 3}) > 0, 1); }), "[masked_fill_]");
}

TEST(TensorLists, BecomeTensors) {
  EXPECT_EQ(Tensor::from({1.F, 2.F}, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(Tensor::from({1.F, 2.F}).to_vector<float>(), (Floats{1, 2}));
  const Tensor nested = Tensor::from({{{1, 2}, {3, 4}, {5, 6}}});
  EXPECT_EQ(nested.shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(nested.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::from({1.0, 2.0}).dtype(), f64);
  const std::vector<bool> flags = {true, false, true};
  EXPECT_EQ(Tensor::from(flags).to_vector<bool>(), flags);
  std::array<std::int64_t, 2> array = {5, 6};
  EXPECT_EQ(Tensor::from(std::span(array)).to_vector<std::int64_t>(), (Integers{5, 6}));
  EXPECT_EQ(Tensor::from(std::vector<float>{1, 2, 3}).shape(), (Shape{3}));
  EXPECT_EQ(Tensor::from<float>({}, {0, 4}).count(), 0);
  expect_contains(error_of([] {
                    Tensor::from({{1.F, 2.F}, {3.F}});
                  }),
                  "[from] a list has 1 elements, another at its depth 2");
  expect_contains(error_of([] { Tensor::from({1.F, 2.F}, {3}); }), "[from] 2 elements");
}

TEST(TensorBlobs, BeginAnywhere) {
  std::vector<float> memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  auto function = [](const Tensor& x) { return (x * 2.0 + x.sum(1, true)).contiguous(); };
  auto fast = compile(function, {.fullgraph = true});
  for (std::size_t first : {0, 1, 3, 7}) {
    Tensor x = Tensor::from_blob(memory.data() + first, {4, 8}, f32);
    EXPECT_EQ(x.const_data(), memory.data() + first);
    const Floats values(memory.begin() + static_cast<std::ptrdiff_t>(first),
                        memory.begin() + static_cast<std::ptrdiff_t>(first) + 32);
    EXPECT_EQ(x.to_vector<float>(), values);
    const Tensor copied = Tensor::from(values, {4, 8});
    EXPECT_EQ(function(x).to_vector<float>(), function(copied).to_vector<float>());
    EXPECT_EQ(fast(x).to_vector<float>(), function(copied).to_vector<float>());
  }
  Tensor::from_blob(memory.data() + 1, {2}, f32) += 100;
  EXPECT_EQ(memory[0], 0);
  EXPECT_EQ(memory[1], 101);
  EXPECT_EQ(memory[2], 102);
  EXPECT_EQ(memory[3], 3);
}

// A number in the middle of a packet is copied.
TEST(TensorBlobs, BetweenElementsAreCopied) {
  std::vector<char> packet(17);
  const float numbers[4] = {1, 2, 3, 4};
  std::memcpy(packet.data() + 1, numbers, sizeof numbers);
  Tensor x = Tensor::from_blob(packet.data() + 1, {4}, f32);
  EXPECT_EQ((x * 1.0).to_vector<float>(), (Floats{1, 2, 3, 4}));
  x += 1;
  EXPECT_EQ(std::memcmp(packet.data() + 1, numbers, sizeof numbers), 0);
}

}  // namespace
}  // namespace tilewright::tensor_members_test
