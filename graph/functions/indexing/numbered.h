// Elements by their numbers: the place of each in row-major order, or along one axis, as a tensor
// that is computed. Operations that pick or replace single elements (gather, diagonal, as_strided)
// are a choice of such numbers, and are made of these functions.
//
// Where a number lies outside, a picked element is 0, and no element is replaced: a neighbour is
// never touched. Functions that know the numbers at once report what is wrong with them
// (`require_inside`); in a compiled function Options::index_checks says where they are checked.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "graph/functions/pointwise/places.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The dtype that numbers below `count` are computed in: i32 where it holds them, else i64.
DType dtype_of_numbers(std::int64_t count);
// In the dtype that holds them, of the given sizes: offset + the sum over the axes of place *
// stride.
Formula strided_numbers(const Shape& sizes, const Strides& strides, std::int64_t offset,
                        std::source_location w);
// Integers counted from the end where they are negative, of an axis of that size.
Formula from_end(const Formula& numbers, std::int64_t size);
// The numbers in [0, size), and -1 for others.
Formula inside_or_none(const Formula& numbers, std::int64_t size);

// The elements of x, taken row-major, with these numbers, i32 or i64; in their shape.
Tensor elements_at(const Tensor& x, const Tensor& numbers, std::source_location w);
// x with the elements of these numbers replaced by `values`, of x's dtype, which broadcast to them.
// Which of several for one number stays is undefined.
Tensor with_elements_at(const Tensor& x, const Tensor& numbers, const Tensor& values,
                        std::source_location w);

// The parts of x at these places of the axis, integers of any shape, whose axes take its place.
Tensor parts_at(const Tensor& x, int axis, const Tensor& places, std::source_location w);
// x with these parts replaced by `values`, which broadcast to the result of `parts_at`.
Tensor with_parts_at(const Tensor& x, int axis, const Tensor& places, const Tensor& values,
                     std::source_location w);

// The elements start, start - 1, .. of an axis of x, `count` of them, as a value of their own.
Tensor backwards(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
                 std::source_location w);

// The operand, which must be i32 or i64.
Tensor index_operand(const Tensor& index, std::string_view operation, std::source_location w);
// Raises `Error` unless all of the index are in [least, size): at once, or as Options::index_checks
// says (graph/tensor/index_ranges.h).
void require_inside(const Tensor& index, std::int64_t least, std::int64_t size,
                    std::string_view operation, std::source_location w);

// A list of sizes as settings of `apply_function`.
void add_settings(std::vector<Number>& settings, const Shape& sizes);

}  // namespace tilewright::graph
