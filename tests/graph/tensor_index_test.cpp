// x[i], x.index({...}) and writes to such parts, at once and compiled. Values are PyTorch 2.15's,
// which gave them for the same indices of torch.arange(24.).reshape(2, 3, 4).
#include "graph/tensor/user/tensor_index.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::tensor_index_test {
namespace {

using namespace indexing;
using Floats = std::vector<float>;

Tensor numbers() { return arange(0, 24).to(f32).reshape({2, 3, 4}).clone(); }
Tensor places() { return Tensor::from<std::int64_t>({2, 0}); }
Tensor mask() { return Tensor::from({{true, false, true}, {false, true, false}}); }

Floats ramp_of(std::initializer_list<float> starts, int count) {
  Floats all;
  for (float start : starts)
    for (int i = 0; i < count; ++i) all.push_back(start + static_cast<float>(i));
  return all;
}

enum class Graph { whole, may_break };

// The part of numbers() that the function gives.
void expect_part(const std::function<Tensor(const Tensor&)>& part, const Shape& shape,
                 const Floats& wanted, Graph graph = Graph::whole) {
  Tensor at_once = part(numbers());
  EXPECT_EQ(at_once.shape(), shape);
  EXPECT_EQ(at_once.to_vector<float>(), wanted);
  auto fast = compile([&](const Tensor& x) { return part(x) * 1.0; },
                      {.fullgraph = graph == Graph::whole, .tell_breaks = false});
  for (int call = 0; call < 2; ++call) {
    Tensor compiled = fast(numbers());
    EXPECT_EQ(compiled.shape(), shape) << "compiled";
    EXPECT_EQ(compiled.to_vector<float>(), wanted) << "compiled";
  }
}

// numbers() after the function has written to it: as an argument, and as a value.
void expect_written(const std::function<void(Tensor)>& write, const Floats& wanted,
                    Graph graph = Graph::whole) {
  const Tensor at_once = numbers();
  write(at_once);
  EXPECT_EQ(at_once.to_vector<float>(), wanted);
  auto fast = compile(
      [&](const Tensor& x) {
        Tensor own = x * 1.0;
        write(own);
        write(x);
        return own * 1.0;
      },
      {.fullgraph = graph == Graph::whole, .tell_breaks = false});
  for (int call = 0; call < 2; ++call) {
    const Tensor argument = numbers();
    EXPECT_EQ(fast(argument).to_vector<float>(), wanted) << "a value";
    EXPECT_EQ(argument.to_vector<float>(), wanted) << "the argument";
  }
}

Floats with(const std::vector<std::pair<int, float>>& changes) {
  Floats all(24);
  std::iota(all.begin(), all.end(), 0.F);
  for (auto [place, value] : changes) all[static_cast<std::size_t>(place)] = value;
  return all;
}

TEST(TensorIndex, NumbersSlicesAndNewAxesGiveViews) {
  expect_part([](const Tensor& x) { return x[1]; }, {3, 4}, ramp_of({12}, 12));
  expect_part([](const Tensor& x) { return x[-1][0]; }, {4}, ramp_of({12}, 4));
  expect_part([](const Tensor& x) { return x.index({Slice(), 1}); }, {2, 4}, ramp_of({4, 16}, 4));
  expect_part(
      [](const Tensor& x) {
        return x.index({Ellipsis, Slice(1, 4, 2)});
      },
      {2, 3, 2}, {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
  expect_part([](const Tensor& x) { return x.index({None, 0, Slice(), -1}); }, {1, 3}, {3, 7, 11});
  expect_part([](const Tensor& x) { return x[Slice(None, -1)]; }, {1, 3, 4}, ramp_of({0}, 12));
  expect_part([](const Tensor& x) { return Tensor(x[{Slice(), 1}]); }, {2, 4}, ramp_of({4, 16}, 4));
  Tensor x = numbers();
  EXPECT_EQ(x[1].const_data(), x.slice(0, 1, 2).const_data());
  EXPECT_EQ(x.index({}).const_data(), x.const_data());
}

TEST(TensorIndex, TensorsTakePlaces) {
  const Tensor i = places(), odd = Tensor::from<std::int64_t>({0, 0}),
               column = Tensor::from<std::int64_t>({{0}, {1}});
  expect_part(
      [=](const Tensor& x) {
        return x.index({Slice(), i});
      },
      {2, 2, 4}, ramp_of({8, 0, 20, 12}, 4));
  expect_part([=](const Tensor& x) { return x.index({0, i, 1}); }, {2}, {9, 1});
  expect_part(
      [=](const Tensor& x) {
        return x.index({odd, Slice(), i});
      },
      {2, 3}, {2, 6, 10, 0, 4, 8});
  expect_part(
      [=](const Tensor& x) {
        return x.index({column, i});
      },
      {2, 2, 4}, ramp_of({8, 0, 20, 12}, 4));
  expect_part(
      [=](const Tensor& x) {
        return x.index({Slice(), i, Slice(), None});
      },
      {2, 2, 4, 1}, ramp_of({8, 0, 20, 12}, 4));
  expect_part(
      [=](const Tensor& x) {
        return x.index({odd, None, i});
      },
      {2, 1, 4}, ramp_of({8, 0}, 4));
  const Tensor one = Tensor::scalar<std::int64_t>(1);
  expect_part(
      [=](const Tensor& x) {
        return x.index({Ellipsis, one});
      },
      {2, 3}, {1, 5, 9, 13, 17, 21});
}

TEST(TensorIndex, MasksTakeWhereTheyAreTrue) {
  const Tensor both = mask(), row = Tensor::from({true, false, true});
  expect_part([=](const Tensor& x) { return Tensor(x[both]); }, {3, 4}, ramp_of({0, 8, 16}, 4),
              Graph::may_break);
  expect_part(
      [=](const Tensor& x) {
        return x.index({both, Slice(1, 3)});
      },
      {3, 2}, {1, 2, 9, 10, 17, 18}, Graph::may_break);
  expect_part(
      [=](const Tensor& x) {
        return x.index({Slice(), row, 1});
      },
      {2, 2}, {1, 9, 13, 21}, Graph::may_break);
  expect_part([](const Tensor& x) { return Tensor(x[{true, 0}]); }, {1, 3, 4}, ramp_of({0}, 12));
  expect_part([](const Tensor& x) { return Tensor(x[{false}]); }, {0, 2, 3, 4}, {});
  expect_part([](const Tensor& x) { return x[x > 20].sum(); }, {}, {66}, Graph::may_break);
}

TEST(TensorIndex, AssignmentsWriteViews) {
  Floats first(24);
  std::iota(first.begin(), first.end(), 0.F);
  std::fill(first.begin(), first.begin() + 12, -1.F);
  expect_written([](const Tensor& y) { y[0] = -1; }, first);
  expect_written([](const Tensor& y) { y[0] = full({1, 1, 3, 4}, -1.0); }, first);
  expect_written(
      [](const Tensor& y) {
        y[{Slice(), 1}] = y[{Slice(), 2}];
      },
      with({{4, 8}, {5, 9}, {6, 10}, {7, 11}, {16, 20}, {17, 21}, {18, 22}, {19, 23}}));
  Floats even = with({});
  for (std::size_t i = 0; i < even.size(); i += 2) even[i] += 100;
  expect_written([](const Tensor& y) { y[{Ellipsis, Slice(None, None, 2)}] += 100; }, even);
  expect_written([](const Tensor& y) { y.index({Ellipsis, Slice(None, None, 2)}) += 100; }, even);
  expect_written(
      [](const Tensor& y) {
        y[0].t()[1] = Tensor::from({7.F, 8.F, 9.F});
      },
      with({{1, 7}, {5, 8}, {9, 9}}));
  expect_written([](const Tensor& y) { y[1][2][3].zero_(); }, with({{23, 0}}));
}

TEST(TensorIndex, AssignmentsWriteWhereTensorsName) {
  const Tensor i = places(), both = mask(), values = arange(0, 8).to(f32).reshape({2, 1, 4});
  std::vector<std::pair<int, float>> changes;
  for (int batch = 0; batch < 2; ++batch)
    for (int row : {0, 2})
      for (int k = 0; k < 4; ++k)
        changes.push_back({batch * 12 + row * 4 + k, static_cast<float>(batch * 4 + k)});
  expect_written([=](const Tensor& y) { y[{Slice(), i}] = values; }, with(changes));
  std::vector<std::pair<int, float>> zeros;
  for (int place = 11; place < 24; ++place) zeros.push_back({place, 0.F});
  // Nothing is read for one value: the graph is whole.
  expect_written([](const Tensor& y) { y[y > 10] = 0; }, with(zeros));
  expect_written(
      [=](const Tensor& y) {
        y[{0, both[0]}] *= 2;
      },
      with({{1, 2}, {2, 4}, {3, 6}, {8, 16}, {9, 18}, {10, 20}, {11, 22}}));
  expect_written(
      [=](const Tensor& y) {
        y[{both, 0}] = Tensor::from({50.F, 60.F, 70.F});
      },
      with({{0, 50}, {8, 60}, {16, 70}}), Graph::may_break);
  expect_written(
      [=](const Tensor& y) {
        y[{both, 0}] += Tensor::from({50.F, 60.F, 70.F});
      },
      with({{0, 50}, {8, 68}, {16, 86}}), Graph::may_break);
}

TEST(TensorIndex, ValuesAreAddedOneByOne) {
  const Tensor a = Tensor::from<std::int64_t>({0, 0, 1}), b = Tensor::from<std::int64_t>({1, 1, 2});
  expect_written(
      [=](Tensor y) {
        y.index_put_({a, b}, 10, true);
      },
      with({{4, 24}, {5, 25}, {6, 26}, {7, 27}, {20, 30}, {21, 31}, {22, 32}, {23, 33}}));
  expect_written(
      [](Tensor y) {
        y.index_put_({0, 0}, 1, true);
      },
      with({{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(TensorIndex, ViewsSeeWhatIsWritten) {
  auto function = [](const Tensor& x) {
    Tensor y = x * 1.0, row = y[1], flat = y.flatten();
    y[{1, 0}] = 5;
    flat[-1] = 6;
    row[{Slice(), 1}] += 1;
    return row + flat[0];
  };
  const Floats wanted = {5, 6, 5, 5, 16, 18, 18, 19, 20, 22, 22, 6};
  EXPECT_EQ(function(numbers()).to_vector<float>(), wanted);
  EXPECT_EQ(compile(function, {.fullgraph = true})(numbers()).to_vector<float>(), wanted);
}

TEST(TensorIndex, NamesOfHandlesAreNotWritten) {
  Tensor x = numbers(), row = x[0];
  row = row * 2;  // another tensor
  EXPECT_EQ(x.to_vector<float>(), with({}));
  Tensor read = x[{0, 1}];
  read = read + 1;
  EXPECT_EQ(x.to_vector<float>(), with({}));
}

TEST(TensorIndex, OtherDtypesAreConverted) {
  Tensor x = Tensor::from<std::int32_t>({1, 2, 3, 4});
  x[0] = 7.9;
  x[Slice(2)] = Tensor::from({-1.5F, 2.5F});
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{7, 2, -1, 2}));
}

TEST(TensorIndex, PartsThatAreIndexedAgain) {
  const Tensor x = numbers(), rows = Tensor::from<std::int64_t>({1, 0});
  EXPECT_EQ(x[rows].index({Slice(), 2}).to_vector<float>(),
            x.index({rows}).index({Slice(), 2}).to_vector<float>());
}

TEST(TensorIndex, MisuseIsRefused) {
  Tensor x = numbers();
  expect_contains(error_of([&] { x[2]; }), "[index] place 2 is outside axis 0 of shape 2x3x4");
  expect_contains(error_of([&] { x[2]; }), "tensor_index_test.cpp");
  expect_contains(error_of([&] { x.index({0, 0, 0, 0}); }), "[index] 4 axes are indexed");
  expect_contains(error_of([&] { x.index({Ellipsis, 0, Ellipsis}); }), "there are two Ellipsis");
  expect_contains(error_of([&] { x[Slice(None, None, -1)]; }), "the step of a slice is -1");
  expect_contains(error_of([&] {
                    x[Tensor::from({true, false, true})].sum();
                  }),
                  "[index] a mask is 3 at axis 0 of 2x3x4");
  expect_contains(error_of([&] { x[0] = ones({5}); }),
                  "[=] a tensor of shape 5 does not broadcast");
  expect_contains(error_of([&] { x + 1 = 2; }), "[=] a value is assigned to a temporary");
  expect_contains(error_of([&] { x[Tensor()].sum(); }), "[index] the operand is no defined tensor");
  Tensor bytes = Tensor::from<std::uint8_t>({1, 2});
  expect_contains(error_of([&] { bytes[0] = 300; }), "[=] 300 does not fit u8");
}

}  // namespace
}  // namespace tilewright::tensor_index_test
