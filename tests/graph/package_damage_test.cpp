// Damaged packages are errors: behind the hashes, and where these were made to fit.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "graph/compile/compile.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/loaded_package.h"
#include "runtime/package/verify.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::package_damage_test {
namespace {

class DamagedPackages : public testing::Test {
 protected:
  void SetUp() override {
    TILEWRIGHT_ON_THE_HOST_ONLY("packages");
    const ScratchFolder folder;
    const std::string file = (folder.path() / "model.twp").string();
    const Tensor weight = ramp({8, 3});
    auto fast = compile([&](const Tensor& x) { return softmax(matmul(x, weight), -1) + x.sum(); });
    save_package(file, fast, ramp({2, 8}));
    bytes_ = read_file(file);
  }

  static PackageBlob memory_of(const std::string& bytes) {
    auto memory = Buffer::allocate(std::ssize(bytes));
    std::memcpy(memory->data(), bytes.data(), bytes.size());
    return blob_of(memory);
  }
  // "no error" where it loads.
  static std::string load_error(const std::string& bytes) {
    return error_of([&] { LoadedPackage(parse_package(memory_of(bytes), "x"), "x"); });
  }
  PackageContents contents() const { return parse_package(memory_of(bytes_), "x").front(); }

  std::string bytes_;
};

TEST_F(DamagedPackages, ThatAreCutOffAreErrors) {
  EXPECT_EQ(load_error(bytes_), "no error");
  for (std::size_t size = 0; size < bytes_.size(); ++size)
    ASSERT_NE(load_error(bytes_.substr(0, size)), "no error") << size;
  EXPECT_NE(load_error(bytes_ + '\0'), "no error");
}

TEST_F(DamagedPackages, OfWhichOneBitIsWrongAreErrors) {
  const PackageContents whole = contents();
  std::size_t ignored = 0;  // of the bytes between two blobs, which nothing reads
  for (std::size_t at = 0; at < bytes_.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes_;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto memory = memory_of(damaged);
      if (error_of([&] { parse_package(memory, "x"); }) != "no error") continue;
      ++ignored;
      ASSERT_EQ(bytes_[at], '\0');
      ASSERT_EQ(package_bytes(parse_package(memory, "x")), bytes_);
    }
  EXPECT_LE(ignored, 8 * 64 * whole.blobs.size());
}

// Without the hashes of weights, every flipped bit outside of them is still an error.
TEST_F(DamagedPackages, WhoseWeightsAreNotComparedLoadWithWrongWeightsAlone) {
  const PackageContents whole = contents();
  std::vector<bool> is_code(whole.blobs.size());
  for (const PackageKernel& kernel : whole.kernels) is_code[kernel.object] = true;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < whole.blobs.size(); ++i)
    if (!is_code[i]) weights += std::ssize(whole.blobs[i].bytes);
  ASSERT_GT(weights, 0);
  std::int64_t taken = 0;
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const PackageBlob file = memory_of(damaged);
    auto parsed = [&](WeightHashes hashes) {
      return error_of([&] { parse_package(file, "x", hashes); }) == "no error";
    };
    if (parsed(WeightHashes::ignored) && !parsed(WeightHashes::compared)) ++taken;
  }
  EXPECT_EQ(taken, weights);
}

// Where the hashes fit, the reader and the verifier see every wrong byte of a plan themselves.
TEST_F(DamagedPackages, ThatWereSealedAreErrorsOrOtherPackages) {
  std::uint64_t plan_bytes = 0;
  std::memcpy(&plan_bytes, bytes_.data() + 24, sizeof plan_bytes);
  const std::size_t begin = 64, end = begin + plan_bytes;
  int refused = 0, taken = 0;
  for (std::size_t at = begin; at < end; ++at)
    for (char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
      if (bytes_[at] == value) continue;
      std::string damaged = bytes_;
      damaged[at] = value;
      seal_package(damaged);
      const std::string error = load_error(damaged);
      if (error == "no error")
        ++taken;
      else
        ++refused;
      if (error != "no error") expect_contains(error, "[load_package] x: ");
    }
  EXPECT_GT(refused, taken);
}

