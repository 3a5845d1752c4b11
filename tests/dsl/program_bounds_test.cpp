#include "dsl/codegen/gpu/plan/program_bounds.h"

#include <gmock/gmock.h>

#include <ctime>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::dsl::program_bounds_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string copy_of(const std::string& shape) {
  return "func @f(%p: ptr<f32>) {\n  %a = splat %p, [" + shape + "] : ptr<f32>[" + shape +
         "]\n  %b = load %a : f32[" + shape + "]\n  store %a, %b\n}\n";
}

std::string product_of(int rows, int inner, int columns) {
  std::string a = concat(rows, "x", inner), b = concat(inner, "x", columns);
  std::string sum = concat(rows, "x", columns);
  return concat("func @f(%p: ptr<f32>) {\n  %x = splat %p, [", a, "] : ptr<f32>[", a,
                "]\n  %a = load %x : f32[", a, "]\n  %y = splat %p, [", b, "] : ptr<f32>[", b,
                "]\n  %b = load %y : f32[", b, "]\n  %z = splat %p, [", sum, "] : ptr<f32>[", sum,
                "]\n  %c = load %z : f32[", sum, "]\n  %d = dot %a, %b, %c : f32[", sum,
                "]\n  store %z, %d\n}\n");
}

std::string many_parameters(int count) {
  std::string text = "func @f(";
  for (int i = 0; i < count; ++i) text += concat(i == 0 ? "" : ", ", "%p", i, ": ptr<f32>");
  return text + ") {\n  %x = load %p0 : f32\n  store %p1, %x\n}\n";
}

std::string refusal(const std::string& text, const std::string& target = "sm_90a") {
  try {
    gpu::generate_ptx(ir::parse(text), target_named(target));
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "none";
}

TEST(ProgramBounds, NameTheTileThatAThreadCannotHold) {
  EXPECT_EQ(refusal(copy_of("1024x1024")),
            "[splat] the tile ptr<f32>[1024x1024] is 2048 elements for each of 512 threads; sm_90a "
            "takes 512 at the most, with sizes rounded up to powers of two; use tiles of up to "
            "262144 elements, or a loop over smaller ones");
  EXPECT_THAT(refusal(copy_of("3x5x7x11x13x17x19x23")),
              HasSubstr("[splat] the tile ptr<f32>[3x5x7x11x13x17x19x23] is 4194304 elements"));
  EXPECT_THAT(refusal(copy_of("1099511627776")), HasSubstr("is 2147483648 elements"));
  EXPECT_THAT(refusal(copy_of("262145")), HasSubstr("is 1024 elements for each of 512 threads"));
  EXPECT_EQ(refusal(copy_of("262144")), "none");
}

// The passes that lay tiles out are refused such a tile as well, where they are asked for by name.
TEST(ProgramBounds, HoldForPassesByThemselves) {
  ir::Function program = ir::parse(copy_of("2147483648"));
  const std::string names[] = {"assign_layouts"};
  try {
    run_named_passes(program, names, target_named("sm_90a"));
    FAIL() << "it was laid out";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("is 4194304 elements for each of 512 threads"));
  }
}

TEST(ProgramBounds, CountTheWarpsThatAProgramSays) {
  auto over = [](const std::string& warps, const std::string& shape) {
    std::string text = copy_of(shape);
    return refusal(text.insert(text.find(" {"), warps));
  };
  EXPECT_EQ(over(" warps 1", "16384"), "none");
  EXPECT_EQ(over(" warps 1", "32768"),
            "[splat] the tile ptr<f32>[32768] is 1024 elements for each of 32 threads; sm_90a "
            "takes 512 at the most, with sizes rounded up to powers of two; use tiles of up to "
            "16384 elements, or a loop over smaller ones");
  EXPECT_EQ(over("", "32768"), "none");
  EXPECT_EQ(over(" warps 32", "524288"), "none");
}

TEST(ProgramBounds, CountWhatDoesNotFitIntoAnAxis) {
  for (const char* end : {"2147483647", "1073741825"})
    EXPECT_THAT(refusal(concat("func @f(%p: ptr<i32>) {\n  %a = arange 0 to ", end, " : i32[", end,
                               "]\n  %m = reduce %a, max 0 : i32\n  store %p, %m\n}\n")),
                AllOf(HasSubstr(concat("[arange] the tile i32[", end, "]")),
                      HasSubstr("4194304 elements for each of 512 threads")));
}

TEST(ProgramBounds, CountTheInstructionsOfProducts) {
  EXPECT_THAT(refusal(product_of(512, 4096, 512), "sm_80"), HasSubstr("[splat] the tile"));
  EXPECT_THAT(refusal(product_of(512, 512, 512), "sm_80"),
              AllOf(HasSubstr("[dot] the program is more than 32768 instructions of a thread"),
                    HasSubstr("use smaller tiles")));
  EXPECT_EQ(refusal(product_of(128, 128, 128), "sm_80"), "none");
}

TEST(ProgramBounds, CountTheBytesOfParameters) {
  EXPECT_EQ(refusal(many_parameters(512)), "none");
  try {
    gpu::generate_ptx(ir::parse(many_parameters(513)), target_named("sm_80"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "[codegen] f has 513 parameters of 4104 bytes; sm_80 takes 4096 bytes at the most; "
        "put numbers into an array");
  }
}

TEST(ProgramBounds, LeaveTheHostItsPrograms) {
  for (const std::string& text : {copy_of("1024x1024"), copy_of("3x5x7x11x13x17x19x23"),
                                  product_of(1024, 1024, 1024), many_parameters(4096)})
    EXPECT_FALSE(host_code_text(ir::parse(text), host_target(), "llvm").empty());
  try {
    host_code_text(ir::parse(many_parameters(4097)), host_target(), "llvm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[codegen] f has 4097 parameters; a processor's code takes 4096 at the most; put "
                 "numbers into an array");
  }
}

TEST(ProgramBounds, OfTheHostAreInstructionsWithoutABranch) {
  std::string text = "func @f(%p: ptr<f32>) {\n  %v0 = load %p : f32\n";
  for (int i = 0; i < 3000; ++i) text += concat("  %v", i + 1, " = erf %v", i, " : f32\n");
  ir::Function program = ir::parse(text + "  store %p, %v3000\n}\n");
  run_passes(program, {.target = host_target()});
  try {
    host_code_text(program, host_target(), "llvm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("[codegen] f has "),
              HasSubstr(" instructions of LLVM with no loop or branch between them; 65536 are "
                        "compiled at the most; use loops, or several kernels")));
  }
}

// A condition of its own for each store made LLVM compare all with all.
TEST(ProgramBounds, StoresOfNumbersShareTheQuestionWhichThreadIsTheFirst) {
  auto conditions = [](int count) {
    std::string text = "func @f(%p: ptr<f32>, %q: ptr<f32>) {\n";
    for (int i = 0; i < count; ++i)
      text += concat("  %x", i, " = load %p : f32\n  store %q, %x", i, "\n");
    std::string code = gpu::gpu_llvm_text(ir::parse(text + "}\n"), target_named("sm_90a"));
    int found = 0;
    for (std::size_t at = 0; (at = code.find(" = icmp ", at)) != code.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(conditions(30), conditions(3));
}

}  // namespace
}  // namespace tilewright::dsl::program_bounds_test
