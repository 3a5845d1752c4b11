#include "models/exported/archive.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <exception>

#include "models/files/reader.h"
#include "models/files/utf8.h"
#include "runtime/base/error.h"
#include "runtime/base/thread_end.h"

namespace tilewright::exported {
namespace {

constexpr std::string_view operation = "load_exported";
constexpr std::uint64_t most_entries = 100'000;
constexpr std::size_t most_name_bytes = 1024;
constexpr std::uint64_t local_header_bytes = 30;  // before the name
constexpr std::uint64_t most_inflation = 1000;    // size over stored size; deflate reaches 1032
// A text becomes many times its size in memory, so that it may inflate less. Programs that PyTorch
// exports deflate to a 20th or 30th, to a 66th where layers are repeated within 60 modules, as
// model.json has all their names at each node. A text of few bytes may inflate to the second bound.
constexpr std::uint64_t most_text_inflation = 200;
constexpr std::uint64_t inflated_text_bytes = std::uint64_t{1} << 24;

// The file as minizip reads it. An error must not unwind C code: it is stored and raised later.
struct Source {
  const ForeignFile& file;
  std::uint64_t position = 0;
  std::exception_ptr failure = {};
};

void* open_source(void* source, const void*, int) { return source; }
uLong read_source(void* opaque, void*, void* to, uLong size) {
  auto& source = *static_cast<Source*>(opaque);
  std::uint64_t left = source.file.size() - std::min(source.position, source.file.size());
  uLong count = std::min<std::uint64_t>(size, left);
  try {
    source.file.read(source.position, {static_cast<std::byte*>(to), count}, operation);
  } catch (const ForcedUnwind&) {
    throw;
  } catch (...) {
    source.failure = std::current_exception();
    return 0;
  }
  source.position += count;
  return count;
}
uLong write_source(void*, void*, const void*, uLong) { return 0; }
ZPOS64_T tell_source(void* opaque, void*) { return static_cast<Source*>(opaque)->position; }
long seek_source(void* opaque, void*, ZPOS64_T offset, int origin) {
  auto& source = *static_cast<Source*>(opaque);
  std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                       : origin == ZLIB_FILEFUNC_SEEK_END ? source.file.size()
                                                          : source.position;
  if (offset > source.file.size() - std::min(base, source.file.size())) return -1;
  source.position = base + offset;
  return 0;
}
int close_source(void*, void*) { return 0; }
int error_of_source(void* opaque, void*) {
  return static_cast<Source*>(opaque)->failure != nullptr;
}

class Directory {
 public:
  explicit Directory(const ForeignFile& file) : source_{file} {
    check_ends();
    zlib_filefunc64_def functions = {open_source, read_source,  write_source,    tell_source,
                                     seek_source, close_source, error_of_source, &source_};
    zip_ = unzOpen2_64(file.name().c_str(), &functions);
    raise_failure();
    require(zip_ != nullptr, "[", operation, "] ", file.name(),
            ": its zip directory cannot be read; the file is damaged or cut short");
  }
  ~Directory() {
    if (zip_ != nullptr) unzClose(zip_);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::vector<ArchiveEntry> entries() {
    unz_global_info64 global = {};
    check_status(unzGetGlobalInfo64(zip_, &global));
    require(global.number_entry > 0 && global.number_entry <= most_entries, "[", operation, "] ",
            name(), ": its zip directory has ", global.number_entry, " entries; 1 to ",
            most_entries, " are allowed");
    std::vector<ArchiveEntry> entries;
    int status = unzGoToFirstFile(zip_);
    for (; status == UNZ_OK; status = unzGoToNextFile(zip_)) entries.push_back(entry());
    require(status == UNZ_END_OF_LIST_OF_FILE && entries.size() == global.number_entry, "[",
            operation, "] ", name(), ": its zip directory ends after ", entries.size(), " of ",
            global.number_entry, " entries");
    return entries;
  }

 private:
  const std::string& name() const { return source_.file.name(); }
  std::string text(std::size_t at, std::size_t size) const {
    std::string text(size, '\0');
    source_.file.read(at, std::as_writable_bytes(std::span(text)), operation);
    return text;
  }
  // An archive begins with its first entry and ends with the end of its directory; minizip would
  // pass over what else is there, in which two readers could see two files.
  void check_ends() const {
    constexpr std::size_t end_bytes = 22;
    std::size_t size = source_.file.size();
    std::string start = text(0, std::min<std::size_t>(size, 4));
    require(start == "PK\3\4", "[", operation, "] ", name(),
            ": is not a zip archive, which torch.export.save writes",
            start == "vers" ? "; it is the pointer that Git LFS left in the place of a file" : "");
    require(size > end_bytes && text(size - end_bytes, 4) == "PK\5\6", "[", operation, "] ", name(),
            ": does not end with the end of a zip directory; the file is cut short, or more was "
            "written behind it");
    require(begins_with_file(size - end_bytes), "[", operation, "] ", name(),
            ": its zip directory is not where its end says; another archive or something else was "
            "written before it");
  }
  // True if the directory, according to its end record at that place, ends there: else minizip
  // would take the file for an archive that begins somewhere within.
  bool begins_with_file(std::size_t end) const {
    auto number = [&](std::size_t at, std::size_t bytes) {
      std::uint64_t value = 0;
      const std::string digits = text(at, bytes);
      for (std::size_t i = bytes; i-- > 0;)
        value = value << 8 | static_cast<std::uint8_t>(digits[i]);
      return value;
    };
    constexpr std::size_t locator_bytes = 20, large_end_bytes = 56;
    std::uint64_t bytes = number(end + 12, 4), first = number(end + 16, 4);
    if (end >= locator_bytes + large_end_bytes && text(end - locator_bytes, 4) == "PK\6\7") {
      const std::uint64_t large_end = number(end - locator_bytes + 8, 8);
      if (large_end > end - locator_bytes - large_end_bytes || text(large_end, 4) != "PK\6\6")
        return false;
      bytes = number(large_end + 40, 8);
      first = number(large_end + 48, 8);
      end = large_end;
    }
    return bytes <= end && first == end - bytes;
  }
  void raise_failure() const {
    if (source_.failure != nullptr) std::rethrow_exception(source_.failure);
  }
  void check_status(int status) const {
    raise_failure();
    require(status == UNZ_OK, "[", operation, "] ", name(),
            ": its zip directory is damaged (minizip says ", status, ")");
  }

  ArchiveEntry entry() {
    unz_file_info64 info = {};
    std::array<char, most_name_bytes + 1> text = {};
    check_status(
        unzGetCurrentFileInfo64(zip_, &info, text.data(), text.size(), nullptr, 0, nullptr, 0));
    require(info.size_filename <= most_name_bytes, "[", operation, "] ", name(),
            ": an entry has a name of ", info.size_filename, " bytes; at most ", most_name_bytes,
            " are allowed");
    std::string entry_name(text.data(), info.size_filename);
    require((info.flag & 1) == 0, "[", operation, "] ", name(), ": entry \"",
            json::excerpt(entry_name), "\" is encrypted");
    require(info.compression_method == 0 || info.compression_method == Z_DEFLATED, "[", operation,
            "] ", name(), ": entry \"", json::excerpt(entry_name), "\" is compressed by method ",
            info.compression_method, "; 0 (stored) and 8 (deflated) are read");
    int status = unzOpenCurrentFile(zip_);
    raise_failure();
    require(status == UNZ_OK, "[", operation, "] ", name(), ": entry \"", json::excerpt(entry_name),
            "\": the header before its bytes does not agree with the zip directory");
    std::uint64_t offset = unzGetCurrentFileZStreamPos64(zip_);
    unzCloseCurrentFile(zip_);
    return {std::move(entry_name),
            offset,
            info.compressed_size,
            info.uncompressed_size,
            static_cast<std::uint32_t>(info.crc),
            info.compression_method != 0};
  }

  Source source_;
  unzFile zip_ = nullptr;
};

// True if it stays inside: not absolute, no "..", no backslash, no NUL.
bool is_inside(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != name.npos ||
      name.find('\0') != name.npos)
    return false;
  for (std::size_t from = 0; from <= name.size();) {
    std::size_t to = std::min(name.find('/', from), name.size());
    std::string_view part = name.substr(from, to - from);
    if (part == ".." || part == ".") return false;
    from = to + 1;
  }
  return true;
}

void check_names(const std::vector<ArchiveEntry>& sorted, const std::string& file) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& name = sorted[i].name;
    require(is_inside(name) && tokenizer::whole_size(name) == name.size(), "[", operation, "] ",
            file, ": entry \"", json::excerpt(name),
            "\" has a name that leads out of the archive, or is not text");
    require(i == 0 || sorted[i - 1].name != name, "[", operation, "] ", file,
            ": there are two entries \"", json::excerpt(name), '"');
  }
}

