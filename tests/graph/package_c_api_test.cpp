// The C interface of packages, as a program in C++ sees it; examples/17_packages has one in C.
#include "include/tilewright/c_api.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::package_c_api_test {
namespace {

class PackagesInC : public testing::Test {
 protected:
  void SetUp() override {
    TILEWRIGHT_ON_THE_HOST_ONLY("packages");
    const std::string file = (folder_.path() / "model.twp").string();
    auto fast = compile(
        [](const Tensor& x) {
          return std::vector<Tensor>{x * 2, x.sum(), x.transpose(0, 1)};
        },
        {.argument_names = {"x"}});
    const Tensor x = counted({2, 4});
    fast(x);
    fast.save_package(file, {"twice", "total", "turned"});
    package_ = tilewright_load(file.c_str());
    file_ = file;
    ASSERT_NE(package_, nullptr) << tilewright_last_error();
  }
  void TearDown() override { tilewright_free(package_); }

  ScratchFolder folder_;
  std::string file_;
  tilewright_package* package_ = nullptr;
};

TEST_F(PackagesInC, AreDescribed) {
  EXPECT_EQ(tilewright_signatures(package_), 1U);
  EXPECT_EQ(tilewright_inputs(package_, 0), 1U);
  EXPECT_EQ(tilewright_outputs(package_, 0), 3U);
  EXPECT_EQ(tilewright_outputs(package_, 1), 0U);
  tilewright_tensor_info info;
  ASSERT_EQ(tilewright_input(package_, 0, 0, &info), 0);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.dtype, "f32");
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[1], 4);
  EXPECT_EQ(info.bytes, 32);
  EXPECT_EQ(info.is_written, 0);
  ASSERT_EQ(tilewright_output(package_, 0, 1, &info), 0);
  EXPECT_STREQ(info.name, "total");
  EXPECT_EQ(info.rank, 0);
  EXPECT_EQ(tilewright_output(package_, 0, 3, &info), -1);
  expect_contains(tilewright_last_error(), "there is no tensor 3 of that signature");
  EXPECT_EQ(tilewright_output(package_, 0, 0, nullptr), -1);
  expect_contains(tilewright_last_error(), "the place for the description is a null pointer");
  expect_contains(tilewright_describe(package_), "output turned: f32 [4x2]");
}

TEST_F(PackagesInC, AreLoadedWithFlags) {
  for (std::uint32_t flags :
       {0U, TILEWRIGHT_LOAD_COPIED, TILEWRIGHT_LOAD_COPIED | TILEWRIGHT_LOAD_VERIFIED}) {
    tilewright_package* package = tilewright_load_with(file_.c_str(), flags);
    ASSERT_NE(package, nullptr) << tilewright_last_error();
    EXPECT_STREQ(tilewright_describe(package), tilewright_describe(package_));
    tilewright_free(package);
  }
  EXPECT_EQ(tilewright_load_with(file_.c_str(), 9), nullptr);
  EXPECT_STREQ(tilewright_last_error(), "[load_package] the flags are 9, of which 8 are not known");
}

TEST_F(PackagesInC, WriteToTheMemoryOfTheCaller) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, twice[9] = {}, total = 0;
  alignas(64) float turned[8] = {};
  const std::int64_t shape[] = {2, 4}, turned_shape[] = {4, 2};
  const tilewright_tensor in = {"f32", 2, shape, x};
  // At no multiple of 64 bytes: a copy is made.
  const tilewright_tensor out[] = {
      {"f32", 2, shape, twice + 1}, {"f32", 0, nullptr, &total}, {"f32", 2, turned_shape, turned}};
  ASSERT_EQ(tilewright_run(package_, &in, 1, out, 3), 0) << tilewright_last_error();
  EXPECT_EQ(twice[0], 0);
  EXPECT_EQ(twice[1], 2);
  EXPECT_EQ(twice[8], 16);
  EXPECT_EQ(total, 36);
  EXPECT_EQ(turned[1], 5);
  EXPECT_EQ(turned[7], 8);
}

TEST_F(PackagesInC, SayWhatIsWrong) {
  float x[8] = {}, y[8] = {}, total = 0, turned[8] = {};
  const std::int64_t shape[] = {2, 4}, turned_shape[] = {4, 2};
  tilewright_tensor in = {"f32", 2, shape, x};
  tilewright_tensor out[] = {
      {"f32", 2, shape, y}, {"f32", 0, nullptr, &total}, {"f32", 2, turned_shape, turned}};
  auto error = [&](std::size_t outputs = 3) {
    EXPECT_EQ(tilewright_run(package_, &in, 1, out, outputs), -1);
    return std::string(tilewright_last_error());
  };
  expect_contains(error(2), "gives 3 outputs, and the call has room for 2");
  in.dtype = "float";
  expect_contains(error(), "input 0 has the dtype \"float\", which is none");
  in.dtype = "i32";
  expect_contains(error(), "argument 0 'x' is i32 2x4, and ");
  in = {"f32", 2, turned_shape, x};
  expect_contains(error(), "argument 0 'x' is f32 4x2, and ");
  in = {"f32", 99, shape, x};
  expect_contains(error(), "input 0 has 99 axes");
  in = {"f32", 2, shape, nullptr};
  expect_contains(error(), "argument 0 'x' is a null pointer; it must be 32 bytes");
  in = {"f32", 2, shape, x};
  out[0].data = x;
  expect_contains(error(), "output 0 'twice' shares memory with argument 0 'x'");
  out[0].data = turned;
  expect_contains(error(), "shares memory with output 0");
  out[0] = {"f64", 2, shape, y};
  expect_contains(error(), "output 0 'twice' is f32 2x4, and the call has room for f64 2x4");
  EXPECT_EQ(tilewright_run(nullptr, &in, 1, out, 3), -1);
  EXPECT_EQ(tilewright_load("none.twp"), nullptr);
  expect_contains(tilewright_last_error(), "[load_package] cannot read none.twp");
  EXPECT_EQ(tilewright_load(nullptr), nullptr);
}

}  // namespace
}  // namespace tilewright::package_c_api_test
