// Values and derivatives at special points, higher derivatives of functions of a number, and
// derivatives in a direction equal PyTorch 2.15's, at once and compiled. tools/special_points.py
// computed special_points.json, in f64. A point with `ours` differs from PyTorch on purpose: `ours`
// has the library's values and the reason, and docs/what_it_does.md lists it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "tests/graph/derivatives/special_functions.h"
#include "tests/source_folder.h"

namespace tilewright::special_points_test {
namespace {

using testing_points::point_functions;
using testing_points::PointFunction;
using testing_points::Tensors;
using Json = nlohmann::json;
using Doubles = std::vector<double>;
using Function = std::function<Tensors(const Tensors&)>;

const Json& reference() {
  static const Json all =
      Json::parse(std::ifstream(source_folder() / "tests/graph/derivatives/special_points.json"));
  return all;
}

// Infinities and NaN are strings.
Doubles doubles(const Json& numbers) {
  Doubles all;
  for (const Json& number : numbers) {
    if (number.is_number())
      all.push_back(number.get<double>());
    else
      all.push_back(number == "nan" ? std::nan("") : number == "inf" ? HUGE_VAL : -HUGE_VAL);
  }
  return all;
}
Tensors tensors(const Json& elements, const Json& shapes) {
  Tensors all;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Shape shape;
    for (const Json& size : shapes[i]) shape.push_back(size.get<std::int64_t>());
    all.push_back(Tensor::from(doubles(elements[i]), shape));
  }
  return all;
}

std::string text_of(const Doubles& numbers) {
  std::string text;
  for (double number : numbers) {
    std::ostringstream digits;
    digits.precision(17);
    digits << number;
    text += (text.empty() ? "" : ", ") + digits.str();
  }
  return text;
}
// The sign of a zero does not count.
bool are_near(const Doubles& got, const Doubles& wanted, double tolerance) {
  if (got.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool is_same = got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]));
    if (!is_same && !(std::abs(got[i] - wanted[i]) <= tolerance * std::abs(wanted[i]) + 1e-14))
      return false;
  }
  return true;
}
void expect_near(const char* what, const Tensor& got, const Json& wanted, double tolerance) {
  const Doubles numbers = got.to(f64).to_vector<double>();
  EXPECT_TRUE(are_near(numbers, doubles(wanted), tolerance))
      << what << " is " << text_of(numbers) << ", not " << text_of(doubles(wanted));
}

// At once, or as one compiled graph.
enum class Way : std::uint8_t { at_once, compiled };
class Evaluated {
 public:
  Evaluated(const Function& function, Way way) : function_(function) {
    if (way == Way::compiled) compiled_.emplace(function, Options{.fullgraph = true});
  }
  Tensors operator()(const Tensors& arguments) const {
    return compiled_ ? compiled_->call(arguments) : function_(arguments);
  }

 private:
  Function function_;
  mutable std::optional<CompiledFunction> compiled_;
};

Tensor applied(PointFunction f, const Tensors& x) {
  return f(x[0], x.size() > 1 ? x[1] : Tensor(), x.size() > 2 ? x[2] : Tensor());
}

// {value, the gradient of its sum by each argument ..}.
Function value_and_gradients(PointFunction f) {
  return [f](const Tensors& arguments) {
    auto [results, gradients] = value_and_grad([f](const Tensors& x) {
      const Tensor y = applied(f, x);
      return std::pair{sum(y), y};
    })(arguments);
    Tensors all = {results.second};
    all.insert(all.end(), gradients.begin(), gradients.end());
    return all;
  };
}

// Code of GPUs solves equations by loops. Those of a singular matrix have no solution, and which
// of its infinite elements become NaN depends on the order of operations.
bool solves_by_loops(Way way) { return way == Way::compiled && default_device() != Device::cpu(); }
void expect_infinite(const Tensor& got) {
  for (double number : got.to(f64).to_vector<double>()) EXPECT_FALSE(std::isfinite(number));
}

void expect_points(Way way) {
  for (const Json& point : reference().at("points")) {
    const std::string text = point.at("expression");
    SCOPED_TRACE(text);
    const PointFunction f = point_functions().at(text);
    const Json& ours = point.contains("ours") ? point.at("ours") : point;
    Tensors got;
    try {
      const Evaluated both(value_and_gradients(f), way);
      got = both(tensors(point.at("inputs"), point.at("shapes")));
    } catch (const Error& error) {
      EXPECT_TRUE(ours.contains("error") &&
                  std::string(error.what()).find(ours.at("error")) != std::string::npos)
          << error.what();
      continue;
    }
    ASSERT_FALSE(ours.contains("error"));
    expect_near("the value", got[0], ours.value("output", point.at("output")), 1e-12);
    const Json& gradients = ours.value("gradients", point.at("gradients"));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].is_null()) continue;
      if (solves_by_loops(way) && text == "linalg.slogdet(a)[1]")
        expect_infinite(got[1 + i]);
      else
        expect_near("a gradient", got[1 + i], gradients[i], 1e-12);
    }
  }
}

