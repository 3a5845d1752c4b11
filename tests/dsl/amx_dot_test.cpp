// Products by tiles of AMX: that they are. That they are right is asked of all targets alike, in
// packed_dot_test.cpp and panel_dot_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/codegen/host/codegen.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"

namespace tilewright::dsl::amx_dot_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string assembly(DType dtype, std::int64_t rows, std::int64_t depth) {
  constexpr std::int64_t columns = 64;
  Tracer t("product");
  Tile a = t.pointer_param("a", dtype), b = t.pointer_param("b", dtype);
  DType sum = is_floating(dtype) ? f32 : DType::i32;
  Tile c = t.pointer_param("c", sum);
  Tile product = dot(load(make_desc(a, {rows, depth}, {depth, 1}), {0, 0}, {rows, depth}),
                     load(make_desc(b, {depth, columns}, {columns, 1}), {0, 0}, {depth, columns}));
  store(make_desc(c, {rows, columns}, {columns, 1}), {0, 0}, product);
  return host_code_text(t.finish(), target_named("amx"), "asm");
}

int count(const std::string& text, std::string_view word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Two by two tiles, of which each is loaded once, and a configuration a product.
TEST(AmxDot, MultipliesTwoByTwoTiles) {
  for (auto [dtype, instruction] :
       {std::pair(bf16, "tdpbf16ps"), std::pair(DType::i8, "tdpbssd")}) {
    std::string text = assembly(dtype, 64, 256);
    EXPECT_EQ(count(text, instruction), 4) << text;
    EXPECT_EQ(count(text, "\ttileloadd\t"), 2);    // of the left operand
    EXPECT_EQ(count(text, "\ttileloaddt1\t"), 2);  // of the right one
    EXPECT_EQ(count(text, "ldtilecfg"), 1);
    EXPECT_EQ(count(text, "tilerelease"), 1);
  }
}

// True if the left operand, which is the same in all iterations, is packed before the loop: by the
// first loop over its rows, while the program's own begins with a header.
bool packs_before_the_loop(std::int64_t depth) {
  constexpr std::int64_t rows = 512, columns = 64, all = 10 * columns;
  Tracer t("iterations");
  Tile a = t.pointer_param("a", bf16), b = t.pointer_param("b", bf16);
  Tile c = t.pointer_param("c", f32);
  Tile left = load(make_desc(a, {rows, depth}, {depth, 1}), {0, 0}, {rows, depth});
  for (Tile i : range(0, all, columns))
    store(make_desc(c, {rows, all}, {all, 1}), {0, i},
          dot(left, load(make_desc(b, {depth, all}, {all, 1}), {0, i}, {depth, columns})));
  std::string text = host_code_text(t.finish(), target_named("amx"), "llvm");
  auto header = text.find("\nheader"), rows_loop = text.find("\nloop:");
  EXPECT_NE(header, text.npos);
  EXPECT_NE(rows_loop, text.npos);
  return rows_loop < header;
}

TEST(AmxDot, PacksAMegabyteOfALeftOperandOnceForALoop) {
  EXPECT_TRUE(packs_before_the_loop(1024));
  EXPECT_FALSE(packs_before_the_loop(1024 + 32));
}

// Numbers of 32 bits, words that are not whole, and rows too few to be packed.
TEST(AmxDot, LeavesOthersToVectors) {
  EXPECT_THAT(assembly(f32, 64, 256), Not(HasSubstr("ldtilecfg")));
  EXPECT_THAT(assembly(bf16, 64, 255), Not(HasSubstr("ldtilecfg")));
  EXPECT_THAT(assembly(DType::i8, 64, 254), Not(HasSubstr("ldtilecfg")));
  EXPECT_THAT(assembly(bf16, 8, 256), Not(HasSubstr("ldtilecfg")));
}

}  // namespace
}  // namespace tilewright::dsl::amx_dot_test
