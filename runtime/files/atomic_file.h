// A file that appears whole or not at all.
//
// Bytes go to a new file in the destination's folder; `commit` brings them to the disk and renames
// the file over the destination. Without `commit` nothing is left behind, unless the process is
// killed: then the next writer of that destination removes files that are an hour old. A file that
// is replaced hands on its mode and, where that is allowed, its owner; a new one has the mode that
// the umask leaves. A link stays, and its target is replaced; one that another user has put into a
// shared folder (/tmp) is refused.
//
// Pipes, terminals, /dev/null and /dev/stdout cannot be replaced, and are written to directly.
// For these nothing is atomic, `commit` has nothing to do, and the first write opens the file,
// because the reader of a pipe would otherwise see its end too early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright {

class AtomicFile {
 public:
  // Raises `Error` beginning with "[operation]", as the functions below do.
  AtomicFile(const std::filesystem::path& destination, std::string_view operation);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, std::size_t size_bytes);
  // After a power failure an unsynced file may be empty or cut off, which its reader must notice;
  // a synced one is whole. Syncing takes milliseconds.
  enum class Durability : std::uint8_t { synced, unsynced };
  void commit(Durability durability = Durability::synced);

 private:
  void follow_links();
  void open_stream();
  void make_temporary();
  void fail(const char* action) const;
  std::filesystem::path destination_;
  std::string operation_, temporary_;  // no temporary: a stream
  int descriptor_ = -1;
  bool is_stream_ = false;
};

// Removes the new files of writers in the folder that were killed: those of the destination with
// this name, or of all if it is empty. They are this user's, were not written to for an hour, and
// no process holds the lock that a writer has. Raises nothing.
void remove_abandoned(const std::filesystem::path& folder, std::string_view name);

}  // namespace tilewright
