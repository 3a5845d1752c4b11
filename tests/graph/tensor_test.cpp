#include "graph/tensor/tensor.h"

#include <sstream>

#include "graph/compile/compile.h"
#include "graph/functions/creation.h"
#include "tests/errors.h"
#include "tests/grouped_locale.h"
#include "tests/tensors.h"

namespace tilewright::tensor_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

TEST(Tensor, HoldsACopyOfTheElementsItIsMadeFrom) {
  Floats numbers = {1, 2, 3, 4, 5, 6};
  Tensor x = Tensor::from(numbers, {2, 3});
  numbers[0] = 99;
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.strides(), (Strides{3, 1}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::scalar(7.5F).item<float>(), 7.5F);
}

TEST(Tensor, SharesBytesAmongHandlesAndViews) {
  Tensor x = counted({2, 3});
  Tensor handle = x, column = x.select(1, 1), copy = x.clone();
  static_cast<float*>(x.data())[1] = 50;
  EXPECT_EQ(handle.to_vector<float>()[1], 50);
  EXPECT_EQ(column.to_vector<float>(), (Floats{50, 4}));
  EXPECT_EQ(copy.to_vector<float>()[1], 1);
}

TEST(Tensor, SeesMemoryOfTheUserAndKeepsItsOwner) {
  alignas(64) float memory[4] = {1, 2, 3, 4};
  auto owner = std::make_shared<int>(0);
  {
    Tensor x = Tensor::from_blob(memory, {2, 2}, f32, owner);
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_EQ(x.data(), memory);
    x.copy_from(full({2, 2}, 9));
  }
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(memory[3], 9);
}

TEST(Tensor, OfNoMemoryIsRefusedUnlessItIsEmpty) {
  expect_contains(error_of([] {
                    Tensor::from_blob(nullptr, {2, 2}, DType::f32);
                  }),
                  "[from_blob] the memory is null, for a tensor of shape 2x2");
  EXPECT_EQ(Tensor::from_blob(nullptr, {0, 2}, DType::f32).count(), 0);
}

