// C libraries: compiled functions as C, built by the system's compiler and called without anything
// of Tilewright.
#include "graph/compile/c_library/c_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>

#include "graph/compile/compile.h"
#include "graph/compile/packages/package.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/random/random.h"
#include "runtime/package/contents_bytes.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::c_library_test {
namespace {

// 64-aligned memory of NaNs.
struct Memory {
  explicit Memory(std::size_t bytes)
      : data(static_cast<char*>(::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
    std::memset(data, 0xff, bytes);
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data;
};

class CLibraries : public testing::Test {
 protected:
  void SetUp() override { TILEWRIGHT_ON_THE_HOST_ONLY("packages"); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // This process has asked for the registers of AMX; a library would not.
  template <typename Function, typename... Arguments>
  void save(const Function& fast, const Arguments&... arguments) const {
    save_package(file("model.twp"), fast, arguments...);
    PackageTargets targets = read_package(file("model.twp"));
    if (targets.front().instruction_set != "amx") return;
    targets.front().instruction_set = "avx512_bf16";
    write_package(targets, file("model.twp"));
  }

  // The library of the package that was saved, compiled and loaded.
  void build() {
    write_c_library(file("model.twp"), file("model.c"));
    const std::string command =
        concat("cc -std=c99 -pedantic -Wall -Wextra -Werror -fPIC -shared -Wl,-z,defs -o ",
               file("model.so"), " ", file("model.c"), " ", file("libmodel.a"), " -lm");
    ASSERT_EQ(std::system(command.c_str()), 0) << read_file(file("model.c"));
    library_ = ::dlopen(file("model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    std::smatch found;
    const std::string header = read_file(file("model.h"));
    ASSERT_TRUE(std::regex_search(header, found, std::regex("MODEL_WORKSPACE_BYTES (\\d+)")));
    workspace_bytes_ = std::stoul(found[1]);
  }
  void TearDown() override {
    if (library_ != nullptr) ::dlclose(library_);
  }

  // The text of the error, or "".
  template <typename... Pointers>
  std::string call(const char* function, Pointers*... pointers) const {
    using Run = const char* (*)(Pointers * ..., void*);
    const auto run = reinterpret_cast<Run>(::dlsym(library_, function));
    EXPECT_NE(run, nullptr) << function;
    if (run == nullptr) return "no function";
    const Memory workspace(workspace_bytes_);
    const char* problem = run(pointers..., workspace.data);
    return problem == nullptr ? "" : problem;
  }

  void* library_ = nullptr;
  std::size_t workspace_bytes_ = 0;

 private:
  ScratchFolder folder_;
};

// The elements of a result, which lies at its memory's begin, or four bytes behind it.
template <typename T>
void expect_result(const Tensor& expected, const char* data) {
  std::vector<T> elements(static_cast<std::size_t>(expected.count()));
  std::memcpy(elements.data(), data, elements.size() * sizeof(T));
  EXPECT_EQ(elements, expected.to_vector<T>());
}

TEST_F(CLibraries, GiveTheBitsOfTheCompiledFunction) {
  const Tensor w1 = ramp({32, 48}), b = ramp({48}), w2 = ramp({48, 10}, 0.02F);
  auto perceptron = [&](const Tensor& x) {
    return softmax(matmul(relu(matmul(x, w1) + b), w2), -1);
  };
  for (bool freezing : {false, true}) {
    auto fast = compile(perceptron, {.freezing = freezing, .argument_names = {"x"}});
    const Tensor x = ramp({64, 32}, 0.03F);
    save(fast, x);
    build();
    for (std::ptrdiff_t shift : {0, 4}) {
      const Memory out(64 * 10 * 4 + 4);
      auto* to = reinterpret_cast<float*>(out.data + shift);
      EXPECT_EQ(call("model_run", static_cast<const float*>(x.const_data()), to), "");
      expect_result<float>(fast(x), out.data + shift);
    }
    TearDown();
  }
}

TEST_F(CLibraries, HaveAFunctionForEachSignature) {
  const Tensor w = ramp({8, 8});
  auto fast =
      compile([&](const Tensor& x) { return matmul(x, w).sum(0); }, {.argument_names = {"x"}});
  for (std::int64_t rows : {3, 5}) save(fast, ramp({rows, 8}));
  build();
  expect_contains(read_file(file("model.h")),
                  "//   in_x: f32 [5x8], 160 bytes\n//   out_out_0: f32 [8], 32 bytes\n"
                  "const char* model_run_1(const float* in_x, float* out_out_0, void* workspace);");
  for (std::int64_t rows : {3, 5}) {
    const Tensor x = ramp({rows, 8});
    const Memory out(32);
    EXPECT_EQ(call(rows == 3 ? "model_run_0" : "model_run_1",
                   static_cast<const float*>(x.const_data()), reinterpret_cast<float*>(out.data)),
              "");
    expect_result<float>(fast(x), out.data);
  }
}

// Arguments that are written, results that are arguments or views of them, and a buffer that is two
// results.
TEST_F(CLibraries, WriteAndCopyWhatTheFunctionDoes) {
  auto function = [](const Tensor& state, const Tensor& x) {
    Tensor own = state;
    own.copy_from(state + x);
    const Tensor y = x * 2;
    return Tensors{y, y, x.transpose(0, 1), x, x[1]};
  };
  auto fast = compile(function, {.argument_names = {"state", "x"}});
  const Tensor x = ramp({2, 3});
  save(fast, full({2, 3}, 1.0F).clone(), x);
  build();
  Tensor own = full({2, 3}, 4.0F).clone();
  const Tensor other = own.clone();
  const Tensors expected = function(other, x);
  const Memory a(24), b(24), c(24), d(24), e(12);
  auto at = [](const Memory& memory) { return reinterpret_cast<float*>(memory.data); };
  EXPECT_EQ(call("model_run", static_cast<float*>(own.data()),
                 static_cast<const float*>(x.const_data()), at(a), at(b), at(c), at(d), at(e)),
            "");
  EXPECT_EQ(own.to_vector<float>(), other.to_vector<float>());
  const Memory* memories[] = {&a, &b, &c, &d, &e};
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_result<float>(expected[i].clone(), memories[i]->data);
}

TEST_F(CLibraries, LookAtIndices) {
  const Tensor table = ramp({6, 4});
  auto fast = compile(
      [&](const Tensor& i, const Tensor& j) {
        return std::vector<Tensor>{embedding(i, table), embedding(i + j, table)};
      },
      {.index_checks = IndexChecks::all});
  const Tensor i = Tensor::from<std::int64_t>({0, 2, 1}), j = Tensor::from<std::int64_t>({3, 1, 4});
  save(fast, i, j);
  build();
  const Memory a(48), b(48);
  auto result = [&](const Tensor& x, const Tensor& y) {
    return call("model_run", static_cast<const std::int64_t*>(x.const_data()),
                static_cast<const std::int64_t*>(y.const_data()), reinterpret_cast<float*>(a.data),
                reinterpret_cast<float*>(b.data));
  };
  EXPECT_EQ(result(i, j), "");
  expect_result<float>(fast(i, j)[0], a.data);
  expect_result<float>(fast(i, j)[1], b.data);
  expect_contains(result(Tensor::from<std::int64_t>({0, 6, 1}), j),
                  "id N is outside a table of 6 rows");
  expect_contains(result(i, Tensor::from<std::int64_t>({3, 4, 4})),
                  "id N is outside a table of 6 rows");
}

TEST_F(CLibraries, AskForAlignedMemory) {
  auto fast = compile([](const Tensor& x) { return exp(x.to(DType::f16)); });
  save(fast, ramp({5}));
  build();
  expect_contains(read_file(file("model.h")), "const float* in_in_0, uint16_t* out_out_0, void*");
  using Run = const char* (*)(const void*, void*, void*);
  const auto run = reinterpret_cast<Run>(::dlsym(library_, "model_run"));
  const Memory memory(workspace_bytes_ + 64), out(16);
  EXPECT_STREQ(run(ramp({5}).const_data(), out.data, memory.data + 8),
               "the workspace does not begin at a multiple of 64 bytes");
}

TEST_F(CLibraries, AreRefusedWithTheReason) {
  auto reason = [&](const std::string& source) {
    return error_of([&] { write_c_library(file("model.twp"), file(source)); });
  };
  auto fast = compile([](const Tensor& x) { return x * 2; });
  save(fast, ramp({4}));
  expect_contains(reason("model.cpp"), "model.cpp does not end with .c; name the source file");
  expect_contains(reason("my-model.c"), "[write_c_library] \"my-model\" is no identifier of C");
  expect_contains(reason("8bit.c"), "\"8bit\" is no identifier of C");
  PackageTargets targets = read_package(file("model.twp"));
  targets.front().instruction_set = "amx";
  write_package(targets, file("model.twp"));
  expect_contains(reason("model.c"), "has code for AMX, whose registers a process must ask for");
  auto loop = compile([](const Tensor& x) {
    return while_loop([](const Tensors& y) { return y[0].sum() < 50; },
                      [](const Tensors& y) { return Tensors{y[0] + 3}; }, {x})[0];
  });
  save(loop, ramp({4}));
  expect_contains(reason("model.c"),
                  "has loops or branches of the graph, which C libraries do not");
  EXPECT_FALSE(std::filesystem::exists(file("model.c")));
  EXPECT_FALSE(std::filesystem::exists(file("libmodel.a")));
}

}  // namespace
}  // namespace tilewright::c_library_test
