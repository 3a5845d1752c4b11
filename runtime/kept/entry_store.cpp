#include "runtime/kept/entry_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr char magic[8] = {'T', 'W', 'E', 'N', 'T', 'R', 'Y', '2'};
constexpr std::int64_t largest_file = std::int64_t{256} << 20;
// Writing this much tidies a share of the folder once on average: a folder of 100,000 files costs
// the writer 50 ms then, all of its files would half a second.
constexpr std::uint64_t bytes_for_each_tidying = 4 << 20;
constexpr std::string_view shares = "0123456789abcdef";  // by the first digit of a file's name
constexpr std::chrono::hours unused_before_touched{1};

// Then come the label and the key as text, a line each, and the content.
struct FileHeader {
  char magic[8];
  std::uint64_t text_bytes, bytes;
  Hash key, all;  // all: of text and content
};

Hash hash_of(std::string_view text, std::span<const char> content) {
  return Hasher().add(text).add(std::string_view(content.data(), content.size())).finish();
}

class OpenFile {
 public:
  // A pipe would be waited for without O_NONBLOCK.
  explicit OpenFile(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // -1 of what is not the user's own. By a second name it could be written elsewhere.
  std::int64_t size() const {
    struct stat facts {};
    bool is_own = descriptor_ >= 0 && ::fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode) &&
                  facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                  facts.st_nlink == 1;
    return is_own ? facts.st_size : -1;
  }
  bool read(void* to, std::size_t count) const {
    auto* at = static_cast<char*>(to);
    while (count > 0) {
      ssize_t got = ::read(descriptor_, at, count);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      count -= static_cast<std::size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
};

struct File {
  fs::path path;
  std::int64_t bytes;
  fs::file_time_type time;
};

fs::file_time_type time_of(const timespec& time) {
  using namespace std::chrono;
  return fs::file_time_type::clock::from_sys(
      sys_time<nanoseconds>(seconds(time.tv_sec) + nanoseconds(time.tv_nsec)));
}

// Those whose names begin so; one system call for each.
std::vector<File> files_of(const fs::path& folder, std::string_view extension,
                           std::string_view beginning = {}) {
  std::vector<File> files;
  std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return files;
  while (const dirent* at = ::readdir(open.get())) {
    const std::string_view name = at->d_name;
    if (!name.ends_with(extension) || !name.starts_with(beginning)) continue;
    struct stat facts {};  // another process removes files too
    if (::fstatat(::dirfd(open.get()), at->d_name, &facts, 0) != 0 || !S_ISREG(facts.st_mode))
      continue;
    files.push_back({folder / name, facts.st_size, time_of(facts.st_mtim)});
  }
  return files;
}

// Files of killed writers, and turns that ended so. No turn lasts an hour.
void remove_left_by_killed(const fs::path& folder) {
  remove_abandoned(folder, {});
  const auto now = fs::file_time_type::clock::now();
  for (const File& file : files_of(folder, EntryTurn::extension))
    if (now - file.time > std::chrono::hours(1)) ::unlink(file.path.c_str());
}

// Removes those that were used least recently until the others take at most this many bytes.
void remove_least_used(std::vector<File> files, std::int64_t most_bytes) {
  std::int64_t all = 0;
  for (const File& file : files) all += file.bytes;
  std::ranges::sort(files, {}, &File::time);
  for (const File& file : files) {
    if (all <= most_bytes) return;
    ::unlink(file.path.c_str());
    all -= file.bytes;
  }
}

// The parts of a file that is whole.
struct Contents {
  EntryKey key;
  std::string_view label;
  std::span<const char> content;
};

std::optional<Contents> parse(std::span<const char> file) {
  FileHeader header{};
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  file = file.subspan(sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.text_bytes > file.size() ||
      header.bytes != file.size() - header.text_bytes)
    return {};
  std::string_view text(file.data(), header.text_bytes);
  Contents found{{}, text.substr(0, text.find('\n')), file.subspan(header.text_bytes)};
  if (hash_of(text, found.content) != header.all) return {};
  text.remove_prefix(std::min(found.label.size() + 1, text.size()));
  found.key = EntryKey::parse(text);
  if (found.key.hash() != header.key) return {};
  return found;
}

// Empty if it is not the user's own, or cannot be read.
std::vector<char> own_file(const fs::path& path) {
  OpenFile file(path);
  const std::int64_t size = file.size();
  if (size < 0 || size > largest_file) return {};
  std::vector<char> bytes(static_cast<std::size_t>(size));
  if (!file.read(bytes.data(), bytes.size())) return {};
  return bytes;
}

// The time of a file is that of its last use, roughly.
void note_use(const fs::path& path) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  const auto used = fs::last_write_time(path, ignored);
  if (!ignored && now - used > unused_before_touched) fs::last_write_time(path, now, ignored);
}

}  // namespace

