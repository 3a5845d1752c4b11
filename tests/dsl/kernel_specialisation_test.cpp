// Inputs of launches besides arguments: grids that follow from numbers, knobs, devices; and the
// specialisations that programs are compiled for.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "dsl/ir/function.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "tests/errors.h"

namespace tilewright::dsl::kernel_specialisation_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// y[i] = 2 x[i]
Kernel twice() {
  return Kernel("twice",
                [](Pointer x, Pointer y, Scalar n, Scalar stride, Constexpr block) {
                  Tile i = program_id(0) * block + cast(arange(0, block), i64);
                  store(y + i * stride, load(x + i * stride, i < n) * 2.0, i < n);
                },
                {"x", "y", "n", "stride", "block"});
}

// Memory that begins so many elements after a multiple of 64 bytes.
struct Memory {
  explicit Memory(std::size_t shift) {
    std::size_t bytes = reinterpret_cast<std::uintptr_t>(all.data()) % 64;
    first = (bytes == 0 ? 0 : (64 - bytes) / 4) + shift;
    std::iota(all.begin(), all.end(), 0.F);
  }
  std::span<float> elements() { return std::span(all).subspan(first, 256); }
  std::vector<float> all = std::vector<float>(300);
  std::size_t first;
};

TEST(KernelSpecialisation, AGridMayFollowFromTheNumbersOfTheLaunch) {
  Memory x(0), y(0);
  auto grid = [](const Config& c) { return Grid{cdiv(c["n"], c["block"])}; };
  twice().launch(grid, x.elements(), y.elements(), 200, 1, 64);
  for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(y.elements()[i], 2 * x.elements()[i]);
  EXPECT_EQ(y.elements()[200], static_cast<float>(y.first + 200));  // as it was
  std::string text = error_of([&] {
    twice().launch([](const Config& c) { return Grid(c["rows"]); }, x.elements(), y.elements(), 8,
                   1, 64);
  });
  EXPECT_THAT(text, HasSubstr("[twice] a launch has no number \"rows\"; it has n, stride, block"));
  Kernel fill("fill", [](Pointer p) { store(p, 1.0); });
  EXPECT_THAT(error_of([&] { fill.launch([](const Config& c) { return Grid(c["n"]); }, x.all); }),
              HasSubstr("has no number \"n\"; it has none"));
}

TEST(KernelSpecialisation, ProgramsAreMadeForOneAndForMultiplesOfSixteen) {
  Kernel kernel = twice();
  Memory x(0), y(0);
  auto launch = [&](const Kernel& of, std::int64_t n, std::int64_t stride) {
    std::ranges::fill(y.all, 0.F);
    of.launch(4, x.elements(), y.elements(), n, stride, 64);
    for (std::int64_t i = 0; i < n; ++i) {
      auto at = static_cast<std::size_t>(i * stride);
      ASSERT_EQ(y.elements()[at], 2 * x.elements()[at]) << n << ", " << stride;
    }
  };
  launch(kernel, 64, 1);
  launch(kernel, 128, 1);
  EXPECT_EQ(kernel.compiled_count(), 1U);
  launch(kernel, 100, 1);  // no multiple
  EXPECT_EQ(kernel.compiled_count(), 2U);
  launch(kernel, 100, 2);  // no 1
  launch(kernel, 50, 3);
  EXPECT_EQ(kernel.compiled_count(), 3U);
  launch(kernel, 1, 3);
  EXPECT_EQ(kernel.compiled_count(), 4U);
  Kernel general = kernel.without_facts_of({"n", "stride"});
  launch(general, 64, 1);
  launch(general, 1, 3);
  launch(general, 100, 2);
  EXPECT_EQ(general.compiled_count(), 1U);
  EXPECT_THAT(error_of([&] { kernel.without_facts_of({"m"}); }),
              HasSubstr("[twice] there is no parameter m; there are x, y, n, stride, block"));
}

