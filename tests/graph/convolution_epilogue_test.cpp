// Elementwise operations after a convolution are computed by its programs, whichever they are.
#include <gmock/gmock.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/reducing/norms.h"
#include "runtime/base/error.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::convolution_epilogue_test {
namespace {

using testing_loops::Dice;
using testing_loops::Tensors;

// Sizes for each of the ways in which a convolution becomes programs.
struct Case {
  const char* name;
  Shape x, weight;
  ConvolutionOptions options;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"products", {2, 5, 9, 23}, {7, 5, 3, 3}, {.padding = {1, 1}}},
      {"strided products", {1, 4, 17, 16}, {40, 4, 3, 2}, {.stride = {2, 2}, .padding = {1, 0}}},
      {"a product where x lies", {2, 6, 5, 7}, {33, 6, 1, 1}, {}},
      {"groups", {1, 6, 8, 8}, {4, 3, 3, 3}, {.groups = 2}},
      {"few windows", {2, 8, 3, 3}, {48, 8, 3, 3}, {.padding = {1, 1}}},
      {"channels",
       {2, 4, 11, 13},
       {8, 1, 3, 3},
       {.stride = {1, 2}, .padding = {1, 1}, .groups = 4}},
      {"a line", {2, 3, 50}, {5, 3, 4}, {.stride = {3}}},
      {"a line of channels", {2, 3, 50}, {3, 1, 4}, {.groups = 3}},
      {"a volume", {1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, {}},
      {"a volume of groups", {2, 4, 5, 6, 7}, {6, 2, 1, 3, 2}, {.stride = {2}, .groups = 2}},
      {"a volume of few windows", {1, 3, 3, 4, 5}, {50, 3, 3, 3, 3}, {.padding = {1}}},
      {"a product of a volume where it lies", {2, 6, 3, 4, 5}, {9, 6, 1, 1, 1}, {}},
      {"a volume of channels", {2, 3, 5, 6, 7}, {6, 1, 3, 3, 2}, {.padding = {1}, .groups = 3}},
  };
  return all;
}

Tensor convolved(const Case& c, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  switch (c.x.rank()) {
    case 3: return conv1d(x, weight, bias, c.options);
    case 4: return conv2d(x, weight, bias, c.options);
    default: return conv3d(x, weight, bias, c.options);
  }
}

// Whole numbers, so that sums are exact in any order.
Tensor numbers(Dice& dice, const Shape& shape) { return dice.integers(shape, -4, 5).to(f32); }

// A step behind the convolution: something of `value` and of what memory holds, repeated or
// strided.
class Steps {
 public:
  Steps(std::uint32_t seed, const Shape& shape) : dice_(seed), shape_(shape) {
    for (int i = 0; i < 5; ++i) kinds_.push_back(dice_.below(8));
    operands_ = {numbers(dice_, shape), numbers(dice_, along({1})),
                 numbers(dice_, along({shape.rank() - 1})), numbers(dice_, turned())};
  }

  const Tensors& operands() const { return operands_; }
  // All that is wanted outside, the last value first.
  Tensors apply(const Tensor& convolved, const Tensor* operand) const {
    Tensor value = convolved;
    Tensors wanted;
    for (std::int64_t kind : kinds_) {
      const Tensor before = value;
      switch (kind) {
        case 0: value = value + operand[0]; break;
        case 1: value = value * operand[1] - operand[1]; break;
        case 2: value = relu(value); break;
        case 3: value = maximum(value, operand[2]); break;
        case 4: value = value + operand[3].transpose(shape_.rank() - 1, shape_.rank() - 2); break;
        case 5: value = where(value > 3, value * 2, value); break;
        case 6: value = value * 3 - convolved; break;
        default: wanted.push_back(value = -value); break;
      }
    }
    wanted.insert(wanted.begin(), value);
    return wanted;
  }

 private:
  // The shape with size 1 except along these axes.
  Shape along(const std::vector<int>& axes) const {
    Shape result = shape_;
    for (int axis = 0; axis < result.rank(); ++axis)
      if (std::ranges::find(axes, axis) == axes.end()) result[axis] = 1;
    return result;
  }
  Shape turned() const {
    Shape result = shape_;
    std::swap(result[result.rank() - 1], result[result.rank() - 2]);
    return result;
  }

  Dice dice_;
  Shape shape_;
  std::vector<std::int64_t> kinds_;
  Tensors operands_;
};

