// Functions of elements are within their units in the last place, of a million arguments each.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "graph/tensor/capture.h"
#include "tests/every_device.h"

namespace tilewright::last_place_test {
namespace {

using Floats = std::vector<float>;

// The greatest distance to the true value in units in its last place, over a million numbers: of
// all binades, and in equal steps where the functions bend.
double worst_of_a_million(const std::function<Tensor(const Tensor&)>& function,
                          const std::function<double(double)>& truth, float& at) {
  const std::uint32_t count = default_device().is_emulated() ? 1 << 13 : 1 << 20;
  Floats x;
  for (std::uint32_t i = 0; i < count / 2; ++i) {
    x.push_back(std::bit_cast<float>(i * ((1U << 31) / (count / 4)) + 977));
    x.push_back((static_cast<float>(i) + 0.37F) / static_cast<float>(count / 2) * 24 - 12);
  }
  Tensor operand = Tensor::from(x, {count});
  Floats y = compile(function)(operand).to_vector<float>();
  // A GPU's power of two is 0 below.
  const double least = Options().device.target().is_gpu() ? 0x1p-126 : 0;
  double worst = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double wanted = truth(x[i]);
    if (std::abs(wanted) < least) continue;
    const auto nearest = static_cast<float>(wanted);
    if (y[i] == nearest || (std::isnan(y[i]) && std::isnan(nearest))) continue;
    const int exponent = nearest == 0 ? -149 : std::max(std::ilogb(wanted) - 23, -149);
    double off = std::abs(y[i] - wanted) / std::ldexp(1.0, exponent);
    if (!(off <= worst)) worst = off, at = x[i];
  }
  return worst;
}

TEST(Functions, AreWithinTheirUnitsInTheLastPlace) {
  struct Bound {
    const char* name;
    Tensor (*function)(const Tensor& x);
    double (*truth)(double x);
    double units;
  };
  const Bound bounds[] = {
      {"expm1", [](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); },
       1.6},
      {"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); },
       1.6},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); },
       [](double x) { return 1 / (1 + std::exp(-x)); }, 1.6},
      {"softplus", [](const Tensor& x) { return softplus(x); },
       [](double x) { return x > 20 ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); },
       2.7}};
  // A GPU's power of two has a relative error of 2^-22.5 itself (PTX ISA, ex2), 2.8 units.
  const double more = Options().device.target().is_gpu() ? 2.4 : 0;
  for (const Bound& bound : bounds) {
    float at = 0;
    double worst = worst_of_a_million(bound.function, bound.truth, at);
    RecordProperty(bound.name, std::to_string(worst));
    EXPECT_LE(worst, bound.units + more) << bound.name << " at " << at;
    EXPECT_GT(worst, 0.5) << bound.name;
  }
}

}  // namespace
}  // namespace tilewright::last_place_test
