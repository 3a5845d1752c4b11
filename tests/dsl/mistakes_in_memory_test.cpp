// Typical mistakes that show while the programs of a kernel run, and the message for each: the
// line, the program and the values.
#include <limits>

#include "dsl/debugger/interpretation.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "tests/dsl/mistakes.h"
#include "tests/errors.h"

namespace tilewright::dsl::mistakes_in_memory_test {
namespace {

using namespace testing_mistakes;

// A kernel of x, y, n and block, interpreted for blocks of 4 programs, 16 elements each.
constexpr std::int64_t block = 16;
template <typename F>
void run(F body, Floats x, Floats y, std::int64_t n, InterpretOptions options = {}) {
  interpret(Kernel("run", body, {"x", "y", "n", "block"}), 4, {x, y, n, block}, options);
}

const Mistake in_memory[] = {
    {"a load without a mask at the edge",
     "[load] program (3, 0, 0), element 12: index 60 of x is outside: it has 60 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block);
             store(y + i, (HERE, load(x + i)), i < n);
           },
           Floats(60), Floats(60), 60);
     }},
    {"a store without a mask at the edge",
     "[store] program (3, 0, 0), element 12: index 60 of y is outside: it has 60 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block), values = load(x + i, i < n);
             HERE, store(y + i, values);
           },
           Floats(60), Floats(60), 60);
     }},
    {"a mask that is one too wide",
     "[load] program (3, 0, 0), element 12: index 60 of x is outside: it has 60 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block);
             store(y + i, (HERE, load(x + i, i <= n)), i < n);
           },
           Floats(60), Floats(60), 60);
     }},
    {"a mask that is one too narrow",
     "[store] index 59 of y is never written, nor are 0 others of its 60 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block), values = load(x + i, i < n);
             HERE, store(y + i, values, i < n - 1);
           },
           Floats(60), Floats(60), 60, {.complete = {"y"}});
     }},
    {"an index below zero",
     "[load] program (0, 0, 0), element 0: index -1 of x is outside: it has 64 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block);
             store(y + i, (HERE, load(x + i - 1, i < n)), i < n);
           },
           Floats(64), Floats(64), 64);
     }},
    {"a stride that is too large",
     "[load] program (0, 0, 0), element 32: index 64 of x is outside: it has 64 elements",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar, Constexpr) {
             Desc rows = make_desc(x, {8, 8}, {16, 1});
             store(make_desc(y, {8, 8}, {8, 1}), {0, 0}, (HERE, load(rows, {0, 0}, {8, 8})));
           },
           Floats(64), Floats(64), 64);
     }},
    {"a stride that is too small, so that rows overlap",
     "[store] program (0, 0, 0) writes index 4 of y twice: elements 4 and 8 of the tile, 4 and 8",
     [](int& line) {
       run(
           [&](Pointer, Pointer y, Scalar, Constexpr) {
             Desc rows = make_desc(y, {8, 8}, {4, 1});
             Tile values = reshape(cast(arange(0, 64), f32), {8, 8});
             HERE, store(rows, {0, 0}, values);
           },
           Floats(64), Floats(64), 64, {.races = true});
     }},
    {"memory that has no elements",
     "[load] program (0, 0, 0), element 0: index 0 of x is outside: "
     "it has 0 elements",
     [](int& line) {
       run([&](Pointer x, Pointer y, Scalar, Constexpr) { store(y, (HERE, load(x))); }, {},
           Floats(64), 64);
     }},
    {"one of two arrays, and beside both",
     "[load] program (0, 0, 0), element 0: a pointer that was chosen among parameters lies in the "
     "memory of none",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr) {
             Tile from = where(n > 0, x + n, y + n);
             store(y, (HERE, load(from)));
           },
           Floats(8), Floats(8), 1 << 20);
     }},
    {"programs do not look where they are",
     "[store] a race for index 0 of y: program (1, 0, 0) writes 1, and program (0, 0, 0) writes 0",
     [](int& line) {
       run(
           [&](Pointer, Pointer y, Scalar, Constexpr) {
             Tile mine = cast(program_id(0), f32);
             HERE, store(y, mine);
           },
           Floats(64), Floats(64), 64, {.races = true});
     }},
    {"programs of another axis write the same block",
     "[store] a race for index 1 of y: program "
     "(0, 1, 0) writes 2, and program (0, 0, 0) "
     "writes 1",
     [](int& line) {
       Floats y(64);
       Kernel kernel("axes",
                     [&](Pointer y, Constexpr block) {
                       Tile values = cast(arange(0, block) * cast(program_id(1) + 1, i32), f32);
                       HERE, store(y + block_of(block), values);
                     },
                     {"y", "block"});
       interpret(kernel, {2, 2}, {y, 16}, {.races = true});
     }},
    {"neighbours are read and written in one array",
     "[load] a race for index 15 of y: program (1, 0, 0) reads it, and program (0, 0, 0) writes",
     [](int& line) {
       run(
           [&](Pointer, Pointer y, Scalar, Constexpr block) {
             Tile i = block_of(block), before = (HERE, load(y + i - 1, i > 0));
             store(y + i, before + 1.0);
           },
           Floats(64), Floats(64), 64, {.races = true});
     }},
    {"sums of programs are added up without an atomic",
     "[load] a race for index 0 of y: program (1, 0, 0) reads it, and program (0, 0, 0) writes 16",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar, Constexpr block) {
             Tile part = sum(load(x + block_of(block)), 0);
             Tile before = (HERE, load(y));
             store(y, before + part);
           },
           Floats(64, 1), Floats(64), 64, {.races = true});
     }},
    {"a result is added to before it is set",
     "[load] program (0, 0, 0), element 0: index 0 of y is read before the kernel has written it",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block), before = (HERE, load(y + i, i < n));
             store(y + i, before + load(x + i, i < n), i < n);
           },
           Floats(64), Floats(64), 64, {.unwritten = {"y"}});
     }},
    {"an atomic sum begins with what was there",
     "[atomic] program (0, 0, 0), element 0: index 0 of y is read before the kernel has written it",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar, Constexpr block) {
             Tile part = sum(load(x + block_of(block)), 0);
             HERE, atomic_add(y, part);
           },
           Floats(64), Floats(64), 64, {.unwritten = {"y"}});
     }},
    {"a scatter meets itself",
     "[store] program (0, 0, 0) writes index 0 of y twice: elements 0 and 1 of the tile, 0 and 1",
     [](int& line) {
       run(
           [&](Pointer, Pointer y, Scalar, Constexpr block) {
             Tile values = cast(block_of(block), f32);
             HERE, store(y + block_of(block) / 2, values);
           },
           Floats(64), Floats(64), 64, {.races = true});
     }},
    {"a row that is masked as a whole",
     "[sub] program (1, 0, 0), element [0]: %19 = sub %16, %18 : f32[16] makes NaN of -inf and "
     "-inf; no operand has one there",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = cast(arange(0, block), i64);
             Tile row =
                 load(x + i, i + program_id(0) * 16 < n, -std::numeric_limits<double>::infinity());
             Tile top = max(row, 0);
             Tile away = (HERE, row - top);
             store(y + block_of(block), exp(away));
           },
           Floats(64), Floats(64), 16, {.nans = true});
     }},
    {"a mean of nothing",
     "[div] program (0, 0, 0), element []: %20 = div %15, %19 : f32 makes NaN of 0 and 0",
     [](int& line) {
       run(
           [&](Pointer x, Pointer y, Scalar n, Constexpr block) {
             Tile i = block_of(block);
             Tile all = sum(load(x + i, i < n), 0), count = sum(cast(i < n, f32), 0);
             Tile mean = (HERE, all / count);
             store(y + i, mean);
           },
           Floats(64), Floats(64), 0, {.nans = true});
     }},
};

class MistakesInMemory : public ::testing::TestWithParam<Mistake> {};
INSTANTIATE_TEST_SUITE_P(All, MistakesInMemory, ::testing::ValuesIn(in_memory));
TEST_P(MistakesInMemory, NameTheLineTheProgramAndTheValues) {
  expect_named(GetParam(), "mistakes_in_memory_test.cpp");
}

}  // namespace
}  // namespace tilewright::dsl::mistakes_in_memory_test
