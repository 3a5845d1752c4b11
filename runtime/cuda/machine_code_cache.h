// Machine code of kernels, kept in the user's cache folder from process to process.
//
// Cached code is executed, so it is trusted only where no other user can write: the folder and
// those above it are checked (runtime/cache_folder.h), and a file must belong to the user, be
// regular, not be a link, have no other name, and not be writable by others. Against accidents it
// contains its key, its length and a hash. Any other file is treated as absent. The folder holds at
// most `most_kept_bytes`: the oldest goes first. Nothing here raises an error; any number of
// processes may use the folder at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright::cuda {

constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 30;

std::vector<char> kept_machine_code(const Hash& key);  // empty: not cached
void keep_machine_code(const Hash& key, const std::vector<char>& image);
void forget_machine_code(const Hash& key);

// Removes the oldest files until the folder's machine code takes at most this many bytes.
void remove_oldest(const std::filesystem::path& folder, std::int64_t most_bytes);

}  // namespace tilewright::cuda
