#include "runtime/kept/entry_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "runtime/base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr char magic[8] = {'T', 'W', 'E', 'N', 'T', 'R', 'Y', '1'};
constexpr std::int64_t largest_file = std::int64_t{256} << 20;
constexpr std::uint64_t keeps_for_each_tidying = 64;  // on average
constexpr std::chrono::hours unused_before_touched{1};

// Before the content of a file.
struct FileHeader {
  char magic[8];
  std::uint64_t bytes;
  Hash key, content;
};

Hash hash_of(std::span<const char> content) {
  return Hasher().add(std::string_view(content.data(), content.size())).finish();
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

std::vector<File> files_of(const fs::path& folder, std::string_view extension) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process removes them too
    if (at->path().extension() != extension || !at->is_regular_file(gone)) continue;
    File file{at->path(), static_cast<std::int64_t>(at->file_size(gone)),
              at->last_write_time(gone)};
    if (!gone) files.push_back(std::move(file));
  }
  return files;
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

std::vector<char> EntryStore::find(const Hash& key) const {
  fs::path path = path_of(key);
  if (path.empty()) return {};
  OpenFile file(path);
  FileHeader header{};
  std::int64_t rest = file.size() - static_cast<std::int64_t>(sizeof header);
  if (rest < 0 || rest > largest_file || !file.read(&header, sizeof header)) return {};
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.key != key ||
      header.bytes != static_cast<std::uint64_t>(rest))
    return {};
  std::vector<char> content(header.bytes);
  if (!file.read(content.data(), content.size()) || hash_of(content) != header.content) return {};
  note_use(path);
  return content;
}

void EntryStore::keep(const Hash& key, std::span<const char> content) const {
  fs::path path = path_of(key);
  if (path.empty()) return;
  FileHeader header{{}, content.size(), key, hash_of(content)};
  std::memcpy(header.magic, magic, sizeof magic);
  try {
    // An existing file that was not trusted would pass its mode on, or be a link to somewhere else.
    forget(key);
    AtomicFile file(path, folder_);
    file.write(&header, sizeof header);
    file.write(content.data(), content.size());
    file.commit(AtomicFile::Durability::unsynced);
    ::chmod(path.c_str(), 0600);
  } catch (const Error&) {
  }
  if (key.low % keeps_for_each_tidying == 0) tidy();
}

void EntryStore::forget(const Hash& key) const {
  if (fs::path path = path_of(key); !path.empty()) ::unlink(path.c_str());
}

void EntryStore::tidy(std::int64_t most_bytes) const {
  const fs::path folder = cache_folder(folder_);
  if (folder.empty()) return;
  remove_abandoned(folder, {});
  std::vector<File> files = files_of(folder, extension_);
  std::int64_t all = 0;
  for (const File& file : files) all += file.bytes;
  std::ranges::sort(files, {}, &File::time);
  for (const File& file : files) {
    if (all <= most_bytes) return;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    all -= file.bytes;
  }
}

}  // namespace tilewright
