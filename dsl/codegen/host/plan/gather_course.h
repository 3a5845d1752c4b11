// Where the elements that a gather reads lie beside its own places, as far as the program says.
//
// Most words that move elements (dsl/language/words) look up places at a fixed distance, or with
// some bits exchanged, or one that is the same everywhere. The schedule asks in order to leave a
// source of one vector in registers, and the emitter in order to read vectors as they lie.
#pragma once

#include <optional>

#include "dsl/codegen/host/plan/definitions.h"

namespace tilewright::dsl {

// The places that an index gives along the axis: `fixed`, if there is one, or
// (place + distance) ^ bits. They may lie outside the source, where the elements at its ends stand
// for missing ones.
struct Course {
  std::int64_t distance = 0, bits = 0;
  std::optional<std::int64_t> fixed = {};

  std::int64_t place(std::int64_t own, std::int64_t size) const;
};

// Nothing if the program does not say it.
std::optional<Course> course_of(const Definitions& definitions, ir::Value index, int axis);

// The course of a gather among the elements of a row of at most 16, a power of two: these are a
// vector or some, and the gather is a permutation of their lanes. The source need not lie in memory
// then.
std::optional<Course> course_in_vector(const Definitions& definitions, const ir::Inst& gather);

}  // namespace tilewright::dsl
