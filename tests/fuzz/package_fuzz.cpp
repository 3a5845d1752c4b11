// A package, whose hashes are made to fit: its header, its plan, and the objects of its kernels.
#include <cstring>
#include <string>

#include "runtime/package/contents_bytes.h"
#include "runtime/package/loaded_package.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(data, size, [](std::string_view bytes) {
    std::string sealed(bytes);
    seal_package(sealed);
    auto memory = Buffer::allocate(std::ssize(sealed));
    if (!sealed.empty()) std::memcpy(memory->data(), sealed.data(), sealed.size());
    LoadedPackage(parse_package(blob_of(memory), "input", WeightHashes::ignored), "input");
  });
}
