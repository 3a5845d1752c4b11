// Programs of a few operators each, against what PyTorch makes of them (tools/operator_cases.py
// writes the folder operators), with run_decompositions() and without.
#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"
#include "tests/source_folder.h"

namespace tilewright {
namespace {

using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::OneCall;
using testing::tensors_of;

const std::filesystem::path folder = source_folder() / "tests/models/operators";

class OperatorPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(OperatorPrograms, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam();
  const auto call = case_of(folder, name);
  for (const std::string& file : {name + ".pt2", name + "_decomposed.pt2"}) {
    SCOPED_TRACE(file);
    std::vector<Tensor> inputs = tensors_of(call["inputs"]);
    auto module = load_exported(folder / file);
    expect_near(module->forward(inputs), call["outputs"]);
    expect_near(inputs, call["after"]);
    auto fast = compile(*module, {.tell_breaks = false});
    inputs = tensors_of(call["inputs"]);
    expect_near(fast(inputs), call["outputs"]);
    expect_near(inputs, call["after"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, OperatorPrograms, ::testing::Values("given", "bits"),
                         [](const auto& of) { return std::string(of.param); });

TEST(GivenTensors, HaveTheShapeOfTheResultOrNoElements) {
  auto sum = [](const Tensor& out) {
    return OneCall("aten.add.out").with("self", ones({2, 3})).with("other", 1.0).with("out", out);
  };
  const Tensor room = zeros({2, 3}, i64).clone(), result = sum(room).one();
  EXPECT_EQ(result.data(), room.data());
  EXPECT_EQ(room.to_vector<std::int64_t>(), std::vector<std::int64_t>(6, 2));
  EXPECT_EQ(sum(zeros({0}, f64)).one().to_vector<double>(), std::vector<double>(6, 2));
  EXPECT_THAT(error_of([&] {
                sum(zeros({3, 3}).clone()).one();
              }),
              HasSubstr("aten.add.out writes to a tensor [3x3] what has another shape, [2x3]"));
}

// All are looked up by their functions' names; lists of results have no place to be written to.
TEST(GivenTensors, StandForTheOverloadsThatMakeNewOnes) {
  for (const char* name :
       {"aten.div.out", "aten.div.out_mode", "aten.divide.out", "aten.exp.out",
        "aten.eq.Scalar_out", "aten.sum.IntList_out", "aten.max.dim_max", "aten.sort.values_stable",
        "aten.where.self_out", "aten.special_xlogy.out", "aten.clamp.Tensor_out"}) {
    const auto op = exported::find_operator(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_TRUE(op->writes()) << name;
  }
  for (const char* name :
       {"aten.unbind_copy.int_out", "aten.split_copy.Tensor_out", "aten.out.out"})
    EXPECT_FALSE(exported::find_operator(name).has_value()) << name;
}

std::vector<std::uint8_t> bytes_of(const Tensor& x) {
  return OneCall("aten.view.dtype")
      .with("self", x)
      .with("dtype", u8)
      .one()
      .to_vector<std::uint8_t>();
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
}  // namespace tilewright
