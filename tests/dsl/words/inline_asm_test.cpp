// PTX in kernels: what it means without a GPU, what becomes of it in the code for one, and what is
// refused.
#include "dsl/language/words/inline_asm.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/assembly/assembly.h"
#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/env.h"
#include "runtime/base/half.h"
#include "tests/dsl/occurrences.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::inline_asm_test {
namespace {

using testing::HasSubstr;
using Whole = std::vector<std::int32_t>;

const InlineAsm sum{.code = "add.s32 $0, $1, $2;", .constraints = "=r,r,r"};

template <typename Function>
ir::Function traced(const Function& function, const Signature& dtypes) {
  return Kernel("ptx", function).trace(dtypes);
}

std::string ptx_of(ir::Function function, const char* target) {
  run_passes(function, {.target = target_named(target)});
  return gpu::generate_ptx(function, target_named(target)).text;
}

// Assembles it where ptxas is there.
void expect_assembles(const std::string& ptx, const char* target) {
  std::string assembler = env::ptxas();
  if (assembler.empty() && std::system("ptxas --version > /dev/null 2>&1") == 0)
    assembler = "ptxas";
  if (assembler.empty()) return;
  const std::string stem = (std::filesystem::temp_directory_path() /
                            ("tilewright_inline_asm_" + std::to_string(getpid())))
                               .string();
  std::ofstream(stem + ".ptx") << ptx;
  const std::string command = assembler + " -arch=" + target + " " + stem + ".ptx -o " + stem +
                              ".cubin > " + stem + ".log 2>&1";
  const int status = std::system(command.c_str());
  std::ostringstream log;
  log << std::ifstream(stem + ".log").rdbuf();
  EXPECT_EQ(status, 0) << log.str() << ptx;
  for (const char* extension : {".ptx", ".cubin", ".log"})
    std::filesystem::remove(stem + extension);
}

TEST(InlineAsm, IsItsMeaningWithoutAGpu) {
  in_every_way(
      [](Pointer x, Pointer y) {
        Tile t = block(x, {3, 5});
        put(y, inline_asm_elementwise(sum, {t, block(x, {5})}, i32,
                                      [](const Tiles& a) { return a[0] + a[1]; }));
      },
      [](const Whole& x, const Whole& y) {
        for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(y[i], x[i] + x[i % 5]);
      },
      Whole{4, -1, 7, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Whole(15));
}

// Covers scalars, bools, floats of 16 bits that share registers, and a last group that is not full.
TEST(InlineAsm, PacksAndUnpacksEveryType) {
  in_every_way(
      [](Pointer x, Pointer h, Pointer b, Pointer out) {
        Tile t = block(x, {13}), flags = t > 3, halves = block(h, {13}), bytes = block(b, {13});
        auto same = [](const Tiles& a) { return a[0]; };
        auto through = [&](const Tile& a, const std::string& letters, int pack, DType to) {
          std::string constraints;
          for (char c : letters) constraints += std::string("=") + c + ",";
          for (char c : letters) constraints += std::string(1, c) + ",";
          constraints.pop_back();
          std::string code;
          for (std::size_t i = 0; i < letters.size(); ++i)
            code += concat("mov.b", ir::register_bits(letters[i]), " $", i, ", $",
                           letters.size() + i, ";\n");
          return inline_asm_elementwise({.code = code, .constraints = constraints, .pack = pack},
                                        {a}, to, same);
        };
        put(out, through(t, "r", 1, i32));
        put(out + 13, through(t, "rrrr", 4, i32));
        put(out + 26, cast(through(flags, "r", 4, boolean), i32));
        put(out + 39, cast(through(flags, "h", 1, boolean), i32));
        put(out + 52, cast(through(halves, "rr", 4, f16), i32));
        put(out + 65, cast(through(halves, "h", 1, f16), i32));
        put(out + 78, cast(through(bytes, "rr", 8, i8), i32));
        put(out + 91, cast(through(cast(t, f64), "dd", 2, f64), i32));
        put(out + 104, cast(through(cast(t, f32), "f", 1, f32), i32));
        put(out + 117, cast(through(cast(t, bf16), "r", 2, bf16), i32));
        put(out + 130, cast(through(cast(t, i64), "l", 1, i64), i32));
        put(out + 143, through(load(x), "r", 1, i32));
      },
      [](const Whole& x, const std::vector<Half>& h, const std::vector<std::int8_t>& b,
         const Whole& out) {
        for (std::size_t i = 0; i < 13; ++i) {
          const int flag = x[i] > 3, number = static_cast<int>(static_cast<float>(h[i]));
          const int expected[] = {x[i], x[i], flag, flag, number, number,
                                  b[i], x[i], x[i], x[i], x[i]};
          for (std::size_t k = 0; k < std::size(expected); ++k)
            EXPECT_EQ(out[13 * k + i], expected[k]) << k << ", element " << i;
        }
        EXPECT_EQ(out[143], x[0]);
      },
      Whole{4, -1, 7, 0, 9, 1, 2, 3, -4, 5, 6, 7, 8}, std::vector<Half>(13, Half(3)),
      std::vector<std::int8_t>{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13}, Whole(144));
}

TEST(InlineAsm, BecomesPtxThatAssembles) {
  const ir::Function function = traced(
      [](Pointer x, Pointer h, Pointer b, Pointer out) {
        Tile t = block(x, {256});
        // Four elements of a byte at a time, without a meaning.
        Tile bytes = inline_asm_elementwise(
            {.code = "{\n\t.reg .b32 t;\n\tand.b32 t, $1, 0x7f7f7f7f;\n\tmov.b32 $0, t;\n}",
             .constraints = "=r,r",
             .pack = 4},
            {block(b, {256})}, i8);
        Tile halves = inline_asm_elementwise(
            {.code = "mul.f16x2 $0, $1, $2;", .constraints = "=r,r,r", .pack = 2},
            {block(h, {256}), block(h, {256})}, f16);
        Tile quick = inline_asm_elementwise(
            {.code = "ex2.approx.ftz.f32 $0, $1;", .constraints = "=f,f"}, {cast(t, f32)}, f32);
        put(out, t + cast(bytes, i32) + cast(halves, i32) + cast(quick, i32));
      },
      {i32, f16, i8, i32});
  for (const char* target : {"sm_80", "sm_90a"}) {
    const std::string ptx = ptx_of(function, target);
    EXPECT_THAT(ptx, HasSubstr("0x7f7f7f7f"));
    EXPECT_THAT(ptx, HasSubstr("mul.f16x2"));
    EXPECT_THAT(ptx, HasSubstr("ex2.approx.ftz.f32"));
    expect_assembles(ptx, target);
  }
}

TEST(InlineAsm, RunsOnceForSeveralResultsOfWhatIsPure) {
  auto function = [](Pointer x, Pointer out) {
    Tile t = block(x, {32});
    Tiles both = inline_asm_elementwise(
        {.code = "add.s32 $0, $2, 1;\n\tmul.wide.s32 $1, $2, 3;", .constraints = "=&r,=l,r"}, {t},
        {i32, i64}, [](const Tiles& a) -> Tiles {
          return {a[0] + 1, cast(a[0], i64) * 3};
        });
    put(out, cast(both[0], i64) + both[1]);
  };
  const std::string ptx = ptx_of(traced(function, {i32, i64}), "sm_80");
  EXPECT_EQ(count_of(ptx, "mul.wide.s32"), count_of(ptx, "begin inline asm"));
  EXPECT_EQ(count_of(ptx, "mul.wide.s32"), 1);
  expect_assembles(ptx, "sm_80");
  in_every_way(
      function,
      [](const Whole& x, const std::vector<std::int64_t>& out) {
        for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 4 * x[i] + 1);
      },
      Whole(32, -7), std::vector<std::int64_t>(32));
}

TEST(InlineAsm, WhatIsNotPureIsNeitherMergedNorMovedNorDropped) {
  for (const bool is_pure : {true, false}) {
    const ir::Function function = traced(
        [&](Pointer out) {
          const InlineAsm clock{
              .code = "mov.u32 $0, %clock;", .constraints = "=r", .is_pure = is_pure};
          Tile begin = inline_asm_elementwise(clock, {}, i32), end = begin;
          inline_asm_elementwise(clock, {}, i32);  // nobody reads it
          for (Tile i : range(0, 4)) {
            end = inline_asm_elementwise(clock, {}, i32);
            store(out + i, end - begin);
          }
        },
        {i32});
    ir::Function passed = function;
    run_passes(passed, {.target = target_named("sm_80")});
    EXPECT_EQ(count_of(ir::print(passed), "inline_asm"), is_pure ? 1 : 3);
    const std::string ptx = ptx_of(function, "sm_80");
    if (!is_pure) EXPECT_GE(count_of(ptx, "%clock;"), 3);
    expect_assembles(ptx, "sm_80");
  }
}

TEST(InlineAsm, ThatDiffersIsNotMerged) {
  in_every_way(
      [](Pointer x, Pointer y) {
        Tile t = block(x, {8});
        auto same = [](const Tiles& a) { return a[0]; };
        Tile a = inline_asm_elementwise({.code = "neg.s32 $0, $1;", .constraints = "=r,r"}, {t},
                                        i32, same);
        Tile b = inline_asm_elementwise({.code = "abs.s32 $0, $1;", .constraints = "=r,r"}, {t},
                                        i32, same);
        put(y, a + b);
      },
      [](const Whole& x, const Whole& y) {
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(y[i], 2 * x[i]);
      },
      Whole(8, 3), Whole(8));
  const std::string ptx =
      ptx_of(traced(
                 [](Pointer x, Pointer y) {
                   Tile t = block(x, {8});
                   put(y, inline_asm_elementwise({"neg.s32 $0, $1;", "=r,r"}, {t}, i32) +
                              inline_asm_elementwise({"abs.s32 $0, $1;", "=r,r"}, {t}, i32));
                 },
                 {i32, i32}),
             "sm_80");
  EXPECT_THAT(ptx, HasSubstr("neg.s32"));
  EXPECT_THAT(ptx, HasSubstr("abs.s32"));
}

TEST(InlineAsm, ReadsBackFromItsText) {
  const ir::Function function = traced(
      [](Pointer x) {
        put(x, inline_asm_elementwise(
                   {.code = "{ .reg .pred p|q; } // \"a\" $$ | b\n\tmov.b32 $0, $1;",
                    .constraints = "=r,r",
                    .is_pure = false},
                   {block(x, {4})}, i32));
      },
      {i32});
  const std::string text = ir::print(function);
  EXPECT_EQ(ir::print(ir::parse(text)), text);
  EXPECT_EQ(ir::content_hash(ir::parse(text)), ir::content_hash(function));
  std::string other = text;
  other.replace(other.find("mov.b32"), 7, "not.b32");
  EXPECT_NE(ir::content_hash(ir::parse(other)), ir::content_hash(function));
}

TEST(InlineAsm, RefusesToRunWithoutAMeaning) {
  const ir::Function function = traced(
      [](Pointer x) {
        Tile t = block(x, {4});
        put(x, inline_asm_elementwise(sum, {t, t}, i32));
      },
      {i32});
  Whole x(4);
  const std::vector<Argument> arguments{{.pointer = x.data()}};
  for (const char* way : {"interpreter", "host", "sm_80", "sm_90a"}) {
    const std::string said = error_of([&] { run_function(way, function, arguments); });
    EXPECT_THAT(said, HasSubstr("inline_asm_test.cpp:")) << way;
    EXPECT_THAT(said,
                HasSubstr("[inline_asm] kernel ptx has PTX and no meaning beside it, which is all "
                          "that runs without a GPU; give inline_asm_elementwise a meaning"))
        << way;
  }
  EXPECT_THAT(ptx_of(function, "sm_80"), HasSubstr("add.s32"));
}

struct Refusal {
  InlineAsm assembly;
  std::string said;
};

TEST(InlineAsm, RefusesConstraintsAndTextThatDoNotFit) {
  const Refusal refusals[] = {
      {{"", "=r,r"}, "the PTX has 0 bytes; it has 1 to 65536"},
      {{std::string(65537, ' '), "=r,r"}, "the PTX has 65537 bytes; it has 1 to 65536"},
      {{std::string("mov\0", 4), "=r,r"}, "the PTX has the byte 0 at place 3; it is printable"},
      {{"mov\x80", "=r,r"}, "the PTX has the byte 128 at place 3"},
      {{"mov $2, $1;", "=r,r"}, "names $2; the constraints say that there are $0 to $1"},
      {{"mov $99999999999, $1;", "=r,r"}, "the PTX has a $ without a number at place 4"},
      {{"mov $r, $1;", "=r,r"}, "the PTX has a $ without a number at place 4"},
      {{"mov $", "=r,r"}, "the PTX has a $ without a number at place 4; write $0, $1, ..."},
      {{"mov ${0:x}", "=r,r"}, "the PTX has a $ without a number at place 4"},
      {{"} .entry f() {", "=r,r"}, "a } has no { before it; braces must match"},
      {{"{ mov", "=r,r"}, "a { has no } behind it; braces must match"},
      {{"{ // }", "=r,r"}, "a { has no } behind it; braces must match"},
      {{"mov /* $0", "=r,r"}, "a comment /* does not end; end it by */"},
      {{"mov", ""}, "the constraint \"\" of \"\" is unknown"},
      {{"mov", "r,r"}, "the constraints \"r,r\" have no result; the first begins with ="},
      {{"mov", "=r,q"}, "the constraint \"q\" of \"=r,q\" is unknown; each is h, r, l, f or d"},
      {{"mov", "=r,~{memory}"}, "the constraint \"~{memory}\""},
      {{"mov", "=r,r,=r"}, "the constraint \"=r\" of \"=r,r,=r\" stands behind an operand's"},
      {{"mov", "=r,r,r"}, "have 2 registers for operands; there are 1 where pack is 1"},
      {{"mov", "=r"}, "have 0 registers for operands; more are needed: 1 for each i32"},
      {{"mov", "=r,=r,r"}, "have 2 registers for results; there are 1 where pack is 1"},
      {{"mov", "=r,r", 2}, "have 1 registers for operands; more are needed: 2 for each i32"},
      {{"mov", "=r,r", 3}, "pack is 3; it must be 1, 2, 4, 8, 16 or 32"},
      {{"mov", "=r,r", 0}, "pack is 0; it must be 1, 2, 4, 8, 16 or 32"},
      {{"mov", "=r,r", 64}, "pack is 64; it must be 1, 2, 4, 8, 16 or 32"},
      {{"mov", "=h,r"}, "the constraint h is for 1 of i32, of 32 bits; it must be r, l or f"},
      {{"mov", "=r,d"}, "the constraint d is for 1 of i32, of 32 bits; it must be r, l or f"},
  };
  for (const Refusal& refusal : refusals)
    EXPECT_THAT(
        error_of([&] {
          traced([&](Pointer x) { inline_asm_elementwise(refusal.assembly, {block(x, {4})}, i32); },
                 {i32});
        }),
        testing::AllOf(HasSubstr("[inline_asm_elementwise] "), HasSubstr(refusal.said)));
}

TEST(InlineAsm, RefusesArgumentsAndMeaningsThatDoNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& said) {
    EXPECT_THAT(error_of([&] { traced([&](Pointer x) { body(x); }, {i32}); }), HasSubstr(said));
  };
  const InlineAsm one{"mov.b32 $0, $1;", "=r,r"};
  refused([&](Pointer x) { inline_asm_elementwise(one, {x}, i32); },
          "an argument is ptr<i32>; it must be a scalar or a tile of numbers");
  refused(
      [&](Pointer x) {
        inline_asm_elementwise(sum, {block(x, {4}), block(x, {3})}, i32);
      },
      "the shapes 4 and 3 do not broadcast");
  refused([&](Pointer x) { inline_asm_elementwise(one, {load(x)}, std::vector<DType>{}); },
          "there are no types of results; there is at least one");
  refused(
      [&](Pointer x) {
        inline_asm_elementwise(one, {load(x)}, i32, [](const Tiles& t) { return cast(t[0], f32); });
      },
      "the result of the meaning is f32; it must be i32: cast it");
  refused(
      [&](Pointer x) {
        inline_asm_elementwise(one, {load(x)}, i32, [&](const Tiles&) { return block(x, {4}); });
      },
      "does not broadcast to the shape");
  refused(
      [&](Pointer x) {
        inline_asm_elementwise({"mov", "=r,=r,r"}, {load(x)}, {i32, i32},
                               [](const Tiles& t) { return t; });
      },
      "the meaning gives 1 tiles; there are 2 results");
  refused(
      [&](Pointer x) {
        inline_asm_elementwise({"mov", "=r,=r,r", 1, false}, {load(x)}, {i32, i32});
      },
      "there are 2 results of impure code, which can have one result only");
}

TEST(InlineAsm, RefusesTextsOfTheIrThatAreNone) {
  auto refused = [](const std::string& text, const std::string& said) {
    const std::string program =
        concat("func @f(%x: ptr<i32>) {\n  %1 = load %x : i32\n  %2 = ", "inline_asm %1, %1, @\"",
               text, "\" : i32\n}\n");
    EXPECT_THAT(error_of([&] { ir::parse(program); }), HasSubstr(said));
  };
  const std::string form = "the text is not of the form";
  refused("mov.b32 $0, $1;", form);
  refused("mov.b32 $0, $1; | =r,r", form);
  refused("mov | =r,r | pack 1, from 0, pure", form);
  refused("mov | =r,r | pack x, from 0, pure, meant", form);
  refused("mov | =r,r | pack 1, from 0, poor, meant", form);
  refused("mov | =r,r | pack 1, from 0, pure, mean", form);
  refused("mov | =r,r | pack 1, from 1, pure, meant", "have 1 registers for results");
  refused("mov | =r,r | pack 1, from -1, pure, meant", "the result is from -1; it is from 0");
}

}  // namespace
}  // namespace tilewright::dsl::inline_asm_test
