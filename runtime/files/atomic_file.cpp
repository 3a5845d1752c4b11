#include "runtime/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "runtime/base/error.h"
#include "runtime/base/hash.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view part = ".part";
constexpr std::size_t word_length = 12;
constexpr std::time_t abandoned_seconds = 60 * 60;

// Makes the rename itself durable, where the file system can.
void sync_folder(const fs::path& folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

std::string random_word() {
  Hash bits;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    bits = {static_cast<std::uint64_t>(::getpid()), reinterpret_cast<std::uintptr_t>(&bits)};
  return Hasher().add(bits).finish().hex().substr(0, word_length);
}

// True if it is NAME.<word>.part, of that name or of any.
bool is_temporary_of(std::string_view name, std::string_view file) {
  std::size_t tail = 1 + word_length + part.size();
  if (file.size() <= tail || !file.ends_with(part)) return false;
  std::string_view destination = file.substr(0, file.size() - tail);
  std::string_view word = file.substr(destination.size() + 1, word_length);
  return file[destination.size()] == '.' &&
         word.find_first_not_of("0123456789abcdef") == word.npos &&
         (name.empty() || destination == name);
}

// The lock of a writer is gone with its process, however that ends.
bool is_abandoned(const fs::path& file) {
  int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat facts {};
  bool is_old_and_own = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                        facts.st_uid == ::geteuid() &&
                        facts.st_mtime < ::time(nullptr) - abandoned_seconds;
  bool is_alone = is_old_and_own && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return is_alone;
}

// The kernel's rule for protected links: a user with write access to a shared folder must not
// redirect others.
bool may_be_followed(const fs::path& link, const struct stat& facts) {
  struct stat folder {};
  if (::stat(folder_of(link).c_str(), &folder) != 0) return false;
  bool is_everybodys = (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) != 0;
  return !is_everybodys || facts.st_uid == ::geteuid() || facts.st_uid == folder.st_uid;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& destination, std::string_view operation)
    : destination_(destination), operation_(operation) {
  follow_links();
  struct stat facts {};
  bool is_there = ::stat(destination_.c_str(), &facts) == 0;
  require(!is_there || !S_ISDIR(facts.st_mode), "[", operation_, "] ", destination_.string(),
          " is a folder; the name of a file would be right");
  is_stream_ = is_stream_ || (is_there && !S_ISREG(facts.st_mode));
  if (!is_stream_)
    make_temporary();
  else if (::access(destination_.c_str(), W_OK) != 0)
    fail("write to");
}

// The links of /proc stand for what a process has open, which has no name that could be renamed to.
void AtomicFile::follow_links() {
  constexpr int most_links = 16;
  for (int i = 0; i < most_links; ++i) {
    struct stat facts {};
    if (::lstat(destination_.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return;
    require(may_be_followed(destination_, facts), "[", operation_, "] ", destination_.string(),
            " is a link that another user has put into a folder of everybody; remove it, or name "
            "another file");
    std::error_code error;
    fs::path folder = fs::canonical(folder_of(destination_), error);
    is_stream_ = folder.string().starts_with("/proc/");
    if (is_stream_) return;
    fs::path target = fs::read_symlink(destination_, error);
    destination_ = target.is_absolute() ? target : folder_of(destination_) / target;
  }
  raise_error(
      concat("[", operation_, "] ", destination_.string(), " is a link after too many others"));
}

// A pipe that nobody reads is an error, where an ordinary `open` would wait for ever.
void AtomicFile::open_stream() {
  descriptor_ =
      ::open(destination_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor_ < 0) fail("write to");
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
}

void AtomicFile::make_temporary() {
  struct stat old {};
  bool replaces = ::stat(destination_.c_str(), &old) == 0;
  do {
    temporary_ = concat(destination_.string(), ".", random_word(), part);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    descriptor_ = ::open(temporary_.c_str(), flags, replaces ? 0600 : 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("create a file beside");
  ::flock(descriptor_, LOCK_EX | LOCK_NB);  // for `is_abandoned`
  if (!replaces) return;
  // First the owner: changing it takes some modes away. Not everybody may, nor every file system.
  [[maybe_unused]] int ignored = ::fchown(descriptor_, old.st_uid, old.st_gid);
  ignored = ::fchmod(descriptor_, old.st_mode & 0777);
}

void AtomicFile::write(const void* data, std::size_t size_bytes) {
  if (is_stream_ && descriptor_ < 0) open_stream();
  const char* at = static_cast<const char*>(data);
  while (size_bytes > 0) {
    ssize_t written = ::write(descriptor_, at, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    at += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit(Durability durability) {
  const bool is_synced = durability == Durability::synced;
  if (!is_stream_) {
    if (is_synced && ::fsync(descriptor_) != 0) fail("bring to the disk");
    if (::rename(temporary_.c_str(), destination_.c_str()) != 0) fail("rename to");
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (is_stream_ || !is_synced) return;
  sync_folder(folder_of(destination_));
  remove_abandoned(folder_of(destination_), destination_.filename().string());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!is_stream_) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  raise_error(concat("[", operation_, "] cannot ", action, " ", destination_.string(), ": ",
                     std::strerror(errno)));
}

void remove_abandoned(const fs::path& folder, std::string_view name) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    bool is_candidate = is_temporary_of(name, at->path().filename().string());
    if (is_candidate && is_abandoned(at->path())) ::unlink(at->path().c_str());
  }
}

}  // namespace tilewright
