// Foreign text in a form that is safe in messages: only its beginning, and nothing that could end
// the message or control the reader's terminal.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// Bytes that are not printable ASCII become question marks; longer text is cut and ends in "...".
std::string shown(std::string_view text, std::size_t most_bytes = 80);

}  // namespace tilewright
