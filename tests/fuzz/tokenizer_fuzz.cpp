// A tokenizer.json, and what it makes of a text.
#include "models/tokenizer/tokenizer.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(data, size, [](std::string_view bytes) {
    const Tokenizer tokenizer = Tokenizer::parse(bytes, "tokenizer.json");
    tokenizer.decode(tokenizer.encode("Once upon a time, 12 caf\u00e9s"));
  });
}