// Empty where there is no folder.
fs::path EntryStore::path_of(const Hash& key) const {
  fs::path folder = cache_folder(folder_);
  return folder.empty() ? folder : folder / (key.hex() + std::string(extension_));
}

std::vector<char> EntryStore::find(const EntryKey& key) const {
  const Hash hash = key.hash();
  const fs::path path = path_of(hash);
  if (path.empty()) return {};
  std::vector<char> file = own_file(path);
  const std::optional<Contents> found = parse(file);
  if (!found || found->key.hash() != hash) return {};
  note_use(path);
  file.erase(file.begin(), file.end() - static_cast<std::ptrdiff_t>(found->content.size()));
  return file;
}

void EntryStore::keep(const EntryKey& key, std::string_view label,
                      std::span<const char> content) const {
  const std::string text = concat(label.substr(0, label.find('\n')), "\n", key.text());
  FileHeader header{{}, text.size(), content.size(), key.hash(), hash_of(text, content)};
  std::memcpy(header.magic, magic, sizeof magic);
  std::vector<char> file(sizeof header + text.size() + content.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::ranges::copy(text, file.begin() + sizeof header);
  std::ranges::copy(content, file.end() - static_cast<std::ptrdiff_t>(content.size()));
  write(header.key, file);
}

EntryStore::Kept EntryStore::keep_file(std::span<const char> file) const {
  const std::optional<Contents> found = parse(file);
  if (!found) return Kept::damaged;
  return write(found->key.hash(), file) ? Kept::yes : Kept::not_written;
}

bool EntryStore::write(const Hash& key, std::span<const char> bytes) const {
  const fs::path path = path_of(key);
  if (path.empty()) return false;
  bool is_written = true;
  try {
    // An existing file that was not trusted would pass its mode on, or be a link to somewhere else.
    ::unlink(path.c_str());
    AtomicFile file(path, folder_);
    file.write(bytes.data(), bytes.size());
    file.commit(AtomicFile::Durability::unsynced);
    ::chmod(path.c_str(), 0600);
  } catch (const Error&) {
    is_written = false;
  }
  if (key.low % bytes_for_each_tidying < bytes.size()) tidy_a_share(key);
  return is_written;
}

void EntryStore::forget(const EntryKey& key) const {
  if (fs::path path = path_of(key.hash()); !path.empty()) ::unlink(path.c_str());
}

EntryTurn EntryStore::turn(const EntryKey& key) const {
  fs::path path = path_of(key.hash());
  if (!path.empty()) path.replace_extension(EntryTurn::extension);
  return EntryTurn(std::move(path));
}

void EntryStore::tidy(std::int64_t most_bytes) const {
  const fs::path folder = cache_folder(folder_);
  if (folder.empty()) return;
  remove_left_by_killed(folder);
  remove_least_used(files_of(folder, extension_), most_bytes);
}

// Keys are hashes, so the shares are about equal. Files of killed writers go with the first share.
void EntryStore::tidy_a_share(const Hash& key) const {
  const fs::path folder = cache_folder(folder_);
  if (folder.empty()) return;
  const std::size_t share = key.low / bytes_for_each_tidying % shares.size();
  if (share == 0) remove_left_by_killed(folder);
  remove_least_used(files_of(folder, extension_, shares.substr(share, 1)),
                    most_kept_bytes / static_cast<std::int64_t>(shares.size()));
}

std::vector<StoredEntry> EntryStore::entries() const {
  std::vector<StoredEntry> result;
  const fs::path folder = cache_folder(folder_);
  if (folder.empty()) return result;
  for (const File& file : files_of(folder, extension_)) {
    StoredEntry entry{{}, {}, file.path, file.bytes, file.time};
    const std::vector<char> bytes = own_file(file.path);
    if (std::optional<Contents> found = parse(bytes)) {
      entry.label = found->label;
      entry.is_whole = file.path.stem() == found->key.hash().hex();
      entry.key = std::move(found->key);
    }
    result.push_back(std::move(entry));
  }
  std::ranges::sort(result, {}, &StoredEntry::path);
  return result;
}

std::optional<StoredEntry> EntryStore::nearest(const EntryKey& key, std::string_view field) const {
  std::optional<StoredEntry> result;
  std::size_t least = 0;
  for (StoredEntry& entry : entries()) {
    if (!entry.is_whole || entry.key.value_of(field) != key.value_of(field)) continue;
    const std::size_t count = differences(key, entry.key).size();
    if (result && count >= least) continue;
    least = count;
    result = std::move(entry);
  }
  return result;
}

}  // namespace tilewright
