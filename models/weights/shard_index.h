// model.safetensors.index.json: which tensor lies in which file of a folder.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace tilewright::weights {

// What errors in a folder of weights begin with.
inline constexpr std::string_view weights_operation = "load_weights";

inline constexpr std::size_t max_index_bytes = 100'000'000;

// file name -> number of tensors that the index places there, and tensor -> file name.
struct ShardIndex {
  std::map<std::string, std::size_t> files;
  std::map<std::string, std::string, std::less<>> file_of;
};
ShardIndex parse_shard_index(std::string_view text, std::string_view what);

}  // namespace tilewright::weights
