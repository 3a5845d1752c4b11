#include "runtime/cuda/machine_code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/files/atomic_file.h"

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;
constexpr char magic[8] = {'T', 'W', 'C', 'U', 'B', 'I', 'N', '1'};
constexpr std::int64_t largest_file = std::int64_t{256} << 20;
constexpr const char* extension = ".cubin";

// Before the machine code in a file.
struct FileHeader {
  char magic[8];
  std::uint64_t bytes;
  Hash key, content;
};

Hash content_of(const std::vector<char>& image) {
  return Hasher().add(std::string_view(image.data(), image.size())).finish();
}

// Empty where there is no folder.
fs::path path_of(const Hash& key) {
  fs::path folder = cache_folder("cuda");
  return folder.empty() ? folder : folder / (key.hex() + extension);
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

}  // namespace

std::vector<char> kept_machine_code(const Hash& key) {
  fs::path path = path_of(key);
  if (path.empty()) return {};
  OpenFile file(path);
  FileHeader header{};
  std::int64_t rest = file.size() - static_cast<std::int64_t>(sizeof header);
  if (rest < 0 || rest > largest_file || !file.read(&header, sizeof header)) return {};
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.key != key ||
      header.bytes != static_cast<std::uint64_t>(rest))
    return {};
  std::vector<char> image(header.bytes);
  bool is_whole = file.read(image.data(), image.size()) && content_of(image) == header.content;
  return is_whole ? image : std::vector<char>();
}

// If the file cannot be written, the code is not cached.
void keep_machine_code(const Hash& key, const std::vector<char>& image) {
  fs::path path = path_of(key);
  if (path.empty()) return;
  FileHeader header{{}, image.size(), key, content_of(image)};
  std::memcpy(header.magic, magic, sizeof magic);
  try {
    // An existing file that was not trusted would pass its mode on, or be a link to somewhere else.
    forget_machine_code(key);
    AtomicFile file(path, "cuda");
    file.write(&header, sizeof header);
    file.write(image.data(), image.size());
    file.commit();
    ::chmod(path.c_str(), 0600);
  } catch (const Error&) {
  }
  remove_abandoned(path.parent_path(), {});
  remove_oldest(path.parent_path(), most_kept_bytes);
}

void forget_machine_code(const Hash& key) {
  if (fs::path path = path_of(key); !path.empty()) ::unlink(path.c_str());
}

void remove_oldest(const fs::path& folder, std::int64_t most_bytes) {
  struct File {
    fs::path path;
    std::int64_t bytes;
    fs::file_time_type time;
  };
  std::vector<File> files;
  std::int64_t all = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process removes them too
    if (at->path().extension() != extension || !at->is_regular_file(gone)) continue;
    File file{at->path(), static_cast<std::int64_t>(at->file_size(gone)),
              at->last_write_time(gone)};
    if (gone) continue;
    all += file.bytes;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &File::time);
  for (const File& file : files) {
    if (all <= most_bytes) return;
    fs::remove(file.path, error);
    all -= file.bytes;
  }
}

}  // namespace tilewright::cuda
