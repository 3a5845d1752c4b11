// Typical mistakes of kernel authors in the language, and the message for each with the line of the
// kernel. They also have tests of their own (misuse_test.cpp); mistakes that show while programs
// run are in mistakes_in_memory_test.cpp.
#include "tests/dsl/mistakes.h"

#include "dsl/debugger/interpretation.h"
#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"

namespace tilewright::dsl::mistakes_test {
namespace {

using namespace testing_mistakes;

// The error from tracing a kernel with parameters x, y of f32, h of f16, and n.
template <typename F>
void trace(F body) {
  static_cast<void>(Kernel("traced", body, {"x", "y", "h", "n"}).trace({f32, f32, f16, i64}));
}

const Mistake in_the_language[] = {
    {"two element types meet", "[add] operands differ in type: f32 and f16; cast one of them",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer h, Scalar) { HERE, load(x) + load(h); });
     }},
    {"an index of 32 bits is added to a program's number",
     "[add] operands differ in type: i64 and i32[8]; cast one of them",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) { HERE, program_id(0) * 8 + arange(0, 8); });
     }},
    {"shapes do not broadcast", "[mul] the shapes 8x1 and 4x8 do not broadcast",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) {
         Tile column = expand_dims(cast(arange(0, 8), f32), 1);
         HERE, column* zeros({4, 8}, f32);
       });
     }},
    {"a tile has no elements", "[arange] the end 0 is not above the start 0",
     [](int& line) { trace([&](Pointer, Pointer, Pointer, Scalar) { HERE, arange(0, 0); }); }},
    {"a reshape changes the number of elements",
     "[reshape] f32[4x8] has 32 elements, the shape 4x4 16",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) { HERE, reshape(zeros({4, 8}, f32), {4, 4}); });
     }},
    {"operands of a dot lie the wrong way round",
     "[dot] inner sizes differ: a is 16x32, b is 16x32",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) {
         HERE, dot(zeros({16, 32}, f32), zeros({16, 32}, f32));
       });
     }},
    {"an accumulator of f16",
     "[dot] the accumulator is f16[16x16]; for these operands it must be f32[16x16]",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) {
         HERE, dot(zeros({16, 16}, f16), zeros({16, 16}, f16), zeros({16, 16}, f16));
       });
     }},
    {"a mask that is a number", "[load] the mask is i64[8]; it must be bool",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar) {
         Tile i = cast(arange(0, 8), i64);
         HERE, load(x + i, i);
       });
     }},
    {"a mask of another shape", "[load] bool[4] does not broadcast to the shape 8",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar n) {
         HERE, load(x + arange(0, 8), cast(arange(0, 4), i64) < n);
       });
     }},
    {"a value of another type is stored", "[store] the value is f16; it must be f32: cast it",
     [](int& line) {
       trace([&](Pointer, Pointer y, Pointer h, Scalar) { store(y, (HERE, load(h))); });
     }},
    {"a number is taken for a pointer", "[load] the address is i64; it must be a pointer",
     [](int& line) { trace([&](Pointer, Pointer, Pointer, Scalar n) { HERE, load(n); }); }},
    {"a tile that nothing was assigned to", "[add] an operand is an empty Tile",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar) {
         Tile sum;
         HERE, sum + load(x);
       });
     }},
    {"a tile of a loop is used behind it",
     "[mul] an operand was made inside a loop or if that has "
     "ended; to use it after, assign it to a Var",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar n) {
         Tile last;
         for (Tile i : range(0, n)) last = load(x + i);
         HERE, last * 2.0;
       });
     }},
    {"a variable changes its shape in a loop",
     "[assign] the variable is f32, the new value f32[8]; a variable keeps its type",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar n) {
         Var sum = load(x);
         for (Tile i : range(0, n)) HERE, sum = sum + load(x + i + arange(0, 8));
       });
     }},
    {"a loop is left by break", "[range] the loop was left by break or return",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar n) {
         for (Tile i : (HERE, range(0, n))) {
           static_cast<void>(i);
           break;
         }
       });
     }},
    {"a loop makes no step", "[range] the step is 0",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar n) {
         for (Tile i : (HERE, range(0, n, 0))) static_cast<void>(i);
       });
     }},
    {"a condition that is a tile", "[if] the condition is bool[8]; it must be a bool scalar",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar n) {
         HERE, if_(cast(arange(0, 8), i64) < n, [] {});
       });
     }},
    {"half of an index", "[constant] 0.5 does not fit i64, the type of the other operand",
     [](int& line) { trace([&](Pointer, Pointer, Pointer, Scalar n) { HERE, n * 0.5; }); }},
    {"an axis that is not there", "[reduce] the axis is 2; with 2 axes it must be from -2 to 1",
     [](int& line) {
       trace([&](Pointer, Pointer, Pointer, Scalar) { HERE, sum(zeros({4, 8}, f32), 2); });
     }},
    {"a descriptor lacks a stride", "[make_desc] there are 2 sizes and 1 strides",
     [](int& line) {
       trace([&](Pointer x, Pointer, Pointer, Scalar n) { HERE, make_desc(x, {n, n}, {n}); });
     }},
};

class MistakesInTheLanguage : public ::testing::TestWithParam<Mistake> {};
INSTANTIATE_TEST_SUITE_P(All, MistakesInTheLanguage, ::testing::ValuesIn(in_the_language));

TEST_P(MistakesInTheLanguage, NameTheLineAndTheValues) {
  expect_named(GetParam(), "mistakes_test.cpp");
}

}  // namespace
}  // namespace tilewright::dsl::mistakes_test
