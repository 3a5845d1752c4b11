// Zip archives as strings, for tests of what reads them: whole ones, and ones that lie about
// themselves.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::testing {

struct ZipEntry {
  std::string name;
  std::string content;
  bool is_deflated = false;
  // Wrong values in the directory, in place of the true ones.
  std::optional<std::uint32_t> stored_bytes = {}, size_bytes = {}, checksum = {}, offset = {};
  std::optional<std::uint16_t> method = {}, flags = {};
};

inline std::string deflated(const std::string& content) {
  std::string out(compressBound(content.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline void append_number(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

// The fields that the local header and the directory share.
inline std::string shared_fields(const ZipEntry& entry, std::size_t stored) {
  auto* bytes = reinterpret_cast<const Bytef*>(entry.content.data());
  auto sum = static_cast<std::uint32_t>(crc32_z(0, bytes, entry.content.size()));
  std::string fields;
  append_number(fields, 20, 2);
  append_number(fields, entry.flags.value_or(0), 2);
  append_number(fields, entry.method.value_or(entry.is_deflated ? 8 : 0), 2);
  append_number(fields, 0, 4);  // time
  append_number(fields, entry.checksum.value_or(sum), 4);
  append_number(fields, entry.stored_bytes.value_or(static_cast<std::uint32_t>(stored)), 4);
  append_number(fields, entry.size_bytes.value_or(static_cast<std::uint32_t>(entry.content.size())),
                4);
  append_number(fields, entry.name.size(), 2);
  append_number(fields, 0, 2);  // extra
  return fields;
}

// `alignment`: contents begin at multiples of it, by a comment-like gap before each header.
inline std::string zip_archive(const std::vector<ZipEntry>& entries, std::size_t alignment = 1) {
  std::string file, directory;
  for (const ZipEntry& entry : entries) {
    std::string content = entry.is_deflated ? deflated(entry.content) : entry.content;
    while (!file.empty() && (file.size() + 30 + entry.name.size()) % alignment != 0) file += '\0';
    std::size_t offset = file.size();
    std::string fields = shared_fields(entry, content.size());
    file += "PK\3\4" + fields + entry.name + content;
    directory += "PK\1\2";
    append_number(directory, 20, 2);
    directory += fields;
    append_number(directory, 0, 2);  // comment
    append_number(directory, 0, 8);  // disk, attributes
    append_number(directory, entry.offset.value_or(static_cast<std::uint32_t>(offset)), 4);
    directory += entry.name;
  }
  std::size_t at = file.size();
  file += directory + "PK\5\6";
  append_number(file, 0, 4);
  append_number(file, entries.size(), 2);
  append_number(file, entries.size(), 2);
  append_number(file, directory.size(), 4);
  append_number(file, at, 4);
  append_number(file, 0, 2);
  return file;
}

}  // namespace tilewright::testing
