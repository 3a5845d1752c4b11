// A C library that is being written, and the names in it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/concat.h"
#include "runtime/package/contents.h"

namespace tilewright::graph {

// In names of C, whatever the locale is.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_letter(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct CLibrary {
  std::string name;  // an identifier, with which all names of the library begin
  const PackageContents& contents;
  std::vector<std::size_t> data_offsets;  // of each blob in the library's data; of weights alone

  std::string kernel_symbol(std::size_t kernel) const { return concat(name, "_kernel_", kernel); }
  std::string data_symbol() const { return name + "_data"; }
};

}  // namespace tilewright::graph