void check_places(std::vector<ArchiveEntry>& entries, const ForeignFile& file) {
  std::ranges::sort(entries, {}, &ArchiveEntry::offset);
  std::uint64_t end = 0;  // of the entry before
  for (const ArchiveEntry& e : entries) {
    std::uint64_t before = local_header_bytes + e.name.size();
    require(e.offset <= file.size() && e.stored_bytes <= file.size() - e.offset, "[", operation,
            "] ", file.name(), ": entry \"", json::excerpt(e.name), "\" takes ", e.stored_bytes,
            " bytes from byte ", e.offset, " on; the file has ", file.size());
    require(e.offset >= before && e.offset - before >= end, "[", operation, "] ", file.name(),
            ": entry \"", json::excerpt(e.name), "\" overlaps another entry");
    end = e.offset + e.stored_bytes;
    bool is_possible = e.is_deflated ? e.size_bytes / most_inflation <= e.stored_bytes
                                     : e.size_bytes == e.stored_bytes;
    require(is_possible, "[", operation, "] ", file.name(), ": entry \"", json::excerpt(e.name),
            "\" claims to hold ", e.size_bytes, " bytes in ", e.stored_bytes);
  }
}

// Leaves out the folder that all names begin with, if there is one.
void remove_folder(std::vector<ArchiveEntry>& entries) {
  std::string folder = entries.front().name.substr(0, entries.front().name.find('/') + 1);
  auto has_folder = [&](const ArchiveEntry& e) { return e.name.starts_with(folder); };
  if (folder.empty() || !std::ranges::all_of(entries, has_folder)) return;
  for (ArchiveEntry& e : entries) e.name.erase(0, folder.size());
}

