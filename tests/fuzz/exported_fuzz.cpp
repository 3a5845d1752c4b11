// A whole .pt2 archive: its zip directory, its program, its weights.
#include "models/exported/exported_module.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(data, size, [](std::string_view bytes) {
    const fuzz::File file(bytes);
    load_exported(file.path());
  });
}
