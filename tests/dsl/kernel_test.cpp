#include "dsl/language/kernel.h"
#include "dsl/ir/function.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "tests/errors.h"

namespace tilewright::dsl::kernel_test {
namespace {

Kernel scale() {
  return Kernel("scale",
                [](Pointer x, Scalar factor, Constexpr block) {
                  Tile at = x + (program_id(0) * block + cast(arange(0, block), i64));
                  store(at, load(at) * factor);
                },
                {"x", "factor", "block"});
}

TEST(Kernel, TracesItsFunctionForASignature) {
  EXPECT_EQ(ir::print(scale().trace({f32, f32, 16})),
            ir::print(ir::parse(R"(func @scale(%x: ptr<f32>, %factor: f32) {
  %a = arange 0 to 16 : i32[16]
  %b = cast %a, i64 : i64[16]
  %c = program_id 0 : i64
  %d = constant 16 : i64
  %e = mul %c, %d : i64
  %g = splat %e, [16] : i64[16]
  %h = add %g, %b : i64[16]
  %i = splat %x, [16] : ptr<f32>[16]
  %j = offset %i, %h : ptr<f32>[16]
  %l = load %j : f32[16]
  %m = splat %factor, [16] : f32[16]
  %n = mul %l, %m : f32[16]
  store %j, %n
})")));
}

TEST(Kernel, EachSignatureIsAProgramOfItsOwn) {
  Kernel kernel = scale();
  EXPECT_EQ(content_hash(kernel.trace({f32, f32, 16})), content_hash(kernel.trace({f32, f32, 16})));
  EXPECT_NE(content_hash(kernel.trace({f32, f32, 16})), content_hash(kernel.trace({f64, f64, 16})));
  EXPECT_NE(content_hash(kernel.trace({f32, f32, 16})), content_hash(kernel.trace({f32, f32, 8})));
}

TEST(Kernel, ParametersWithoutNamesAreNumbered) {
  Kernel kernel("k", [](const Pointer&, Constexpr, Scalar) {});
  EXPECT_EQ(ir::print(kernel.trace({f16, 3, i32})), "func @k(%p0: ptr<f16>, %p2: i32) {\n}\n");
}

TEST(Kernel, RefusesASignatureThatDoesNotFit) {
  EXPECT_EQ(error_of([] {
              scale().trace({f32, f32});
            }),
            "[scale] the signature has 2 entries; the kernel takes 3 parameters");
  EXPECT_EQ(error_of([] {
              scale().trace({f32, 1, 16});
            }),
            "[scale] entry 1 of the signature is a number; the parameter factor needs an element "
            "type");
  EXPECT_EQ(error_of([] {
              scale().trace({f32, f32, i64});
            }),
            "[scale] entry 2 of the signature is an element type; the parameter block needs the "
            "number of a Constexpr");
}

TEST(Kernel, RefusesNamesOfTheWrongNumber) {
  EXPECT_EQ(error_of([] {
              Kernel("k", [](Pointer) {}, {"a", "b"});
            }),
            "[k] there are 2 parameter names; the kernel takes 1 parameters");
}

TEST(Kernel, AMistakeInItsFunctionNamesTheLine) {
  auto line = std::source_location::current().line() + 1;
  Kernel kernel("k", [](Pointer p) { load(p) + program_id(0); });
  EXPECT_THAT(error_of([&] { kernel.trace({f32}); }),
              testing::StartsWith("kernel_test.cpp:" + std::to_string(line) + ": [add] "));
}

}  // namespace
}  // namespace tilewright::dsl::kernel_test