// Raw deflate; returns whether it gave exactly as many bytes as there is room for.
bool inflate_all(std::span<std::byte> from, std::span<std::byte> to) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
  int status = inflate(&stream, Z_FINISH);
  bool is_whole = status == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  return is_whole;
}

}  // namespace

Archive::Archive(std::shared_ptr<ForeignFile> file)
    : file_(std::move(file)), entries_(Directory(*file_).entries()) {
  check_places(entries_, *file_);
  std::ranges::sort(entries_, {}, &ArchiveEntry::name);
  check_names(entries_, file_->name());
  remove_folder(entries_);
}

Archive Archive::open(const std::filesystem::path& path, Reading reading) {
  Archive archive(ForeignFile::open(path, operation));
  archive.file_->hold(reading, operation);
  return archive;
}

Archive Archive::inner(const ArchiveEntry& entry) const {
  std::string name = concat(file_->name(), ": ", json::excerpt(entry.name));
  require(!entry.is_deflated, "[", operation, "] ", name,
          ": is deflated; an archive within an archive must be stored as it is");
  return Archive(ForeignFile::part(file_, entry.offset, entry.stored_bytes, std::move(name)));
}

const ArchiveEntry* Archive::find(std::string_view name) const {
  auto at = std::ranges::lower_bound(entries_, name, {}, &ArchiveEntry::name);
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

const ArchiveEntry& Archive::at(std::string_view name) const {
  const ArchiveEntry* entry = find(name);
  require(entry != nullptr, "[", operation, "] ", file_->name(), ": has no entry \"",
          json::excerpt(name), '"');
  return *entry;
}

void Archive::read(const ArchiveEntry& entry, std::span<std::byte> to) const {
  check(to.size() == entry.size_bytes, "an entry of an archive is read into other room");
  if (entry.is_deflated) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // zlib counts with 32 bits
    require(entry.size_bytes <= most, "[", operation, "] ", file_->name(), ": entry \"",
            json::excerpt(entry.name), "\" is deflated and holds ", entry.size_bytes,
            " bytes; at most ", most, " are allowed so");
    std::vector<std::byte> stored(entry.stored_bytes);
    file_->read(entry.offset, stored, operation);
    require(inflate_all(stored, to), "[", operation, "] ", file_->name(), ": entry \"",
            json::excerpt(entry.name), "\" is not the ", entry.size_bytes,
            " bytes, deflated, that it claims");
  } else {
    file_->read(entry.offset, to, operation);
  }
  auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(to.data()), to.size());
  require(static_cast<std::uint32_t>(sum) == entry.checksum, "[", operation, "] ", file_->name(),
          ": entry \"", json::excerpt(entry.name),
          "\" has another checksum than its directory "
          "says; the file is damaged");
}

std::string Archive::text(const ArchiveEntry& entry, std::size_t most) const {
  require(entry.size_bytes <= most, "[", operation, "] ", file_->name(), ": entry \"",
          json::excerpt(entry.name), "\" has ", entry.size_bytes, " bytes; at most ", most,
          " are allowed");
  const std::uint64_t most_inflated =
      inflated_text_bytes + most_text_inflation * entry.stored_bytes;
  require(!entry.is_deflated || entry.size_bytes <= most_inflated, "[", operation, "] ",
          file_->name(), ": entry \"", json::excerpt(entry.name), "\" inflates from ",
          entry.stored_bytes, " bytes to ", entry.size_bytes, "; at most ", most_inflated,
          " are allowed; store it as it is, as torch.export.save does");
  std::string text(entry.size_bytes, '\0');
  read(entry, std::as_writable_bytes(std::span(text)));
  return text;
}

std::byte* Archive::mapped(const ArchiveEntry& entry) const {
  return file_->data() == nullptr || entry.is_deflated ? nullptr : file_->data() + entry.offset;
}

}  // namespace tilewright::exported
