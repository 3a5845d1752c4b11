#include "runtime/files/regular_file.h"

#include <fcntl.h>
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

}  // namespace

std::string read_regular_file(const std::filesystem::path& file, std::string_view operation,
                              std::size_t most_bytes) {
  auto require_done = [&](bool is_done) {
    require(is_done, "[", operation, "] cannot read ", file.string(), ": ", std::strerror(errno));
  };
  Descriptor opened(file);
  require_done(opened.number >= 0);
  struct stat facts {};
  require_done(::fstat(opened.number, &facts) == 0);
  require(S_ISREG(facts.st_mode), "[", operation, "] ", file.string(),
          " is not a regular file; give the name of one");
  auto size = static_cast<std::size_t>(facts.st_size);
  require(size <= most_bytes, "[", operation, "] ", file.string(), " has ", size,
          " bytes; at most ", most_bytes, " are read");
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    ssize_t got = ::read(opened.number, text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    require_done(got >= 0);
    if (got == 0) break;  // another process has cut it short
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace tilewright
