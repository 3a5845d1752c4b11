#include "models/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

std::size_t size_of_file(int descriptor, const std::string& name, std::string_view operation) {
  struct stat status = {};
  require(::fstat(descriptor, &status) == 0, "[", operation, "] ", name, ": ",
          std::strerror(errno));
  require(S_ISREG(status.st_mode), "[", operation, "] ", name,
          ": not a regular file; a path to a file is needed");
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path,
                                             std::string_view operation, Reading reading,
                                             bool may_be_link) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->name_ = path.string();
  // Without O_NONBLOCK, opening a pipe put in the place of the file would wait for ever.
  file->descriptor_ =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (may_be_link ? 0 : O_NOFOLLOW));
  require(may_be_link || file->descriptor_ >= 0 || errno != ELOOP, "[", operation, "] ",
          file->name_, ": has become a link; a file is needed");
  require(file->descriptor_ >= 0, "[", operation, "] ", file->name_,
          ": cannot be opened: ", std::strerror(errno));
  file->size_ = size_of_file(file->descriptor_, file->name_, operation);
  if (file->size_ == 0) return file;
  if (reading == Reading::mapped)
    file->map(operation);
  else
    file->copy(operation);
  file->check_unchanged(operation);
  return file;
}

void MappedFile::map(std::string_view operation) {
  void* address =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  require(address != MAP_FAILED, "[", operation, "] ", name_, ": cannot map ", size_,
          " bytes: ", std::strerror(errno));
  data_ = static_cast<std::byte*>(address);
  is_mapped_ = true;
}

void MappedFile::copy(std::string_view operation) {
  copy_.reset(new (std::nothrow) std::byte[size_]);
  require(copy_ != nullptr, "[", operation, "] ", name_, ": no memory for its ", size_, " bytes");
  data_ = copy_.get();
  for (std::size_t done = 0; done < size_;) {
    ssize_t got = ::read(descriptor_, data_ + done, size_ - done);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "[", operation, "] ", name_, ": cannot be read: ", std::strerror(errno));
    require(got > 0, "[", operation, "] ", name_, ": ended at byte ", done, " of ", size_,
            "; another process changes it");
    done += static_cast<std::size_t>(got);
  }
}

void MappedFile::read(std::int64_t offset, std::span<std::byte> to,
                      std::string_view operation) const {
  if (!is_mapped_) {
    std::ranges::copy(bytes().subspan(static_cast<std::size_t>(offset), to.size()), to.begin());
    return;
  }
  for (std::size_t done = 0; done < to.size();) {
    ssize_t got = ::pread(descriptor_, to.data() + done, to.size() - done,
                          offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "[", operation, "] ", name_, ": cannot be read: ", std::strerror(errno));
    require(got > 0, "[", operation, "] ", name_, ": ended at byte ",
            static_cast<std::size_t>(offset) + done, " of ", size_, "; another process changes it");
    done += static_cast<std::size_t>(got);
  }
}

void MappedFile::check_unchanged(std::string_view operation) const {
  std::size_t now = size_of_file(descriptor_, name_, operation);
  require(!is_mapped_ || now >= size_, "[", operation, "] ", name_, ": shrank from ", size_, " to ",
          now, " bytes since it was opened; another process changes it");
}

MappedFile::~MappedFile() {
  if (is_mapped_) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tilewright
