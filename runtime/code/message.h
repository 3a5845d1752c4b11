// Text that programs print while they run. Its own file because interpreted, compiled and emulated
// programs write their messages by the same rule: values travel as words of 64 bits, integers
// widened and floats as doubles, beside a format as C's printf takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

// A message from a format with %lld, %llu and %g.
std::string message_text(const char* format, const std::uint64_t* words);
// Writes a text, or such a message, to the standard output, whole.
void write_text(std::string_view text);
void write_message(const char* format, const std::uint64_t* words);

}  // namespace tilewright
