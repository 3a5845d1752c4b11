// A file seen as bytes in memory.
//
// The mapping is private: tensors that share its memory can be written to without ever changing
// the file. A file that is cut short by another process while it is mapped would end this process
// on its next access (SIGBUS). So what is copied anyway, as weights are, is read with `read`, which
// raises an error then; `copied` avoids it altogether, for tensors that share a file's memory on
// storage that others may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

enum class Reading : std::uint8_t {
  mapped,  // pages come from the file as they are touched
  copied   // the whole file is read at once
};

class MappedFile {
 public:
  // Opens a regular file; raises `Error` that begins with "[operation]" where there is none, it
  // cannot be read, or it changes its size meanwhile.
  static std::shared_ptr<MappedFile> open(const std::filesystem::path& path,
                                          std::string_view operation,
                                          Reading reading = Reading::mapped,
                                          bool may_be_link = true);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::byte* data() const { return data_; }
  const std::string& name() const { return name_; }  // as given, for messages
  void check_unchanged(std::string_view operation) const;
  // Fills `to` with the bytes from `offset` on, which must lie inside; raises `Error` where the
  // file has become shorter. Thread safe.
  void read(std::int64_t offset, std::span<std::byte> to, std::string_view operation) const;

 private:
  MappedFile() = default;
  void map(std::string_view operation);
  void copy(std::string_view operation);

  std::string name_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_mapped_ = false;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace tilewright
