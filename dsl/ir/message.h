// What programs print while they run. Its own file because interpreted, compiled and emulated
// programs write their messages by the same rule: values travel as words of 64 bits, integers
// widened and floats as doubles, beside a format as C's printf takes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tilewright::ir {

// How many values a message takes: one for each "{}".
int placeholder_count(std::string_view text);
// The message with %lld, %llu or %g for each "{}", as its value's type asks.
std::string message_format(std::string_view text, std::span<const DType> dtypes);
// Writes a message to the standard output, whole, from a format that `message_format` gave.
void write_message(const char* format, const std::uint64_t* words);

}  // namespace tilewright::ir
