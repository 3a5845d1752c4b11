#include <cmath>
#include <cstring>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/property/error_program.h"
#include "tests/property/random_tile.h"

namespace tilewright {

HostArray::HostArray(DType dtype, std::int64_t count)
    : dtype_(dtype), count_(count), memory_(static_cast<std::size_t>(size_bytes())) {}

ir::Scalar HostArray::get(std::int64_t i) const {
  return dispatch(dtype_, [&](auto element) {
    using T = decltype(element);
    std::memcpy(&element, static_cast<const T*>(data()) + i, sizeof(T));
    if constexpr (std::is_integral_v<T>)
      return ir::Scalar::of_integer(dtype_, static_cast<std::int64_t>(element));
    else if constexpr (std::is_same_v<T, double>)
      return ir::Scalar::of(dtype_, element);
    else
      return ir::Scalar::of(dtype_, static_cast<float>(element));
  });
}

void HostArray::set(std::int64_t i, const ir::Scalar& value) {
  dispatch(dtype_, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>)
      element = static_cast<T>(value.integer);
    else if constexpr (std::is_same_v<T, double>)
      element = value.floating;
    else
      element = T(static_cast<float>(value.floating));
    std::memcpy(static_cast<T*>(data()) + i, &element, sizeof(T));
  });
}

namespace {

std::vector<HostArray> run_on(std::vector<HostArray> arrays, const ir::Function& function,
                              const Grid& grid, const RunProgram& run) {
  std::vector<Argument> arguments(arrays.size());
  std::vector<ir::Memory> memories(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (function.type(function.params[i].value).is_pointer()) {
      arguments[i].pointer = arrays[i].data();
      memories[i] = {arrays[i].data(), arrays[i].size_bytes()};
    } else {
      arguments[i].integer = 0;
      std::memcpy(&arguments[i], arrays[i].data(),
                  static_cast<std::size_t>(arrays[i].size_bytes()));
    }
  }
  run(function, grid, arguments, memories);
  return arrays;
}

// How far apart two elements are, in units of the tolerance; above 1 is wrong.
double distance(const ir::Scalar& expected, const ir::Scalar& actual, double tolerance) {
  if (!is_floating(expected.dtype)) return expected.integer == actual.integer ? 0 : HUGE_VAL;
  double x = expected.floating, y = actual.floating;
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  if (tolerance == 0) return HUGE_VAL;
  // No bound is known: where an error could turn a finite number into none.
  if (!std::isfinite(tolerance)) return 0;
  return std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) / tolerance : HUGE_VAL;
}

}  // namespace

std::vector<HostArray> arguments_after(const RandomProgram& program, const ir::Function& function,
                                       const RunProgram& run) {
  return run_on(program.arguments, function, program.grid, run);
}

ExpectedArguments expected_arguments(const RandomProgram& program) {
  ErrorProgram errors = error_program(program.function, program.written);
  std::vector<HostArray> arrays = program.arguments;
  for (std::size_t i = 0; i < program.arguments.size(); ++i)
    if (errors.companions[i] >= 0) arrays.emplace_back(DType::f64, arrays[i].count());
  arrays = run_on(std::move(arrays), errors.function, program.grid, interpreted);
  ExpectedArguments expected;
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    expected.tolerance.emplace_back();
    if (errors.companions[i] < 0) continue;
    const HostArray& bounds = arrays[static_cast<std::size_t>(errors.companions[i])];
    for (std::int64_t at = 0; at < bounds.count(); ++at)
      expected.tolerance.back().push_back(bounds.get(at).floating);
  }
  arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(program.arguments.size()),
               arrays.end());
  expected.values = std::move(arrays);
  return expected;
}

std::string difference(const RandomProgram& program, const ExpectedArguments& expected,
                       const std::vector<HostArray>& actual, double* worst_ratio) {
  double worst = 0;
  std::string what;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (!actual[i].is_whole())
      return concat("memory outside of parameter ", program.function.params[i].name,
                    " was written in\n", ir::print(program.function));
    for (std::int64_t at = 0; at < expected.values[i].count(); ++at) {
      const auto& tolerances = expected.tolerance[i];
      double tolerance = tolerances.empty() ? 0 : tolerances[static_cast<std::size_t>(at)];
      ir::Scalar wanted = expected.values[i].get(at), got = actual[i].get(at);
      double ratio = distance(wanted, got, tolerance);
      if (ratio <= worst) continue;
      worst = ratio;
      what = concat("parameter ", program.function.params[i].name, " at ", at, " is ",
                    is_floating(got.dtype) ? got.floating : static_cast<double>(got.integer),
                    ", expected ", wanted.as_double(), " +- ", tolerance, " in\n",
                    ir::print(program.function));
    }
  }
  if (worst_ratio != nullptr) *worst_ratio = std::max(*worst_ratio, worst);
  return worst <= 1 ? "" : what;
}

}  // namespace tilewright
