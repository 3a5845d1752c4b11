// Typical mistakes of kernel authors, and the message for each: the line of the kernel, and, where
// the mistake shows while programs run, which program and which values. Mistakes that are found
// while a kernel is traced also have tests of their own (misuse_test.cpp).
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "dsl/debugger/interpretation.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "tests/errors.h"

namespace tilewright::dsl::mistakes_test {
namespace {

using ::testing::HasSubstr;

using Floats = std::vector<float>;
using Call = std::function<void()>;

struct Mistake {
  const char* name;
  const char* expected;  // behind the line
  // Makes the mistake, with the line that must be named in `line`; 0: that of the launch.
  void (*make)(int& line);
};

// The line of the kernel on which this stands.
#define HERE line = __LINE__

Tile block_of(Constexpr block) { return program_id(0) * block + cast(arange(0, block), i64); }

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

void expect_named(const Mistake& mistake) {
  int line = 0;
  const std::string message = error_of([&] { mistake.make(line); });
  EXPECT_THAT(message, HasSubstr(mistake.expected)) << mistake.name;
  EXPECT_THAT(message, HasSubstr("mistakes_test.cpp:" + std::to_string(line) + ": ["))
      << mistake.name;
}

TEST_P(MistakesInTheLanguage, NameTheLineAndTheValues) { expect_named(GetParam()); }

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
TEST_P(MistakesInMemory, NameTheLineTheProgramAndTheValues) { expect_named(GetParam()); }

// Those that are of the launch name its line.
TEST(MistakesOfALaunch, NameTheLineOfTheLaunch) {
  Kernel kernel("copy",
                [](Pointer x, Pointer y, Scalar n, Constexpr block) {
                  Tile i = block_of(block);
                  store(y + i, load(x + i, i < n), i < n);
                },
                {"x", "y", "n", "block"});
  Floats x(8), y(8);
  const Floats constant(8);
  const Kernel host = kernel.on(Device::cpu());
  struct Case {
    Call call;
    const char* expected;
  };
  const Case cases[] = {
      {[&] { host.launch(1, x, y, 8); }, "[copy] there are 3 arguments; the kernel takes 4"},
      {[&] { host.launch(1, x, 8, y, 8); }, "[copy] the argument for y is a number; it must be a"},
      {[&] { host.launch(1, x, y, 8, 8.0F); }, "[copy] the argument for block is f32; a Constexpr"},
      {[&] { host.launch(1, x, constant, 8, 8); }, "[copy] the argument for y is const"},
      {[&] { host.launch(1, x, x, 8, 8); }, "overlap, and the kernel writes y"},
      {[&] { host.launch(1, static_cast<float*>(nullptr), y, 8, 8); },
       "[copy] the pointer for x is null"},
      {[&] { host.launch(Grid(-1), x, y, 8, 8); }, "[copy] the grid is -1 x 1 x 1"},
  };
  for (const Case& mistake : cases) {
    const std::string message = error_of(mistake.call);
    EXPECT_THAT(message, HasSubstr(mistake.expected));
    EXPECT_THAT(message, HasSubstr("(launched at mistakes_test.cpp:"));
  }
}

}  // namespace
}  // namespace tilewright::dsl::mistakes_test
