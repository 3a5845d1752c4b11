// Launches that are refused before anything runs.
#include "dsl/language/launch_checks.h"

#include <gmock/gmock.h>

#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "tests/dsl/launch_error.h"
#include "tests/errors.h"

namespace tilewright::dsl::launch_checks_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// y[i] = 2 x[i] for 64 elements of each program.
const Kernel twice("twice",
                   [](Pointer x, Pointer y) {
                     Tile i = program_id(0) * 64 + cast(arange(0, 64), i64);
                     store(y + i, load(x + i) * 2.0);
                   },
                   {"x", "y"});

TEST(LaunchChecks, RefuseMemoryThatIsWrittenAndOverlaps) {
  std::vector<float> w(256);
  EXPECT_THAT(error_of([&] { twice.launch(4, w, w); }),
              AllOf(StartsWith("[twice] the arguments for x (1024 bytes at "),
                    HasSubstr(" and y (1024 bytes at "),
                    HasSubstr(" overlap, and the kernel writes y; give memory of its own, or have "
                              "the kernel take one Pointer for both")));
  std::span<float> all(w);
  EXPECT_THAT(error_of([&] { twice.launch(1, all.subspan(63), all.first(64)); }),
              HasSubstr("overlap, and the kernel writes y"));
  twice.launch(1, all.subspan(64, 64), all.first(64));  // side by side
}

TEST(LaunchChecks, RefuseOnePointerGivenTwiceThoughSizesAreNotKnown) {
  std::vector<float> w(64);
  EXPECT_THAT(error_of([&] { twice.launch(1, w.data(), w.data()); }),
              HasSubstr("x (memory of unknown size at "));
  EXPECT_THAT(error_of([&] { twice.launch(1, w, w.data() + 5); }), HasSubstr("overlap"));
}

TEST(LaunchChecks, LetMemoryThatIsOnlyReadBeGivenTwice) {
  Kernel sum("sum", [](Pointer x, Pointer y, Pointer out) {
    Tile i = arange(0, 64);
    store(out + i, load(x + i) + load(y + i));
  });
  std::vector<float> x(64, 3), out(64);
  sum.launch(1, x, x, out);
  EXPECT_EQ(out, std::vector<float>(64, 6));
}

TEST(LaunchChecks, KnowWhatIsWrittenByWhateverWay) {
  std::vector<float> w(64, 1);
  std::vector<std::int32_t> n(64, 1);
  auto overlaps = [](const Kernel& kernel, auto& memory) {
    return error_of([&] { kernel.launch(1, memory, memory); });
  };
  Kernel described("described", [](Pointer x, Pointer y) {
    Tile block = load(make_desc(x, {64}, {1}), {0}, {64});
    store(make_desc(y, {64}, {1}), {0}, block);
  });
  Kernel atomics("atomics", [](Pointer x, Pointer y) {
    atomic_add(y + arange(0, 64), load(x + arange(0, 64)));
  });
  Kernel carried("carried", [](Pointer x, Pointer y) {
    Var p = y + 0;
    for (Tile i : range(0, 4)) {
      store(p, load(x + i));
      p += 1;
    }
  });
  Kernel chosen("chosen",
                [](Pointer x, Pointer y) { store(where(program_id(0) == 0, x + 0, y + 0), 1.0); });
  EXPECT_THAT(overlaps(described, w), HasSubstr("the kernel writes p1"));
  EXPECT_THAT(overlaps(atomics, n), HasSubstr("the kernel writes p1"));
  EXPECT_THAT(overlaps(carried, w), HasSubstr("the kernel writes p1"));
  EXPECT_THAT(overlaps(chosen, w), HasSubstr("the kernel writes p0"));
}

TEST(LaunchChecks, RefuseConstMemoryThatIsWritten) {
  std::vector<float> x(64, 3);
  const std::vector<float> fixed(64, 1);
  EXPECT_EQ(launch_error_of([&] { twice.launch(1, x, fixed); }),
            "[twice] the argument for y is const, and the kernel writes to it; give memory that is "
            "not");
  EXPECT_THAT(error_of([&] { twice.launch(1, x, fixed.data()); }), HasSubstr("y is const"));
  EXPECT_THAT(error_of([&] { twice.launch(1, x, std::span(fixed)); }), HasSubstr("y is const"));
  twice.launch(1, fixed, x);
  EXPECT_EQ(x, std::vector<float>(64, 2));
}

TEST(LaunchChecks, RefuseNullThatIsUsed) {
  std::vector<float> x(64);
  float* null = nullptr;
  EXPECT_EQ(launch_error_of([&] { twice.launch(1, null, x); }),
            "[twice] the pointer for x is null, and the kernel reads through it; give memory");
  EXPECT_THAT(error_of([&] { twice.launch(1, x, null); }), HasSubstr("the kernel writes through"));
  twice.launch(0, x, null);  // which runs nothing
}

TEST(LaunchChecks, LetNullBeWhereTheKernelDoesNotLookOrNothingIs) {
  Kernel optional("optional", [](Pointer bias, Pointer y, Constexpr has_bias) {
    Tile i = arange(0, 64);
    store(y + i, has_bias ? load(bias + i) : zeros({64}, f32));
  });
  std::vector<float> y(64, 1), empty;
  optional.launch(1, static_cast<float*>(nullptr), y, 0);
  EXPECT_EQ(y, std::vector<float>(64, 0));
  Kernel masked("masked", [](Pointer x, Pointer y, Scalar n) {
    Tile i = cast(arange(0, 64), i64);
    store(y + i, load(x + i, i < n));
  });
  masked.launch(1, empty, y, 0);
  EXPECT_EQ(y, std::vector<float>(64, 0));
}

TEST(LaunchChecks, RefuseGridsBelowZeroAndBeyondCounting) {
  std::vector<float> x(64), y(64);
  EXPECT_EQ(launch_error_of([&] { twice.launch(-1, x, y); }),
            "[twice] the grid is -1 x 1 x 1; sizes are 0, which runs nothing, or more");
  EXPECT_THAT(error_of([&] {
                twice.launch({-1, -1}, x, y);
              }),
              HasSubstr("the grid is -1 x -1 x 1"));
  EXPECT_EQ(launch_error_of([&] {
              twice.launch({std::int64_t{1} << 40, std::int64_t{1} << 40}, x, y);
            }),
            "[twice] the grid is 1099511627776 x 1099511627776 x 1; it may have 2^63 - 1 programs "
            "at the most");
  std::vector<float> before = y;
  twice.launch({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}, x, y);
  EXPECT_EQ(y, before);
}

// Many launches of a program are one on a GPU, as far as its parameters have room for them.
TEST(MostLaunches, AreBoundedByTheParametersOfAGpu) {
  const ir::Function program = twice.trace({f32, f32});
  EXPECT_EQ(most_launches(program, Device::cpu()), SIZE_MAX);
  const std::size_t most = most_launches(program, Device::emulated("sm_80"));
  EXPECT_GT(most, 1U);
  EXPECT_LE(most, 4096U);
}

}  // namespace
}  // namespace tilewright::dsl::launch_checks_test
