// The content of a file that the user has named.
//
// Opening a pipe would wait for a writer, and a device may never end; so the file is opened without
// waiting, and anything but a regular file is refused before a byte is read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

// Follows links. Raises `Error` beginning with "[operation]" where the file cannot be opened or
// read, is not a regular file, or has more than `most_bytes`.
std::string read_regular_file(const std::filesystem::path& file, std::string_view operation,
                              std::size_t most_bytes);
// The same into memory of the caller's, which `memory_of` gives for so many bytes.
void read_regular_file(const std::filesystem::path& file, std::string_view operation,
                       std::size_t most_bytes,
                       const std::function<char*(std::size_t bytes)>& memory_of);

// The bytes of a file in memory that nobody may write to; the last owner unmaps them.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
// Raises the same errors; none where the file system maps no files. Pages are read as they are
// touched. A file that is removed, or replaced by renaming another one, stays as it was. One that
// another process writes into changes here too, and touching a part that was cut off ends this
// process (SIGBUS).
std::optional<MappedFile> map_regular_file(const std::filesystem::path& file,
                                           std::string_view operation, std::size_t most_bytes);

}  // namespace tilewright
