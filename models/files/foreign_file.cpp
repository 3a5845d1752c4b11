#include "models/files/foreign_file.h"

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

std::shared_ptr<ForeignFile> ForeignFile::open(const FilePath& path, std::string_view operation) {
  // Without O_NONBLOCK, opening a pipe put in the place of the file would wait for ever.
  int descriptor = ::open(path.string().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(descriptor >= 0, "[", operation, "] ", path.string(),
          ": cannot be opened: ", std::strerror(errno));
  return adopt(descriptor, path.string(), operation);
}

std::shared_ptr<ForeignFile> ForeignFile::adopt(int descriptor, std::string name,
                                                std::string_view operation) {
  std::shared_ptr<ForeignFile> file(new ForeignFile);
  file->descriptor_ = descriptor;
  file->name_ = std::move(name);
  struct stat status = {};
  require(::fstat(descriptor, &status) == 0, "[", operation, "] ", file->name_, ": ",
          std::strerror(errno));
  require(S_ISREG(status.st_mode), "[", operation, "] ", file->name_,
          ": not a regular file; a path to a file is needed");
  file->size_ = static_cast<std::size_t>(status.st_size);
  file->hard_links_ = static_cast<std::size_t>(status.st_nlink);
  return file;
}

std::shared_ptr<ForeignFile> ForeignFile::part(std::shared_ptr<const ForeignFile> whole,
                                               std::size_t offset, std::size_t size,
                                               std::string name) {
  check(offset <= whole->size() && size <= whole->size() - offset,
        "a part of a file does not lie inside it");
  std::shared_ptr<ForeignFile> file(new ForeignFile);
  file->name_ = std::move(name);
  file->size_ = size;
  file->hard_links_ = whole->hard_links();
  file->start_ = offset;
  file->data_ = whole->data() == nullptr ? nullptr : whole->data() + offset;
  file->whole_ = std::move(whole);
  return file;
}

void ForeignFile::read(std::size_t offset, std::span<std::byte> to,
                       std::string_view operation) const {
  if (whole_ != nullptr) return whole_->read(start_ + offset, to, operation);
  if (copy_ != nullptr) {
    std::copy_n(copy_.get() + offset, to.size(), to.begin());
    return;
  }
  for (std::size_t done = 0; done < to.size();) {
    ssize_t got =
        ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "[", operation, "] ", name_, ": cannot be read: ", std::strerror(errno));
    require(got > 0, "[", operation, "] ", name_, ": ended at byte ", offset + done, " of ", size_,
            "; another process changes it");
    done += static_cast<std::size_t>(got);
  }
}

std::string ForeignFile::text(std::size_t most, std::string_view operation) const {
  require(size_ <= most, "[", operation, "] ", name_, ": ", size_, " bytes of JSON; at most ", most,
          " are allowed");
  std::string text(size_, '\0');
  read(0, std::as_writable_bytes(std::span(text)), operation);
  return text;
}

void ForeignFile::hold(Reading reading, std::string_view operation) {
  if (reading == Reading::as_needed || size_ == 0) return;
  reading == Reading::mapped ? map(operation) : copy(operation);
}

void ForeignFile::map(std::string_view operation) {
  void* address =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  require(address != MAP_FAILED, "[", operation, "] ", name_, ": cannot map ", size_,
          " bytes: ", std::strerror(errno));
  data_ = static_cast<std::byte*>(address);
  is_mapped_ = true;
}

void ForeignFile::copy(std::string_view operation) {
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[size_]);
  require(copy != nullptr, "[", operation, "] ", name_, ": no memory for its ", size_, " bytes");
  read(0, {copy.get(), size_}, operation);
  copy_ = std::move(copy);
  data_ = copy_.get();
}

ForeignFile::~ForeignFile() {
  if (is_mapped_) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tilewright
