#include "runtime/files/foreign_text.h"

namespace tilewright {

std::string shown(std::string_view text, std::size_t most_bytes) {
  std::string result(text.substr(0, most_bytes));
  for (char& c : result)
    if (c < 0x20 || c > 0x7e) c = '?';
  if (text.size() > most_bytes) result += "...";
  return result;
}

}  // namespace tilewright
