#include "runtime/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Mode bits that a plain `open` would have given; mkstemp's are for the owner alone.
void allow_readers(int descriptor) {
  mode_t mask = ::umask(0);
  ::umask(mask);
  // A file system without modes refuses; the file then keeps what it has.
  [[maybe_unused]] int ignored = ::fchmod(descriptor, 0666 & ~mask);
}

// Makes the rename itself durable, where the file system can.
void sync_folder(const std::filesystem::path& folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& destination, std::string_view operation)
    : destination_(destination), operation_(operation) {
  temporary_ = destination.string() + ".XXXXXX.part";
  descriptor_ = ::mkostemps(temporary_.data(), 5, O_CLOEXEC);
  if (descriptor_ < 0) fail("create a file beside");
  allow_readers(descriptor_);
}

void AtomicFile::write(const void* data, std::size_t size_bytes) {
  const char* at = static_cast<const char*>(data);
  while (size_bytes > 0) {
    ssize_t written = ::write(descriptor_, at, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    at += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("bring to the disk");
  if (::rename(temporary_.c_str(), destination_.c_str()) != 0) fail("rename to");
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(destination_.has_parent_path() ? destination_.parent_path() : ".");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  raise_error(concat("[", operation_, "] cannot ", action, " ", destination_.string(), ": ",
                     std::strerror(errno)));
}

}  // namespace tilewright
