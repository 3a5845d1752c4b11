// Text that programs print while they run. Its own file because interpreted, compiled and emulated
// programs write their messages by the same rule: values travel as words of 64 bits, integers
// widened and floats as doubles, beside a format as C's printf takes it.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright::ir {

// How many values a message takes: one for each "{}".
int placeholder_count(std::string_view text);
// The message with %lld, %llu or %g for each "{}", as its value's type asks
// (runtime/code/message.h).
std::string message_format(std::string_view text, std::span<const DType> dtypes);
// The message for a condition that does not hold: where, in which program, of which element (in the
// shape of the conditions), and the kernel's message.
std::string assertion_text(std::string_view kernel, std::source_location where,
                           const std::array<std::int64_t, 3>& program, const Shape& shape,
                           std::int64_t element, std::string_view message);

}  // namespace tilewright::ir
