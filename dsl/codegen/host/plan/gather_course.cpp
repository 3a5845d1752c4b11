#include "dsl/codegen/host/plan/gather_course.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr std::int64_t far = std::int64_t{1} << 30;  // beyond it, sums might wrap
constexpr std::int64_t most_lanes = 16;

std::optional<std::int64_t> constant_in(const Definitions& defs, Value value) {
  const Inst* inst = defs.inst(value);
  while (inst != nullptr && (inst->op == Op::splat_ || inst->op == Op::broadcast_))
    inst = defs.inst(inst->operands[0]);
  if (inst == nullptr || inst->op != Op::constant_) return std::nullopt;
  return inst->get<ir::Scalar>().integer;
}

std::optional<Course> moving_course(const Definitions& defs, Value index, int axis) {
  const Inst* inst = defs.inst(index);
  if (inst == nullptr) return std::nullopt;
  auto known = [&](std::size_t i) { return constant_in(defs, inst->operands[i]); };
  auto inner = [&](std::size_t i, int along) {
    return moving_course(defs, inst->operands[i], along);
  };
  auto moved = [&](std::optional<Course> course, std::optional<std::int64_t> by,
                   int sign) -> std::optional<Course> {
    if (!course || !by || course->bits != 0 || std::abs(*by) > far) return std::nullopt;
    course->distance += sign * *by;
    return std::abs(course->distance) > far ? std::nullopt : course;
  };
  const Op op = inst->op;
  if (op == Op::arange_) return Course{inst->get<ir::Bounds>().start, 0};
  if (op == Op::expand_dims_) {
    const int added = inst->get<ir::Axis>().axis;
    return added == axis ? std::nullopt : inner(0, axis > added ? axis - 1 : axis);
  }
  if (op == Op::broadcast_) {
    const bool repeats = defs.type(inst->operands[0]).shape[axis] != defs.type(index).shape[axis];
    return repeats ? std::nullopt : inner(0, axis);
  }
  if (op == Op::cast_) return defs.type(index).dtype == DType::i64 ? inner(0, axis) : std::nullopt;
  if (op == Op::add_)
    return known(1) ? moved(inner(0, axis), known(1), 1) : moved(inner(1, axis), known(0), 1);
  if (op == Op::sub_) return moved(inner(0, axis), known(1), -1);
  if (op != Op::xor_) return std::nullopt;
  auto course = inner(0, axis);
  if (!course || !known(1) || course->distance != 0 || course->bits != 0) return std::nullopt;
  return Course{0, *known(1)};
}

}  // namespace

std::int64_t Course::place(std::int64_t own, std::int64_t size) const {
  return std::clamp<std::int64_t>(fixed ? *fixed : (own + distance) ^ bits, 0, size - 1);
}

std::optional<Course> course_of(const Definitions& defs, Value index, int axis) {
  if (auto fixed = constant_in(defs, index)) return Course{0, 0, fixed};
  return moving_course(defs, index, axis);
}

std::optional<Course> course_in_vector(const Definitions& defs, const Inst& gather) {
  const Shape &source = defs.type(gather.operands[0]).shape,
              &index = defs.type(gather.operands[1]).shape;
  const int axis = gather.get<ir::Axis>().axis;
  const bool is_vector = axis == source.rank() - 1 && source == index && source[axis] > 1 &&
                         source[axis] <= most_lanes &&
                         std::has_single_bit(static_cast<std::uint64_t>(source[axis])) &&
                         defs.type(gather.operands[0]).is_value();
  return is_vector ? course_of(defs, gather.operands[1], axis) : std::nullopt;
}

}  // namespace tilewright::dsl
