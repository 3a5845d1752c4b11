// The zip archive in which PyTorch saves an exported program: named pieces of one file.
//
// A stranger wrote it, so nothing in it is believed. Its directory is read with minizip and then
// held against the file: how many entries there are, that each lies inside the file and apart from
// all others, that no two have one name, and that no name leads out of the archive. Entries are
// stored as they are, or deflated within a bound. Separate from the meaning of the entries
// (program.h), and the only place that knows the libraries for zip files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/foreign_file.h"

namespace tilewright::exported {

struct ArchiveEntry {
  std::string name;            // without the folder that all entries of the archive share
  std::uint64_t offset;        // of its first byte in the file
  std::uint64_t stored_bytes;  // that it takes there
  std::uint64_t size_bytes;    // of its content
  std::uint32_t checksum;      // CRC-32 of its content
  bool is_deflated;
};

// An open archive. Thread safe.
class Archive {
 public:
  // Raises `Error` "[load_exported] PATH: ..." for whatever is wrong with the file.
  static Archive open(const std::filesystem::path& path, Reading reading = Reading::as_needed);

  // An archive that is an entry of this one, stored as it is; its bytes are this one's. Raises
  // `Error` as `open`, and where the entry is deflated.
  Archive inner(const ArchiveEntry& entry) const;

  const std::vector<ArchiveEntry>& entries() const { return entries_; }  // sorted by name
  const ArchiveEntry* find(std::string_view name) const;
  // Raises `Error` where it is missing.
  const ArchiveEntry& at(std::string_view name) const;

  // Fills `to`, which has the entry's size, and compares the checksum.
  void read(const ArchiveEntry& entry, std::span<std::byte> to) const;
  // The content; raises `Error` where it has more than `most` bytes, before memory is taken.
  std::string text(const ArchiveEntry& entry, std::size_t most) const;
  // With Reading::mapped and an entry that is stored as it is: where its content lies in the file's
  // memory, which `file()` keeps; else nothing. Its checksum is not looked at.
  std::byte* mapped(const ArchiveEntry& entry) const;

  const std::shared_ptr<ForeignFile>& file() const { return file_; }

 private:
  explicit Archive(std::shared_ptr<ForeignFile> file);

  std::shared_ptr<ForeignFile> file_;
  std::vector<ArchiveEntry> entries_;
};

}  // namespace tilewright::exported
