#include "models/exported/aten/windows.h"

#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// One value stands for all axes.
Shape of_axes(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = call.integers(name, missing);
  if (values.rank() == 1 && rank > 1) values = Shape(static_cast<std::size_t>(rank), values[0]);
  if (values.rank() != rank) call.refuse(name, concat("has not ", rank, " values"));
  return values;
}

}  // namespace

Shape positive(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = of_axes(call, name, rank, missing);
  for (std::int64_t value : values)
    if (value < 1 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}
Shape not_negative(const Call& call, std::string_view name, int rank) {
  Shape values = of_axes(call, name, rank, Shape(static_cast<std::size_t>(rank), 0));
  for (std::int64_t value : values)
    if (value < 0 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}

}  // namespace tilewright::exported