TEST(SpecialPoints, DerivativesArePyTorchsAtOnce) { expect_points(Way::at_once); }
TEST(SlowSpecialPoints, DerivativesArePyTorchsCompiled) { expect_points(Way::compiled); }

// The gradients of the sum of all gradients.
Function second_gradients(PointFunction f) {
  auto first = grad([f](const Tensors& x) { return sum(applied(f, x)); });
  return grad([first](const Tensors& x) {
    Tensor total;
    for (const Tensor& gradient : first(x))
      total = total.defined() ? total + sum(gradient) : sum(gradient);
    return total;
  });
}

void expect_seconds(Way way) {
  for (const Json& point : reference().at("seconds")) {
    const std::string text = point.at("expression");
    SCOPED_TRACE(text);
    const Evaluated gradients(second_gradients(point_functions().at(text)), way);
    const Tensors got = gradients(tensors(point.at("inputs"), point.at("shapes")));
    const Json& wanted = (point.contains("ours") ? point.at("ours") : point).at("gradients");
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_near("a second derivative", got[i], wanted[i], 1e-10);
  }
}

TEST(SpecialPoints, SecondDerivativesArePyTorchsAtOnce) { expect_seconds(Way::at_once); }
TEST(SlowSpecialPoints, SecondDerivativesArePyTorchsCompiled) { expect_seconds(Way::compiled); }

// The function and its first three derivatives at a point.
Function derivatives_of(PointFunction f) {
  return [f](const Tensors& x) {
    using Scalar = std::function<Tensor(const Tensor&)>;
    const Scalar value = [f](const Tensor& at) { return f(at, {}, {}).reshape({}); };
    const Scalar first = grad(value), second = grad(first), third = grad(second);
    return Tensors{value(x[0]), first(x[0]), second(x[0]), third(x[0])};
  };
}

void expect_higher_derivatives(Way way) {
  for (const Json& scalar : reference().at("scalars")) {
    const std::string text = scalar.at("expression");
    const Evaluated derivatives(derivatives_of(point_functions().at(text)), way);
    const Doubles points = doubles(scalar.at("points"));
    // For PyTorch's errors: a tolerance, or single derivatives as {point, order, value}.
    const Json ours = scalar.value("ours", Json::object());
    const double least = ours.value("tolerance", 0.0);
    Json wanted = scalar.at("derivatives");
    for (const Json& one : ours.value("derivatives", Json::array()))
      wanted[one[0].get<std::size_t>()][one[1].get<std::size_t>()] = one[2];
    for (std::size_t i = 0; i < points.size(); ++i) {
      SCOPED_TRACE(concat(text, " at ", points[i]));
      const Tensors got = derivatives({Tensor::from(Doubles{points[i]}, {})});
      for (std::size_t order = 0; order < got.size(); ++order)
        expect_near("a derivative", got[order], Json::array({wanted[i][order]}),
                    std::max(least, order < 2 ? 1e-12 : 1e-10));
    }
  }
}

TEST(SpecialPoints, HigherDerivativesArePyTorchsAtOnce) { expect_higher_derivatives(Way::at_once); }
TEST(SlowSpecialPoints, HigherDerivativesArePyTorchsCompiled) {
  expect_higher_derivatives(Way::compiled);
}

void expect_directions(Way way) {
  for (const Json& direction : reference().at("directions")) {
    const std::string text = direction.at("expression");
    SCOPED_TRACE(text);
    const PointFunction f = point_functions().at(text);
    const Tensors x = tensors(direction.at("inputs"), direction.at("shapes"));
    Tensors both = x;
    for (const Tensor& t : tensors(direction.at("tangents"), direction.at("shapes")))
      both.push_back(t);
    auto forward = [f, count = x.size()](const Tensors& all) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
      auto [value, tangent] = jvp([f](const Tensors& each) { return applied(f, each); },
                                  Tensors(all.begin(), middle), Tensors(middle, all.end()));
      return Tensors{value, tangent};
    };
    const Tensors got = Evaluated(forward, way)(both);
    expect_near("the value", got[0], direction.at("output"), 1e-12);
    expect_near("the tangent", got[1], direction.at("output_tangent"), 1e-12);
  }
}

TEST(SpecialPoints, DirectionalDerivativesArePyTorchsAtOnce) { expect_directions(Way::at_once); }
TEST(SlowSpecialPoints, DirectionalDerivativesArePyTorchsCompiled) {
  expect_directions(Way::compiled);
}

}  // namespace
}  // namespace tilewright::special_points_test