TEST(TensorViews, MoveNoData) {
  Tensor x = counted({2, 3, 4});
  EXPECT_EQ(x.permute({2, 0, 1}).strides(), (Strides{1, 12, 4}));
  EXPECT_EQ(x.transpose(0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(x.unsqueeze(0).squeeze(0).shape(), x.shape());
  EXPECT_EQ(x.reshape({6, -1}).shape(), (Shape{6, 4}));
  EXPECT_EQ(x.view({24}).data(), x.data());
  EXPECT_EQ(x.slice(2, 1, -1, 2).to_vector<float>(), (Floats{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(x.select(0, -1).select(0, 0).to_vector<float>(), (Floats{12, 13, 14, 15}));
  EXPECT_EQ(counted({2, 1}).expand({3, 2, 2}).to_vector<float>(),
            (Floats{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(counted({2, 1}).expand({-1, 3}).shape(), (Shape{2, 3}));
}

TEST(TensorViews, ReshapeCopiesWhereNoStridesDescribeIt) {
  Tensor x = counted({2, 3}).transpose(0, 1);
  Tensor flat = x.reshape({6});
  EXPECT_EQ(flat.to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_NE(flat.data(), x.data());
  EXPECT_TRUE(x.contiguous().is_contiguous());
  EXPECT_EQ(x.contiguous().to_vector<float>(), flat.to_vector<float>());
}

TEST(Tensor, CopiesIntoStridedAndOverlappingMemory) {
  Tensor x = counted({2, 2});
  x.transpose(0, 1).copy_from(x);  // as if the source were read first
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 2, 1, 3}));
  Tensor y = zeros({3, 4});
  y.slice(1, 1, 4, 2).copy_from(counted({3, 2}));
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5}));
}

TEST(Tensor, AnExpandedOneIsNotWrittenTo) {
  Tensor x = counted({2, 1});
  Tensor rows = Tensor::from(Integers{0}, {1});
  const char* why = "has stride 0 along axis 1: more than one of its elements refers to one place";
  expect_contains(error_of([&] { x.expand({2, 3}).copy_from(counted({2, 3})); }), why);
  expect_contains(error_of([&] { x.expand({2, 3}).index_copy_(0, rows, counted({1, 3})); }), why);
  auto write = compile([&](const Tensor& y) {
    x.expand({2, 3}).copy_from(y);
    return y;
  });
  expect_contains(error_of([&] { write(counted({2, 3})); }), why);
  auto write_argument = compile([](Tensor y) {
    y.copy_from(y + 1);
    return y;
  });
  expect_contains(error_of([&] { write_argument(x.expand({2, 3})); }), why);
  x.expand({2, 1}).copy_from(counted({2, 1}) + 1);  // which repeats nothing
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
  Tensor empty = zeros({0, 1}).expand({0, 3});  // nor does one without elements
  empty.copy_from(ones({0, 3}));
  EXPECT_EQ(write_argument(empty).shape(), (Shape{0, 3}));
}

TEST(TensorViews, SlicesEndWhereTheAxisDoes) {
  Tensor x = counted({5});
  EXPECT_EQ(x.slice(0, -100, 100).to_vector<float>(), (Floats{0, 1, 2, 3, 4}));
  EXPECT_EQ(x.slice(0, 3, INT64_MAX).to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(x.slice(0, 3, 1).shape(), (Shape{0}));
  EXPECT_EQ(x.slice(0, INT64_MIN, -3, 2).to_vector<float>(), (Floats{0}));
}

TEST(Tensor, RefusesWhatItCannotBe) {
  expect_contains(error_of([] { Tensor::empty({2, -3}); }), "[empty] size -3 in the shape 2x-3");
  expect_contains(error_of([] { Tensor::empty({1LL << 40, 1LL << 40}); }), "is too large");
  expect_contains(error_of([] {
                    Tensor::from(Floats{1, 2, 3}, {2, 2});
                  }),
                  "[from] 3 elements for the shape 2x2 (at tensor_test.cpp:");
  expect_contains(error_of([] { Tensor().shape(); }), "[shape] the tensor is undefined");
  expect_contains(error_of([] { counted({2}).item<float>(); }), "[item] the tensor has shape 2");
  expect_contains(error_of([] { Tensor::scalar(0.5f).item<int>(); }),
                  "[item] the element is 0.5, which i32 does not hold");
  expect_contains(error_of([] { counted({2}).to_vector<int>(); }), "[to_vector] the tensor is f32");
  expect_contains(error_of([] { counted({2}).size(1); }), "[size] axis 1 is outside");
  expect_contains(error_of([] { counted({2}).copy_from(counted({3})); }),
                  "[copy_from] this tensor is f32 2, the source is f32 3");
}

TEST(TensorViews, RefuseWhatLiesOutside) {
  Tensor x = counted({4, 6});
  expect_contains(error_of([&] { x.reshape({5, 5}); }), "[reshape] a tensor of shape 4x6 has 24");
  expect_contains(error_of([&] { x.reshape({-1, -1}); }), "two sizes of -1x-1 are -1");
  expect_contains(error_of([&] { x.reshape({-1, 7}); }), "needs a multiple of 7");
  expect_contains(error_of([&] { x.reshape({0, -1}); }), "needs a multiple of 0");
  expect_contains(error_of([&] { x.reshape({-2, 12}); }), "[reshape] size -2");
  expect_contains(error_of([&] { x.transpose(0, 1).view({24}); }), "use reshape");
  expect_contains(error_of([&] { x.permute({0, 2}); }), "[permute] axis 2 is outside");
  expect_contains(error_of([&] { x.transpose(0, 5); }), "[transpose] axis 5 is outside");
  expect_contains(error_of([&] { x.unsqueeze(4); }), "[unsqueeze] axis 4");
  expect_contains(error_of([&] { x.squeeze(0); }), "[squeeze] axis 0 of shape 4x6 has size 4");
  expect_contains(error_of([&] { x.slice(1, 0, 6, 0); }), "[slice] step is 0");
  expect_contains(error_of([&] { x.select(0, 4); }), "[select] index 4 is outside axis 0");
  expect_contains(error_of([&] { x.expand({5, 6}); }), "[expand] a tensor of shape 4x6 does not");
}

TEST(Tensor, PrintsItsElementsAndItsType) {
  EXPECT_EQ(to_string(counted({2, 2})), "tensor([[0., 1.],\n        [2., 3.]], f32 2x2)");
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
  EXPECT_EQ(to_string(Tensor::scalar<std::int64_t>(7)), "tensor(7, i64)");
  GroupedLocale german;
  EXPECT_EQ(to_string(full({1}, 1234.5F)), "tensor([1234.5000], f32 1)");
  std::ostringstream out;
  out << counted({1001}) << " " << (counted({2}) > 0);
  EXPECT_EQ(out.str(),
            "tensor([   0.,    1.,    2., ...,  998.,  999., 1000.], f32 1001) "
            "tensor([false,  true], bool 2)");
}

TEST(Tensor, PrintsTheTypeOfASymbol) {
  std::ostringstream out;
  auto fast = compile(
      [&](const Tensor& x) {
        out << x << " " << x + 1.0;
        return x * 2.0;
      },
      {.fullgraph = true});
  fast(counted({2, 3}));
  EXPECT_EQ(out.str(), "tensor(symbolic, f32 2x3) tensor(symbolic, f32 2x3)");
}

TEST(Tensor, VarianceIsThatOfSmallDeviationsFromALargeMean) {
  std::vector<float> elements;
  for (int i = 0; i < 3000; ++i)
    for (int k = 0; k < 4; ++k) elements.push_back(1e6F + static_cast<float>((i * 7 + k) % 5) - 2);
  Tensor rows = Tensor::from(elements, {3000, 4});
  double expected = 2.0 * 3000 / 2999;  // of -2 to 2, equally often
  for (float variance : var(rows.transpose(0, 1).contiguous(), {1}).to_vector<float>())
    EXPECT_NEAR(variance, expected, 1e-4);
  // On GPUs rows are added one after the other, so that the mean is off by some 40; a variance that
  // knew nothing of that would be off by its square.
  const bool on_gpu = default_device().is_emulated() || default_device().is_cuda();
  const double tolerance = on_gpu ? 0.1 : 1e-4;
  for (float variance : var(rows, {0}).to_vector<float>())
    EXPECT_NEAR(variance, expected, tolerance);
}

}  // namespace
}  // namespace tilewright::tensor_test