void expect_as_at_once(const Case& c, std::uint32_t seed, const Device& device) {
  SCOPED_TRACE(concat(c.name, ", seed ", seed));
  Dice dice(seed);
  Tensors arguments = {numbers(dice, c.x), numbers(dice, c.weight), numbers(dice, {c.weight[0]})};
  const Steps steps(seed, convolved(c, arguments[0], arguments[1], arguments[2]).shape());
  arguments.insert(arguments.end(), steps.operands().begin(), steps.operands().end());
  auto function = [&](const Tensors& t) {
    return steps.apply(convolved(c, t[0], t[1], t[2]), t.data() + 3);
  };
  const Tensors wanted = function(arguments);
  for (bool freezing : {false, true}) {
    if (freezing && device.is_emulated()) continue;
    CompiledFunction compiled(function,
                              {.fullgraph = true, .device = device, .freezing = freezing});
    const Tensors got = compiled.call(arguments);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i].to_vector<float>(), wanted[i].to_vector<float>()) << "result " << i;
    // A GPU multiplies volumes as matrices, which have rules of their own.
    if (c.x.rank() == 5 && device.is_emulated()) continue;
    const PlanReport report = compiled.report().at(0);
    for (const RegionReport& region : report.regions)
      EXPECT_THAT(region.kind, ::testing::AnyOf("convolution", "depthwise")) << compiled.explain();
  }
}

TEST(ConvolutionEpilogue, IsComputedByItsPrograms) {
  for (const Case& c : cases())
    for (std::uint32_t seed = 1; seed <= 12; ++seed) expect_as_at_once(c, seed, Device::cpu());
}

TEST(ConvolutionEpilogue, IsComputedByItsProgramsOnGpus) {
  for (const char* device : {"emulated:sm_80", "emulated:sm_90a"})
    for (std::size_t i = 0; i < cases().size(); ++i)
      expect_as_at_once(cases()[i], static_cast<std::uint32_t>(i + 3), Device::parse(device));
}

// A norm of known statistics and a residual, as networks have them; and what is no epilogue stays
// apart: another shape, a sum, a second convolution.
TEST(ConvolutionEpilogue, EndsWhereElementsMeetOthers) {
  Dice dice(1);
  const Tensor x = dice.floats({1, 8, 10, 10}), weight = dice.floats({8, 8, 3, 3}),
               mean = dice.floats({8}), variance = abs(dice.floats({8})) + 1.0;
  auto block = [&](const Tensor& t) {
    Tensor y = batch_norm_inference(conv2d(t, weight, {}, {.padding = {1, 1}}), mean, variance, {},
                                    {}, 1e-5);
    return relu(y + t);
  };
  auto function = [&](const Tensor& t) -> Tensor { return sum(block(block(t)), {2, 3}); };
  auto compiled = compile(function, {.fullgraph = true});
  const std::vector<float> got = compiled(x).to_vector<float>(),
                           wanted = function(x).to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i])));
  const PlanReport report = compiled.report().at(0);
  std::int64_t with_epilogue = 0;
  for (const RegionReport& region : report.regions)
    if (region.kernel == "convolution" && region.ops.size() > 4) with_epilogue += region.instances;
  EXPECT_EQ(with_epilogue, 2) << compiled.explain();
}

// The value of a convolution that others want too is stored beside what becomes of it; an operand
// that a later step overwrites is read before.
TEST(ConvolutionEpilogue, LeavesWhatOthersRead) {
  Dice dice(2);
  const Tensor x = numbers(dice, {1, 3, 6, 6}), weight = numbers(dice, {3, 3, 3, 3});
  auto function = [&](const Tensors& t) {
    const Tensor y = conv2d(t[0], t[1], {}, {.padding = {1, 1}});
    return Tensors{relu(y) + t[0], sum(y, {1}), y};
  };
  CompiledFunction compiled(function, {.fullgraph = true});
  const Tensors got = compiled.call({x, weight}), wanted = function({x, weight});
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i].to_vector<float>(), wanted[i].to_vector<float>());

  auto in_place = [](const Tensors& t) {
    Tensor into = t[0];
    into.copy_from(relu(conv2d(t[0], t[1], {}, {.padding = {1, 1}})));
    return Tensors{into + 1.0};
  };
  Tensor a = x.clone(), b = x.clone();
  CompiledFunction writing(in_place, {.fullgraph = true});
  const Tensors at_once = in_place({a, weight}), later = writing.call({b, weight});
  EXPECT_EQ(later[0].to_vector<float>(), at_once[0].to_vector<float>());
  EXPECT_EQ(b.to_vector<float>(), a.to_vector<float>());
}

}  // namespace
}  // namespace tilewright::convolution_epilogue_test
