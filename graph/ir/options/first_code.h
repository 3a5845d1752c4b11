// The kind of host code that the first calls of a compiled function run: an option of compile().
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

// Quick code takes a third of the time to generate. Full code is then generated in the background,
// on one thread of low priority, and takes over kernel by kernel; both compute the same bits. Until
// then kernels without products run two to five times slower, the others hardly.
enum class FirstCode : std::uint8_t {
  automatic,  // quick for plans of 8 kernels or more, and full for those that are tuned
  quick,
  full
};
FirstCode parse_first_code(std::string_view name);  // raises `Error` listing the names

}  // namespace tilewright
