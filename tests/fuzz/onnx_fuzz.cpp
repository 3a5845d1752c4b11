// A whole .onnx model: its messages, its graph, its tensors.
#include "models/onnx/onnx_module.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(data, size, [](std::string_view bytes) {
    const fuzz::File file(bytes);
    load_onnx(file.path());
  });
}
