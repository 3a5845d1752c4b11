// Packages: compiled functions as files that run without compiling.
#include "graph/compile/packages/package.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/creation.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/log.h"
#include "graph/functions/random/random.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/loaded_package.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::package_test {
namespace {

class Packages : public testing::Test {
 protected:
  void SetUp() override { TILEWRIGHT_ON_THE_HOST_ONLY("packages"); }
  std::string file() const { return (folder_.path() / "model.twp").string(); }

 private:
  ScratchFolder folder_;
};

Tensor perceptron(const Tensor& x, const Tensor& w1, const Tensor& b, const Tensor& w2) {
  return softmax(matmul(relu(matmul(x, w1) + b), w2), -1);
}

struct Perceptron {
  Tensor w1 = ramp({32, 48}), b = ramp({48}), w2 = ramp({48, 10}, 0.02F);
  Tensor forward(const Tensor& x) const { return perceptron(x, w1, b, w2); }
};

void expect_same_bits(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
}

TEST_F(Packages, GiveTheBitsOfTheCompiledFunction) {
  Perceptron model;
  for (bool freezing : {false, true}) {
    auto fast = compile(model, {.freezing = freezing, .argument_names = {"x"}});
    const Tensor x = ramp({64, 32}, 0.03F);
    save_package(file(), fast, x);
    const Package package = load_package(file());
    const std::vector<Tensor> y = package(x);
    ASSERT_EQ(y.size(), 1U);
    expect_same_bits(y[0], fast(x));
    expect_same_bits(package(ramp({64, 32}, 0.05F))[0], fast(ramp({64, 32}, 0.05F)));
    const PackageSignature signature = package.signatures().front();
    EXPECT_EQ(signature.inputs.front().name, "x");
    EXPECT_EQ(signature.inputs.front().shape, (Shape{64, 32}));
    EXPECT_EQ(signature.outputs.front().name, "out.0");
    EXPECT_EQ(signature.outputs.front().shape, (Shape{64, 10}));
  }
}

TEST_F(Packages, RunInAnotherProcessThatCompilesNothing) {
  Perceptron model;
  auto fast = compile(model);
  const Tensor x = ramp({3, 32});
  save_package(file(), fast, x);
  const std::vector<float> expected = fast(x).to_vector<float>();
  const pid_t child = ::fork();
  if (child == 0) {
    const dsl::CompileStatistics before = dsl::compile_statistics();
    const bool is_right = load_package(file())(x)[0].to_vector<float>() == expected;
    const dsl::CompileStatistics after = dsl::compile_statistics();
    const bool is_idle = after.compiled == before.compiled && after.loaded == before.loaded &&
                         after.found == before.found;
    ::_exit(is_right && is_idle ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Packages, HaveAFunctionForEachSize) {
  Perceptron model;
  auto fast = compile(model);
  for (std::int64_t rows : {1, 5, 64}) fast(ramp({rows, 32}));
  fast.save_package(file(), {"probabilities"});
  const Package package = load_package(file());
  EXPECT_EQ(package.signatures().size(), 3U);
  EXPECT_EQ(package.signatures()[1].outputs[0].name, "probabilities");
  for (std::int64_t rows : {1, 5, 64})
    expect_same_bits(package(ramp({rows, 32}))[0], fast(ramp({rows, 32})));
  EXPECT_EQ(error_of([&] {
              package(ramp({2, 32}));
            }),
            "[run_package] argument 0 'in.0' is f32 2x32, and " + file() +
                " was made for (f32 1x32), (f32 5x32), (f32 64x32); pass one of these, or package "
                "the model for this size too");
  expect_contains(error_of([&] { package(ramp({5, 32}).to(f64)); }), "is f64 5x32");
  expect_contains(error_of([&] {
                    package(ramp({5, 32}), ramp({5, 32}));
                  }),
                  "takes 1 arguments, and the call has 2");
}

// The rights of the mappings of a file in this process, "r--p" each.
std::vector<std::string> rights_of(const std::string& file) {
  std::vector<std::string> rights;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(file)) rights.push_back(line.substr(line.find(' ') + 1, 4));
  return rights;
}

TEST_F(Packages, UseWeightsWhereTheFileHasThem) {
  Perceptron model;
  auto fast = compile(model);
  const Tensor x = ramp({3, 32});
  save_package(file(), fast, x);
  {
    const Package package = load_package(file());
    EXPECT_EQ(rights_of(file()), std::vector<std::string>{"r--p"});
    const Package copied = load_package(file(), {.copied = true});
    EXPECT_EQ(rights_of(file()).size(), 1U);
    save_package(file(), fast, x);
    std::filesystem::remove(file());
    expect_same_bits(package(x)[0], fast(x));
    expect_same_bits(copied(x)[0], fast(x));
  }
  save_package(file(), fast, x);
  EXPECT_TRUE(rights_of(file()).empty());
}

TEST_F(Packages, CompareTheHashesOfWeightsOnRequest) {
  Perceptron model;
  auto fast = compile(model);
  save_package(file(), fast, ramp({3, 32}));
  std::string bytes = read_file(file());
  const std::string weight(static_cast<const char*>(model.w1.const_data()), 64);
  ASSERT_NE(bytes.find(weight), std::string::npos);
  bytes[bytes.find(weight) + 7] ^= 1;
  std::ofstream(file(), std::ios::binary) << bytes;
  for (bool copied : {false, true}) {
    load_package(file(), {.copied = copied});
    expect_contains(error_of([&] { load_package(file(), {.copied = copied, .verified = true}); }),
                    "[load_package] " + file() + ": the hash of blob ");
  }
}

TEST_F(Packages, TakeTensorsOfAnyStrides) {
  auto fast = compile([](const Tensor& x) { return x * 2 + 1; });
  const Tensor x = ramp({4, 6});
  save_package(file(), fast, x);
  const Tensor turned = ramp({6, 4}).transpose(0, 1);
  expect_same_bits(load_package(file())(turned)[0], turned * 2 + 1);
}

TEST_F(Packages, ChangeArgumentsInPlace) {
  auto fast = compile([](const Tensor& cache, const Tensor& x) {
    Tensor own = cache;
    own.copy_from(cache + x);
    return own * 2;
  });
  Tensor cache = ramp({4, 8}).clone();
  const Tensor x = counted({4, 8});
  save_package(file(), fast, ramp({4, 8}).clone(), x);
  const Package package = load_package(file());
  EXPECT_TRUE(package.signatures()[0].inputs[0].is_written);
  EXPECT_FALSE(package.signatures()[0].inputs[1].is_written);
  const Tensor y = package(cache, x)[0];
  expect_same_bits(cache, ramp({4, 8}) + x);
  expect_same_bits(y, (ramp({4, 8}) + x) * 2);
  expect_contains(error_of([&] { package(cache, cache); }),
                  "argument 0 'in.0', which is written, shares memory with argument 1 'in.1'");
}

TEST_F(Packages, GiveResultsThatAreArgumentsOrViews) {
  const Tensor weight = ramp({4, 6});
  auto function = [&](const Tensor& x) {
    const Tensor sum = x + weight;
    return std::vector<Tensor>{x,   x.transpose(0, 1), weight.slice(1, 1, 4),         sum,
                               sum, sum * 1,           x.slice(0, 1, 3).reshape({12})};
  };
  auto fast = compile(function);
  const Tensor x = counted({4, 6});
  save_package(file(), fast, x);
  const std::vector<Tensor> got = load_package(file())(x), expected = function(x);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
}

TEST_F(Packages, RunConvolutionsOfFrozenFilters) {
  const Tensor filters = ramp({16, 8, 3, 3});
  auto fast = compile(
      [&](const Tensor& x) {
        return relu(conv2d(x, filters, Tensor(), {.padding = {1, 1}}));
      },
      {.freezing = true});
  const Tensor x = ramp({1, 8, 20, 20});
  save_package(file(), fast, x);
  expect_same_bits(load_package(file())(x)[0], fast(x));
}

TEST_F(Packages, LookAtIndices) {
  const Tensor table = ramp({10, 3});
  for (IndexChecks checks : {IndexChecks::host_tensors, IndexChecks::all}) {
    const bool computed = checks == IndexChecks::all;
    auto function = [&](const Tensor& ids) { return embedding(computed ? ids * 2 : ids, table); };
    auto fast = compile(function, {.index_checks = checks});
    const Tensor good = Tensor::from(std::vector<std::int64_t>{4, 3, 0}, {3});
    const Tensor bad = Tensor::from(std::vector<std::int64_t>{4, -13, 0}, {3});
    save_package(file(), fast, good);
    const Package package = load_package(file());
    expect_same_bits(package(good)[0], fast(good));
    EXPECT_EQ(package(good).size(), 1U);
    const std::string error = error_of([&] { package(bad); });
    EXPECT_EQ(error, error_of([&] { fast(bad); }));
    expect_contains(error, computed ? "id -26 is outside a table of 10 rows"
                                    : "id -13 is outside a table of 10 rows");
  }
}

// The generator's offset is the caller's, so that the package has no state.
TEST_F(Packages, DrawFromTheOffsetOfTheCaller) {
  Generator first(7), second(8);
  auto fast = compile([&](const Tensor& x) {
    return x + rand({4, 8}, f32, first) * dropout(ones({4, 8}), 0.5, true, second);
  });
  const Tensor x = ramp({4, 8});
  save_package(file(), fast, x);
  const Package package = load_package(file());
  const PackageSignature signature = package.signatures().front();
  ASSERT_EQ(signature.inputs.size(), 3U);
  EXPECT_EQ(signature.inputs[1].name, "random.offset");
  EXPECT_EQ(signature.inputs[2].name, "random.offset.1");
  EXPECT_TRUE(signature.inputs[1].is_written && signature.inputs[2].is_written);
  for (Generator* each : {&first, &second}) each->set_offset(64);
  Tensor offset = full({}, 64, i64).clone(), other = full({}, 64, i64).clone();
  for (std::int64_t turn = 1; turn < 4; ++turn) {
    expect_same_bits(package(x, offset, other)[0], fast(x));
    EXPECT_EQ(offset.item<std::int64_t>(), 64 + 32 * turn);
    EXPECT_EQ(other.item<std::int64_t>(), 64 + 32 * turn);
  }
  expect_contains(error_of([&] { package(x); }), "takes 3 arguments, and the call has 1");
}

TEST_F(Packages, ServeThreadsAtOnce) {
  Perceptron model;
  auto fast = compile(model);
  const Tensor x = ramp({64, 32});
  save_package(file(), fast, x);
  const Package package = load_package(file());
  const std::vector<float> expected = fast(x).to_vector<float>();
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = package(x)[0].to_vector<float>();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : got) EXPECT_EQ(result, expected);
}

std::string refusal(const std::string& file, const auto& function, const auto&... arguments) {
  auto fast = compile(function, {.tell_breaks = false});
  return error_of([&] { save_package(file, fast, arguments...); });
}

TEST_F(Packages, RefuseWhatIsNotInTheirPlans) {
  const Tensor x = ramp({4, 4});
  expect_contains(
      refusal(
          file(), [](const Tensor& a) { return a.sum().item<float>() > 0 ? a * 2 : a * 3; }, x),
      "which breaks its graph; a package holds whole graphs");
  Tensor state = zeros({4, 4}).clone();
  int line = 0;
  const std::string written = refusal(
      file(),
      [&](const Tensor& a) {
        line = __LINE__ + 1;
        state.copy_from(state + a);
        return state * 1;
      },
      x);
  EXPECT_EQ(written, concat("[save_package] the function writes at package_test.cpp:", line,
                            " to a tensor that is no argument, f32 4x4; pass it as an argument, so "
                            "that each caller of the package has its own"));
  expect_contains(refusal(
                      file(),
                      [](const Tensor& a) {
                        print(a.sum(), "sum");
                        return a * 2;
                      },
                      x),
                  "print() or log_callback(), which are C++ of this process");
  expect_contains(
      refusal(
          file(), [](const Tensor& a) { return a * 2; }, ramp({4, 4}).transpose(0, 1)),
      "argument 'in.0' has the strides 1x4 in the shape 4x4; a package takes row-major");
  auto fresh = compile([](const Tensor& a) { return a * 2; });
  expect_contains(error_of([&] { fresh.save_package(file()); }), "nothing was compiled yet");
  auto eager = compile([](const Tensor& a) { return a * 2; }, {.backend = Backend::eager});
  expect_contains(error_of([&] { save_package(file(), eager, x); }),
                  "[save_package] the backend is eager, which compiles nothing");
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Packages, NameTheLinesOfCallsThatTheyCannotHold) {
  const Tensor x = ramp({4, 4});
  const CustomOp twice = custom_op(
      "twice_in_cpp",
      [](std::span<const TensorType> types) { return std::vector<TensorType>{types[0]}; },
      BufferFunction([](std::span<const BufferView> in, std::span<const BufferView> out) {
        std::ranges::transform(in[0].elements<const float>(), out[0].elements<float>().begin(),
                               [](float x) { return 2 * x; });
      }));
  int line = 0;
  const std::string call = refusal(
      file(),
      [&](const Tensor& a) {
        line = __LINE__ + 1;
        return twice(a);
      },
      x);
  expect_contains(call, concat("[save_package] twice_in_cpp at package_test.cpp:", line,
                               " runs as a call inside this process, which no package can hold"));
  expect_contains(call, "write the op as a TileKernel or as a function of tensors");
  const std::string inside = refusal(
      file(),
      [&](const Tensor& a) {
        auto body = [&](const Tensors& y) {
          line = __LINE__ + 1;
          return Tensors{twice(y[0])};
        };
        return cond(a.sum() > 0, body, [](const Tensors& y) { return y; }, {a});
      },
      x);
  expect_contains(inside, concat("twice_in_cpp at package_test.cpp:", line, " runs as a call"));
  const std::string factors = refusal(
      file(),
      [&](const Tensor& a) {
        line = __LINE__ + 1;
        return cholesky(a);
      },
      eye(4));
  expect_contains(factors, concat("cholesky at package_test.cpp:", line, " runs as a call"));
  expect_contains(factors, "compute it before the call and pass the result as an argument");
}

TEST_F(Packages, AreRefusedWithTheReason) {
  auto fast = compile([](const Tensor& x) { return x * 2; });
  save_package(file(), fast, ramp({4}));
  const std::string bytes = read_file(file());
  auto reason = [&](const std::string& other) {
    std::ofstream(file(), std::ios::binary) << other;
    return error_of([&] { load_package(file()); });
  };
  EXPECT_EQ(reason("PK\3\4" + std::string(100, 'x')),
            "[load_package] " + file() +
                ": it is no package; packages are made by save_package() and by `tilewright "
                "package`");
  std::string newer = bytes;
  newer[8] = 77;
  EXPECT_EQ(reason(newer), "[load_package] " + file() +
                               ": its format is number 77, and this version of the library reads "
                               "number 3; package the model again with this version, or run it "
                               "with the one that made it");
  expect_contains(reason(bytes.substr(0, bytes.size() - 10)),
                  concat("it has ", bytes.size() - 10, " bytes, and should have ", bytes.size()));
  std::string flipped = bytes;
  flipped.back() ^= 1;
  expect_contains(reason(flipped), "the file is damaged or was cut off: copy it again");
  expect_contains(error_of([] { load_package("/nowhere/model.twp"); }),
                  "[load_package] cannot read /nowhere/model.twp: No such file");
}

TEST_F(Packages, ForABetterProcessorSayWhatToDo) {
  const std::size_t best = best_instruction_set();
  auto fast = compile([](const Tensor& x) { return x * 2; });
  save_package(file(), fast, ramp({4}));
  PackageContents contents = read_package(file()).front();
  if (best == 0) return;  // there is no better one
  contents.instruction_set = instruction_sets[best - 1];
  EXPECT_EQ(
      error_of([&] { LoadedPackage({contents}, "model.twp"); }),
      concat("[load_package] model.twp: its code is for processors with ",
             instruction_sets[best - 1], ", and this one has no more than ", instruction_sets[best],
             "; package the model with TILEWRIGHT_CPU=", instruction_sets[best]));
}

TEST_F(Packages, AreShownAsText) {
  Perceptron model;
  auto fast = compile(model, {.argument_names = {"x"}});
  save_package(file(), fast, ramp({3, 32}));
  const std::string text = load_package(file()).text(true);
  expect_contains(text, "made by tilewright 0.1.0, for processors with ");
  expect_contains(text, "function 0\n  input x: f32 [3x32]\n  output out.0: f32 [3x10]\n");
  expect_contains(text, " launches of ");
  expect_contains(text, "(input0, ");
  EXPECT_EQ(read_file(file()), package_bytes(read_package(file())));
}

}  // namespace
}  // namespace tilewright::package_test
