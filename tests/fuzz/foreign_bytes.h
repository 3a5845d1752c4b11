// Shared by the fuzz targets: bytes as a file, and the allowed outcomes. A reader of foreign files
// gives a result, an Error or bad_alloc; whatever else it raises ends the process, which libFuzzer
// reports with the input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace tilewright::fuzz {

// A file in memory with these bytes.
class File {
 public:
  explicit File(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    check(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) >= 0,
          "no file in memory");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

template <typename Read>
int expect_answer(const std::uint8_t* data, std::size_t size, Read&& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}

}  // namespace tilewright::fuzz
