// A file that appears whole or not at all.
//
// Bytes go to a new file in the destination's folder; `commit` brings them to the disk and renames
// the file over the destination. Without `commit` nothing is left behind.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright {

class AtomicFile {
 public:
  AtomicFile(const std::filesystem::path& destination, std::string_view operation);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, std::size_t size_bytes);
  void commit();

 private:
  void fail(const char* action) const;
  std::filesystem::path destination_;
  std::string operation_, temporary_;
  int descriptor_ = -1;
};

}  // namespace tilewright
