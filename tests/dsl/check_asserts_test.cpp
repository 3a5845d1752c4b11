// Tests of device_assert in kernels, and of the code that evaluates it.
#include "dsl/passes/check_asserts.h"

#include <gmock/gmock.h>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/launch/device.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::check_asserts_test {
namespace {

using testing::HasSubstr;
using Floats = std::vector<float>;

Kernel positive() {
  return Kernel("positive", [](Pointer x, Pointer out) {
    Tile at = program_id(0) * 32 + cast(arange(0, 32), i64);
    Tile row = load(x + at);
    device_assert(row >= 0.0, "x[{}] is {}, which is below {}", {at, row, 0});
    store(out + at, sqrt(row));
  });
}

const char* const devices[] = {"cpu", "emulated:sm_80", "emulated:sm_90a"};

TEST(DeviceAssert, NamesKernelProgramElementAndValues) {
  Floats x(128, 4), out(128);
  x[70] = -2.5F;
  x[71] = -3;
  for (const char* device : devices) {
    SCOPED_TRACE(device);
    Kernel kernel = positive().on(Device::parse(device)).with(Check::asserts);
    std::string error = error_of([&] { kernel.launch(4, x, out); });
    EXPECT_THAT(error, HasSubstr("check_asserts_test.cpp:"));
    EXPECT_THAT(error, HasSubstr("[device_assert] positive, program (2, 0, 0), element [6]: x[70] "
                                 "is -2.5, which is below 0"));
    EXPECT_EQ(out[127], 2) << "all programs have run";
  }
}

TEST(DeviceAssert, SaysNothingWhereAllHolds) {
  Floats x(128, 4), out(128);
  for (const char* device : devices) {
    positive().on(Device::parse(device)).with(Check::asserts).launch(4, x, out);
    EXPECT_EQ(out, Floats(128, 2));
    out.assign(128, 0);
  }
}

TEST(DeviceAssert, IsLookedAtOnlyWhereOneAsks) {
  Floats x(128, -4), out(128);
  for (const char* device : devices) {
    positive().on(Device::parse(device)).launch(4, x, out);
    positive().on(Device::parse(device)).with(Check::bounds).launch(4, x, out);
    EXPECT_THAT(
        error_of([&] { positive().on(Device::parse(device)).with(Check::all).launch(4, x, out); }),
        HasSubstr("[device_assert]"));
  }
  Setting check("TILEWRIGHT_CHECK", "asserts");
  EXPECT_THAT(error_of([&] { positive().launch(4, x, out); }), HasSubstr("[device_assert]"));
}

TEST(DeviceAssert, GoesTogetherWithBounds) {
  Kernel kernel("both", [](Pointer x) {
    device_assert(load(x) == 1, "first is {}", {load(x)});
    device_assert(load(x + 100) == 0);
  });
  std::vector<std::int32_t> x{1, 2};
  EXPECT_THAT(error_of([&] { kernel.on(Device::cpu()).with(Check::all).launch(1, x); }),
              HasSubstr("[load] program (0, 0, 0): index 100 of p0 is outside"));
  x[0] = 3;
  EXPECT_THAT(error_of([&] { kernel.on(Device::cpu()).with(Check::asserts).launch(1, x); }),
              HasSubstr("[device_assert] both, program (0, 0, 0): first is 3"));
}

TEST(DeviceAssert, StandsInLoopsAndShowsEveryType) {
  Kernel kernel("all", [](Pointer x, Pointer out) {
    for (Tile i : range(0, 10)) {
      Tile half = cast(i, f16) / 2.0, flag = i < 7;
      device_assert(flag, "{} {} {} {}", {i, half, flag, cast(i, u8)});
      store(out + i, load(x + i));
    }
    Tile grid = reshape(arange(0, 12), {3, 4});
    device_assert(grid != 6, "at {}", {grid * grid});
  });
  std::vector<std::int32_t> x(10, 1), out(10);
  for (const char* device : devices) {
    SCOPED_TRACE(device);
    std::string error =
        error_of([&] { kernel.on(Device::parse(device)).with(Check::asserts).launch(1, x, out); });
    EXPECT_THAT(error, HasSubstr("all, program (0, 0, 0): 7 3.5 0 7"));
  }
  ir::Function second = Kernel("grid", [](Pointer) {
                          Tile grid = reshape(arange(0, 12), {3, 4});
                          device_assert(grid != 6, "at {}", {grid * grid});
                        }).trace({i32});
  EXPECT_THAT(error_of([&] {
                ir::interpret(second, Grid{{1, 1, 1}}, std::vector<Argument>{{.pointer = nullptr}});
              }),
              HasSubstr("[device_assert] grid, program (0, 0, 0), element [1, 2]: at 36"));
  AssertChecks checks = check_asserts(second);
  EXPECT_FALSE(has_asserts(checks.function));
  std::vector<std::int64_t> report(checks.words);
  ir::interpret(checks.function, Grid{{1, 1, 1}},
                std::vector<Argument>{{.pointer = nullptr}, {.pointer = report.data()}});
  EXPECT_THAT(broken_assert(checks, report).value_or(""),
              HasSubstr("[device_assert] grid, program (0, 0, 0), element [1, 2]: at 36"));
}

TEST(DeviceAssert, IsReadAsItIsWritten) {
  const std::string text = "func @f(%c: bool, %x: f32) {\n  assert %c, %x, @\"x is {}\"\n}\n";
  EXPECT_EQ(ir::print(ir::parse(text)), text);
}

TEST(DeviceAssert, NamesWhatIsWrong) {
  auto error = [](const std::function<void()>& body) {
    return error_of([&] { Kernel("k", [&](Pointer) { body(); }).trace({i32}); });
  };
  EXPECT_THAT(error([] { device_assert(arange(0, 4)); }),
              HasSubstr("[assert] the condition is i32[4]; it must be bool"));
  EXPECT_THAT(error([] { device_assert(arange(0, 4) < 2, "{}"); }),
              HasSubstr("[assert] the text has 1 places for values, 0 are given"));
  EXPECT_THAT(error([] { device_assert(arange(0, 4) < 2, "{}", {arange(0, 3)}); }),
              HasSubstr("[device_assert] i32[3] does not broadcast to the shape 4"));
  EXPECT_THAT(error_of([] {
                ir::parse(
                    "func @f(%c: bool) {\n  %1 = arange 0 to 4 : i32[4]\n  assert %c, %1, "
                    "@\"{}\"\n}\n");
              }),
              HasSubstr("value 0 is i32[4]; it must be a scalar, or have the shape of the "
                        "condition"));
}

}  // namespace
}  // namespace tilewright::dsl::check_asserts_test
