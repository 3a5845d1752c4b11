// The header of a safetensors file: from its bytes to a proven list of tensors.
//
// Separate from the file itself so that every rule can be tested on bytes in memory. The rules are
// those of the format, in their strict reading, with limits of our own where the format has none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright {

// One tensor of a file; its range is proven to lie inside the file.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape shape;
  std::int64_t offset;  // of its first byte, from the start of the file
  std::int64_t size_bytes;
};

}  // namespace tilewright

namespace tilewright::weights {

// What errors in a file begin with.
inline constexpr std::string_view safetensors_operation = "load_safetensors";

inline constexpr std::uint64_t max_header_bytes = 100'000'000;
inline constexpr std::size_t max_tensors = 1'000'000;
inline constexpr std::size_t max_metadata = 100'000;
inline constexpr std::size_t max_name_bytes = 1024;
inline constexpr std::size_t max_rank = 8;

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // sorted by name
  std::map<std::string, std::string> metadata;
};

// The bytes of the header's text, which begins at byte 8, proven to lie inside the file. `begin` is
// the file's beginning, of 64 bytes if it has so many; `what` names it in messages.
std::size_t safetensors_header_bytes(std::string_view begin, std::size_t file_bytes,
                                     std::string_view what);
// `text` is the header's alone.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::size_t file_bytes,
                                           std::string_view what);

}  // namespace tilewright::weights