TEST(KernelSpecialisation, MemoryMayBeginAnywhere) {
  for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    Kernel kernel = twice().on(Device::parse(device));
    for (std::size_t shift : {0U, 4U, 1U}) {
      Memory x(shift), y(shift);
      kernel.launch(2, x.elements(), y.elements(), 128, 1, 64);
      for (std::size_t i = 0; i < 128; ++i) ASSERT_EQ(y.elements()[i], 2 * x.elements()[i]);
    }
    EXPECT_EQ(kernel.compiled_count(), 2U) << device;  // with and without 16 bytes
  }
}

TEST(KernelSpecialisation, KnobsAreForGpusAndWithinTheirRanges) {
  Memory x(0), y(0);
  for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    Kernel kernel = twice().on(Device::parse(device)).with(Knobs{.num_warps = 8});
    kernel.launch(2, x.elements(), y.elements(), 128, 1, 64);
    EXPECT_EQ(y.elements()[127], 2 * x.elements()[127]);
    EXPECT_EQ(kernel.knobs().num_warps, 8);
  }
  Signature signature{f32, f32, i64, i64, 64};
  EXPECT_THAT(ir::print(twice().with(Knobs{.num_warps = 2}).trace(signature)),
              HasSubstr("warps 2"));
  EXPECT_THAT(ir::print(twice().with(Knobs{.num_ctas = 4}).trace(signature)),
              HasSubstr("cluster 4"));
  EXPECT_THAT(ir::print(twice().with(Knobs{.num_stages = 3, .maxnreg = 64}).trace(signature)),
              HasSubstr("most_stages 3 most_registers 64"));
  EXPECT_THAT(error_of([] { twice().with(Knobs{.num_stages = 9}); }),
              HasSubstr("[twice] num_stages is 9; it must be from 1 to 8, or 0"));
  EXPECT_THAT(error_of([] { twice().with(Knobs{.maxnreg = 256}); }),
              HasSubstr("[twice] maxnreg is 256; it must be from 24 to 255, or 0"));
  EXPECT_THAT(error_of([] { twice().with(Knobs{.num_warps = 3}); }),
              HasSubstr("[twice] num_warps is 3; it must be a power of two from 1 to 32, or 0"));
  EXPECT_THAT(error_of([] { twice().with(Knobs{.num_ctas = 16}); }),
              HasSubstr("[twice] num_ctas is 16; it must be a power of two from 1 to 8"));
  Knobs knobs;
  EXPECT_TRUE(set_knob(knobs, "num_ctas", 2));
  EXPECT_FALSE(set_knob(knobs, "block", 2));
  EXPECT_EQ(knobs.num_ctas, 2);
}

TEST(KernelSpecialisation, KnobsOfALaunchHaveCodeOfTheirOwn) {
  Memory x(0), y(0);
  Kernel kernel = twice().on(Device::parse("emulated:sm_80"));
  const std::array<LaunchArgument, 5> arguments{x.elements(), y.elements(), 128, 1, 64};
  std::vector<std::size_t> counts;
  for (int warps : {2, 2, 4, 4, 2}) {
    kernel.launch_with(2, arguments, Knobs{.num_warps = warps});
    EXPECT_EQ(y.elements()[127], 2 * x.elements()[127]);
    counts.push_back(kernel.compiled_count());
  }
  EXPECT_THAT(counts, testing::ElementsAre(1, 1, 2, 2, 2));
}

TEST(KernelSpecialisation, ErrorsNameTheLineOfTheLaunch) {
  std::vector<float> x(64);
  const std::string here = "kernel_specialisation_test.cpp:" + std::to_string(__LINE__ + 1);
  std::string text = error_of([&] { twice().launch(1, x, x, 64, 1, 64); });
  EXPECT_THAT(text, AllOf(HasSubstr("[twice] the arguments for x"), HasSubstr("(launched at "),
                          HasSubstr(here)));
  EXPECT_THAT(error_of([&] {
                twice().launch({1, -2}, x, x.data(), 64, 1, 64);
              }),
              HasSubstr("the grid is 1 x -2 x 1"));
}

}  // namespace
}  // namespace tilewright::dsl::kernel_specialisation_test