using Change = std::function<void(PackageContents&)>;

TEST_F(DamagedPackages, BreakTheRuleThatIsNamed) {
  const PackageContents whole = contents();
  EXPECT_EQ(error_of([&] { verify(whole); }), "no error");
  auto broken = [&](const std::string& text, const Change& change) {
    PackageContents other = whole;
    change(other);
    expect_contains(error_of([&] { verify(other); }), text);
  };
  auto of_run = [&](const std::string& text, const std::function<void(Executable&)>& change) {
    broken(text, [&](PackageContents& c) { change(c.executables[0].run); });
  };
  auto of_slot = [&](const std::string& text, const ArgumentSlot& slot) {
    of_run(text, [&](Executable& run) { run.slots[0] = slot; });
  };
  auto of_function = [&](const std::string& text,
                         const std::function<void(PackageFunction&)>& change) {
    broken(text, [&](PackageContents& c) { change(c.functions[0]); });
  };
  of_run("function 0: step 0: kernel 99 is named", [](auto& e) { e.steps[0].kernel = 99; });
  of_run("step 0: it has no grid", [](auto& e) { e.steps[0].grids = 0; });
  of_run("its grids end at", [](auto& e) { e.steps[0].grids = 0xffffffff; });
  of_run("its arguments end at", [](auto& e) { e.steps[0].first_slot = 0xffffffff; });
  of_run("arguments a grid, and its kernel", [](auto& e) { --e.steps[0].slots_of_a_grid; });
  of_run("function 0: ", [](auto& e) { e.grids[0] = Grid(-1); });
  of_run("its arena has -1 bytes", [](auto& e) { e.arena_bytes = -1; });
  of_run("of the arena, which no step before it has written", [](auto& e) {
    e.arena_bytes += 64;
    e.slots[0] = {SlotKind::arena, 0, e.arena_bytes - 64, 64, false};
  });
  of_slot("is a number, and must be memory", {SlotKind::number});
  of_slot("input 99 is named, of ", {SlotKind::input, 99});
  of_slot("it takes 64 bytes of the arena from -64 on", {SlotKind::arena, 0, -64, 64, true});
  of_slot("bytes of the arena from 0 on, which has ", {SlotKind::arena, 0, 0, 1 << 30, true});
  of_slot("it writes to input 0, which is only read", {SlotKind::input, 0, 0, 0, true});
  of_slot("bytes of input 0, which has 64", {SlotKind::input, 0, 0, 1 << 20, false});
  of_function("byte 1048576 of blob", [](auto& f) { f.bindings[1].offset = 1 << 20; });
  of_function("output buffer 99 is named", [](auto& f) { f.results[0].index = 99; });
  of_function("has 0 sources of outputs, and must have 1", [](auto& f) { f.results.clear(); });
  of_function("an output consists of elements 63 to", [](auto& f) {
    f.results[0] = {true, 0, {1, 2}, 63};
  });
  of_function("output 0 has 12582912 bytes", [](auto& f) { f.outputs[0].shape = {1 << 20, 3}; });
  of_function("the impossible shape -1x8", [](auto& f) { f.inputs[0].shape = {-1, 8}; });
  of_function("it takes 100000 threads", [](auto& f) { f.threads = 100000; });
  of_function("executable 7 is named", [](auto& f) { f.executable = 7; });
  of_function("argument 7 is named, of 1", [](auto& f) { f.checks.push_back({7, {}, 1, {}}); });
  of_function("element 16 of argument 0, which has 16", [](auto& f) {
    f.checks.push_back({0, {16}, 1, {}});
  });
  broken("kernel 99 is named", [](auto& c) { c.executables[0].kernels[0].index = 99; });
  broken("blob 99 is named", [](auto& c) { c.kernels[0].object = 99; });
  broken("a processor that this version does not know", [](auto& c) { c.instruction_set = "z80"; });
  broken("it has no function", [](auto& c) { c.functions.clear(); });
  broken("an executable is used by nothing",
         [](auto& c) { c.executables.push_back(c.executables[0]); });
}

}  // namespace
}  // namespace tilewright::package_damage_test
