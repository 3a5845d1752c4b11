// The header of a safetensors file and the tensors it names.
#include "models/weights/safetensors.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(data, size, [](std::string_view bytes) {
    const fuzz::File file(bytes);
    const Safetensors weights = Safetensors::open(file.path());
    for (const auto& entry : weights.entries()) weights.tensor(entry.name);
  });
}
