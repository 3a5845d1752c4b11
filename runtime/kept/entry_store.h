// A store in the user's cache folder for things that are expensive to make and that the next
// process needs again: machine code of GPUs, object code of hosts. An entry is found by the hash of
// everything that decides its content (entry_key.h), and keeps these facts beside it.
//
// Entries are executed, so they are trusted only where no other user can write: the folder and
// those above it are checked (runtime/cache_folder.h), and a file must belong to the user, be
// regular, not be a link, have no other name, and not be writable by others. Against accidents it
// contains its key, its lengths and a hash. Any other file is treated as absent, and so is one that
// cannot be read. A folder holds about `most_kept_bytes` at most: what was used least recently goes
// first. Nothing here raises an error but std::bad_alloc; any number of threads and processes may
// use a folder at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kept/entry_key.h"
#include "runtime/kept/entry_turn.h"

namespace tilewright {

// A file of a store, as it stands in its folder.
struct StoredEntry {
  EntryKey key;
  std::string label;  // names the content for people: a kernel's name
  std::filesystem::path path;
  std::int64_t bytes = 0;  // of the file
  std::filesystem::file_time_type last_used;
  bool is_whole = false;  // and under the name of its key: `find` returns its content
};

// The entries of one kind: a folder of the cache folder, and the ending of their files.
class EntryStore {
 public:
  static constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 30;

  constexpr EntryStore(std::string_view folder, std::string_view extension)
      : folder_(folder), extension_(extension) {}

  std::vector<char> find(const EntryKey& key) const;  // empty: there is none
  // Where the file cannot be written, nothing is kept. Some calls also tidy up.
  void keep(const EntryKey& key, std::string_view label, std::span<const char> content) const;
  void forget(const EntryKey& key) const;
  // Waits while another process, or thread, makes this entry: look for it again then, and make it
  // if it is still missing.
  EntryTurn turn(const EntryKey& key) const;
  // Keeps the bytes of an entry's file, which another folder had.
  enum class Kept : std::uint8_t { yes, damaged, not_written };
  Kept keep_file(std::span<const char> file) const;

  // Removes what killed writers have left, and the entries that were used least recently until the
  // others take at most this many bytes.
  void tidy(std::int64_t most_bytes = most_kept_bytes) const;

  // All entries, by the names of their files; reads each file whole. A damaged one has
  // neither key nor label.
  std::vector<StoredEntry> entries() const;
  // The entry of this folder that has the same value of the field and differs in the fewest others;
  // nothing if there is none. Reads all files.
  std::optional<StoredEntry> nearest(const EntryKey& key, std::string_view field) const;

  constexpr std::string_view folder() const { return folder_; }

 private:
  std::filesystem::path path_of(const Hash& key) const;
  bool write(const Hash& key, std::span<const char> bytes) const;  // false if it could not
  void tidy_a_share(const Hash& key) const;
  std::string_view folder_, extension_;
};

// All that there are.
inline constexpr EntryStore host_objects("host", ".object"), gpu_machine_code("cuda", ".cubin");
inline constexpr const EntryStore* entry_stores[] = {&host_objects, &gpu_machine_code};

}  // namespace tilewright
