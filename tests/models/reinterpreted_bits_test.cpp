// Elements of exported programs seen as other types: of any size inside compile(), and their bits.
#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"

namespace tilewright::reinterpreted_bits_test {
namespace {

using ::testing::HasSubstr;
using testing::OneCall;

std::vector<std::uint8_t> bytes_of(const Tensor& x) {
  return OneCall("aten.view.dtype")
      .with("self", x)
      .with("dtype", u8)
      .one()
      .to_vector<std::uint8_t>();
}

// Between sums that are compiled with it, of sizes that are planned by one program.
TEST(ReinterpretedBits, AreOfAnySizeInsideCompile) {
  auto halves = [](const Tensor& x) {
    return OneCall("aten.view.dtype").with("self", x + 1.0).with("dtype", i16).one() + 1;
  };
  auto fast = compile(halves, {.fullgraph = true});
  for (std::int64_t rows : {2, 3, 700, 5}) {
    const Tensor x = arange(0, rows * 4).to(f32).reshape({rows, 4});
    const Tensor got = fast(x);
    EXPECT_EQ(got.shape(), (Shape{rows, 8}));
    EXPECT_EQ(got.to_vector<std::int16_t>(), halves(x).to_vector<std::int16_t>());
    EXPECT_EQ(got.select(0, 0).to_vector<std::int16_t>(),
              (std::vector<std::int16_t>{1, 0x3f81, 1, 0x4001, 1, 0x4041, 1, 0x4081}));
  }
}

// 0x7f800001 is a NaN that signals, which arithmetic would change.
TEST(ReinterpretedBits, AreThoseOfTheElements) {
  const Tensor bits = Tensor::from(std::vector<std::int32_t>{0x7f800001, -0x7fffffff}, {2});
  const Tensor floats = OneCall("aten.view.dtype").with("self", bits).with("dtype", f32).one();
  EXPECT_EQ(bytes_of(floats), (std::vector<std::uint8_t>{1, 0, 0x80, 0x7f, 1, 0, 0, 0x80}));
  EXPECT_EQ(bytes_of(ones({2}, DType::boolean)), (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(OneCall("aten.view.dtype").with("self", zeros({3, 0})).with("dtype", u8).one().shape(),
            (Shape{3, 0}));
  EXPECT_THAT(error_of([] {
                OneCall("aten.view.dtype").with("self", zeros({2, 3})).with("dtype", f64).one();
              }),
              HasSubstr("[view] the bits of f32 [2x3] are seen as f64; the last axis must be a "
                        "multiple of 2"));
}

}  // namespace
}  // namespace tilewright::reinterpreted_bits_test
