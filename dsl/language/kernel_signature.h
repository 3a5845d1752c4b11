// What a kernel is compiled for, and how it is asked: signatures, facts, kinds of parameters,
// checks. Apart from kernel.h, since what the copies of a kernel share (kernel_state.h) is made of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// What a kernel is specialised for, an entry a parameter: the element type of a Pointer or Scalar,
// the number of a Constexpr. For `add` of kernel.h: {f32, f32, f32, i64, 128}.
using Signature = std::vector<std::variant<DType, std::int64_t>>;

// What is known of an argument besides its type: a pointer of its bytes, an integer of itself.
enum class Fact : std::uint8_t { none, multiple_of_16, one };

enum class ParameterKind : std::uint8_t { pointer, scalar, constexpr_number };

// What is checked while kernels run.
//
//   bounds   each load, store and atomic on the host is compared with the memory that the launch
//            knows (vectors, arrays, spans, tensors). What lies outside is not touched, and the
//            launch raises `Error` with the kernel's line, program, array and index. It costs
//            about as much again as the kernel does, or several times that where it did little
//            else than go through memory (dsl/README.md). Pointers made from several parameters
//            are not checked.
//
//            The emulator does so always, if all sizes are known; a GPU never. A kernel that is a
//            custom op, or is launched inside compile(), is looked at as in a launch of its own.
//   asserts  what the kernel says with device_assert (language/tile.h) is looked at, on the host
//            and on emulated GPUs, and the launch raises `Error` once all programs have run. A
//            GPU never does.
//
//   all      both
enum class Check : std::uint8_t { none, bounds, asserts, all };

namespace detail {

using BoundParameter = std::variant<Tile, std::int64_t>;
// The user's function, called with an entry a parameter.
using KernelBody = std::function<void(std::span<const BoundParameter>)>;

}  // namespace detail

}  // namespace tilewright::dsl
