// A store in the user's cache folder for things that are expensive to make and that the next
// process needs again: machine code of GPUs, object code of hosts. Entries are found by the hash of
// everything that decides their content.
//
// Entries are executed, so they are trusted only where no other user can write: the folder and
// those above it are checked (runtime/cache_folder.h), and a file must belong to the user, be
// regular, not be a link, have no other name, and not be writable by others. Against accidents it
// contains its key, its length and a hash. Any other file is treated as absent, and so is one that
// cannot be read. A folder holds at most `most_kept_bytes`: what was used least recently goes
// first. Nothing here raises an error but std::bad_alloc; any number of threads and processes may
// use a folder at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright {

// The entries of one kind: a folder of the cache folder, and the ending of their files.
class EntryStore {
 public:
  static constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 30;

  constexpr EntryStore(std::string_view folder, std::string_view extension)
      : folder_(folder), extension_(extension) {}

  std::vector<char> find(const Hash& key) const;  // empty: there is none
  // Where the file cannot be written, nothing is kept. Some calls also tidy up.
  void keep(const Hash& key, std::span<const char> content) const;
  void forget(const Hash& key) const;

  // Removes what killed writers have left, and the entries that were used least recently until the
  // others take at most this many bytes.
  void tidy(std::int64_t most_bytes = most_kept_bytes) const;

 private:
  std::filesystem::path path_of(const Hash& key) const;
  std::string_view folder_, extension_;
};

}  // namespace tilewright
