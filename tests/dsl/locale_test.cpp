// Machine-readable output is the same whatever locale the host program has chosen.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/device.h"
#include "dsl/passes/pipeline.h"
#include "tests/grouped_locale.h"

namespace tilewright::dsl::locale_test {
namespace {

// With numbers of more than three digits and behind a point: sizes, offsets, constants.
ir::Function program() {
  Tracer tracer("scale");
  Tile x = tracer.pointer_param("x", f32);
  Desc rows = make_desc(x, {4096, 2048}, {2048, 1});
  Tile first = program_id(0) * 16;
  Tile block = load(rows, {first, 0}, {16, 2048});
  store(rows, {first, 0}, exp(block * 1234.5) + 65536.25);
  return tracer.finish();
}

std::string texts() {
  ir::Function host = program(), gpu = program();
  std::string all = ir::print(host);
  run_passes(host);
  run_passes(gpu, {.target = target_named("sm_90a")});
  all += ir::print(host) + ir::print(gpu);
  all += host_code_text(host, target_named("avx2"), "llvm");
  all += host_code_text(host, target_named("avx2"), "asm");
  return all + gpu::generate_ptx(gpu, target_named("sm_90a")).text;
}

TEST(Locale, ChangesNoTextOfAProgramNorOfItsCode) {
  std::string usual = texts();
  GroupedLocale german;
  EXPECT_EQ(texts(), usual);
}

TEST(Locale, ChangesNothingThatIsReadBack) {
  std::string usual = ir::print(program());
  GroupedLocale german;
  EXPECT_EQ(ir::print(ir::parse(usual)), usual);
  EXPECT_EQ(ir::content_hash(ir::parse(usual)), ir::content_hash(program()));
}

}  // namespace
}  // namespace tilewright::dsl::locale_test
