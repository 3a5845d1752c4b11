// A file that a stranger wrote, as bytes.
//
// It is opened once: the file that was checked (that it is a regular file, its size) is the one
// that is read, by its descriptor. Another process may cut it short meanwhile, as a download or a
// copy in place does. A file that is mapped would then end this process on its next access
// (SIGBUS), so bytes are read, and an end that comes too early is an `Error`. Only tensors that are
// to share a file's memory are mapped, where the caller asks for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/files/file_path.h"

namespace tilewright {

enum class Reading : std::uint8_t {
  as_needed,  // bytes are read when they are asked for
  copied,     // the whole file is read at once, and later changes to it have no effect here
  // Pages come from the file as they are touched, privately: writing to them changes no file. If
  // another process cuts the file short, touching the missing part ends this process (SIGBUS).
  mapped
};

// Thread safe.
class ForeignFile {
 public:
  // Opens a regular file, following links. Raises `Error` that begins with "[operation]" where the
  // file does not exist or cannot be opened.
  static std::shared_ptr<ForeignFile> open(const FilePath& path, std::string_view operation);
  // Takes over a descriptor that is open to read; `name` is for messages.
  static std::shared_ptr<ForeignFile> adopt(int descriptor, std::string name,
                                            std::string_view operation);
  // A part of a file as a file by itself, which keeps the whole one; its bytes are the whole one's,
  // held or not. The part must lie inside. `name` is for messages.
  static std::shared_ptr<ForeignFile> part(std::shared_ptr<const ForeignFile> whole,
                                           std::size_t offset, std::size_t size, std::string name);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  std::size_t size() const { return size_; }  // when it was opened
  const std::string& name() const { return name_; }
  std::size_t hard_links() const { return hard_links_; }

  // Fills `to` with the bytes from `offset` on, which must lie inside `size()`. Raises `Error`
  // where the file has become shorter or cannot be read.
  void read(std::size_t offset, std::span<std::byte> to, std::string_view operation) const;
  // All of it as text; raises `Error` where it has more than `most` bytes, before memory is taken.
  std::string text(std::size_t most, std::string_view operation) const;

  // Copies or maps the file, after which `data()` is all of it. To be called once, by one thread.
  void hold(Reading reading, std::string_view operation);
  std::byte* data() const { return data_; }  // none before `hold`

 private:
  ForeignFile() = default;
  void map(std::string_view operation);
  void copy(std::string_view operation);

  std::string name_;
  std::shared_ptr<const ForeignFile> whole_;  // that this is a part of, if it is one
  std::size_t start_ = 0;                     // in that one
  int descriptor_ = -1;
  std::size_t size_ = 0, hard_links_ = 0;
  std::byte* data_ = nullptr;
  bool is_mapped_ = false;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace tilewright
