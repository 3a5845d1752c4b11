// model.json of a .pt2 archive, which a checksum keeps from those who change the archive.
#include "models/exported/program/program.h"
#include "tests/fuzz/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  return fuzz::expect_answer(
      data, size, [](std::string_view bytes) { exported::read_program(bytes, "model.json"); });
}
