// What somebody else has written, as a message may show it: its beginning, and nothing in it that
// could end the message or drive the reader's terminal.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::autotune {

// Every byte that is no printable ASCII is a question mark; what is longer is cut and ends in
// "...".
std::string shown(std::string_view text, std::size_t most_bytes = 80);

}  // namespace tilewright::autotune
