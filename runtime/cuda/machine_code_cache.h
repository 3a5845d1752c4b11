// Machine code of kernels, kept in the user's cache folder from process to process.
//
// Cached code is executed, so it is trusted only where nobody else can write: the folder and those
// above it are checked (runtime/cache_folder.h), and a file must belong to the user, be regular, be
// no link, have no other name, and be writable by nobody else. Against accidents it contains its
// key, its length and a hash. Any other file is treated as absent. The folder holds at most
// `most_kept_bytes`: the oldest goes first. Nothing here raises an error; any number of processes
// may use the folder at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright::cuda {

constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 30;

std::vector<char> kept_machine_code(const Hash& key);  // empty: there is none
void keep_machine_code(const Hash& key, const std::vector<char>& image);
void forget_machine_code(const Hash& key);

// Removes what was written first until the folder's machine code takes so much at most.
void remove_oldest(const std::filesystem::path& folder, std::int64_t most_bytes);

}  // namespace tilewright::cuda
