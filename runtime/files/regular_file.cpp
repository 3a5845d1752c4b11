#include "runtime/files/regular_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

struct Descriptor {
  int number;
  explicit Descriptor(const std::filesystem::path& file)
      : number(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

// The opened file, and how many bytes it has.
class RegularFile {
 public:
  RegularFile(const std::filesystem::path& file, std::string_view operation, std::size_t most_bytes)
      : name_(file.string()), operation_(operation), opened_(file) {
    require_done(opened_.number >= 0);
    struct stat facts {};
    require_done(::fstat(opened_.number, &facts) == 0);
    require(S_ISREG(facts.st_mode), "[", operation, "] ", name_,
            " is not a regular file; give the name of one");
    size_ = static_cast<std::size_t>(facts.st_size);
    require(size_ <= most_bytes, "[", operation, "] ", name_, " has ", size_, " bytes; at most ",
            most_bytes, " are read");
  }
  std::size_t size() const { return size_; }
  // Null where the file system maps no files.
  const void* map() const {
    const void* pages = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, opened_.number, 0);
    require_done(pages != MAP_FAILED || errno == ENODEV);
    return pages == MAP_FAILED ? nullptr : pages;
  }
  // Gives how many there were: fewer, if another process has cut it short.
  std::size_t read(char* to) const {
    std::size_t done = 0;
    while (done < size_) {
      ssize_t got = ::read(opened_.number, to + done, size_ - done);
      if (got < 0 && errno == EINTR) continue;
      require_done(got >= 0);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  void require_done(bool is_done) const {
    require(is_done, "[", operation_, "] cannot read ", name_, ": ", std::strerror(errno));
  }

  std::string name_;
  std::string_view operation_;
  Descriptor opened_;
  std::size_t size_ = 0;
};

}  // namespace

std::string read_regular_file(const std::filesystem::path& file, std::string_view operation,
                              std::size_t most_bytes) {
  const RegularFile opened(file, operation, most_bytes);
  std::string text(opened.size(), '\0');
  text.resize(opened.read(text.data()));
  return text;
}

void read_regular_file(const std::filesystem::path& file, std::string_view operation,
                       std::size_t most_bytes,
                       const std::function<char*(std::size_t bytes)>& memory_of) {
  const RegularFile opened(file, operation, most_bytes);
  const std::size_t done = opened.read(memory_of(opened.size()));
  require(done == opened.size(), "[", operation, "] ", file.string(), " has ", done, " of ",
          opened.size(), " bytes now; another process writes to it");
}

std::optional<MappedFile> map_regular_file(const std::filesystem::path& file,
                                           std::string_view operation, std::size_t most_bytes) {
  const RegularFile opened(file, operation, most_bytes);
  const std::size_t size = opened.size();
  if (size == 0) return MappedFile{};
  const void* pages = opened.map();
  if (pages == nullptr) return std::nullopt;
  std::shared_ptr<const void> owner(
      pages, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  return MappedFile{{static_cast<const std::byte*>(pages), size}, std::move(owner)};
}

}  // namespace tilewright
