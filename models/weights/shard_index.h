// model.safetensors.index.json: which tensor lies in which file of a folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace tilewright::weights {

// file name -> number of tensors that the index places there, and tensor -> file name.
struct ShardIndex {
  std::map<std::string, std::size_t> files;
  std::map<std::string, std::string, std::less<>> file_of;
};
ShardIndex parse_shard_index(std::string_view text, std::string_view what);

// The path of `name` inside `folder`; raises `Error` unless it is a plain file name there, and, by
// default, unless it still lies there when symbolic links are followed.
std::filesystem::path shard_path(const std::filesystem::path& folder, const std::string& name,
                                 bool links_may_leave);

}  // namespace tilewright::weights
