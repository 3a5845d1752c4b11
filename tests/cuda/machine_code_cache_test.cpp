// Machine code that the driver compiled, in files for the next process: kept, refused, spilled,
// cut.
#include <gmock/gmock.h>

#include <malloc.h>
#include <filesystem>
#include <fstream>

#include "runtime/cuda/launch.h"
#include "runtime/kept/entry_store.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/programs.h"
#include "tests/cuda/scaled_launch.h"
#include "tests/cuda/workload.h"
#include "tests/errors.h"

namespace tilewright::cuda::machine_code_cache_test {
namespace {

using namespace testing_launch;

namespace fs = std::filesystem;
using testing::Each;

// Folders for machine code that the test leaves as it found it.
class CudaCache : public CudaLaunch {
 protected:
  CudaCache() { fs::create_directories(folder); }
  ~CudaCache() override { fs::remove_all(folder); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  // How often the driver compiled in a new process.
  std::int64_t compilations(FakeOptions options = {}) {
    options.cache_dir = folder.string();
    FakeDriver fake(options);
    EXPECT_THAT(scaled(3), Each(4));
    return fake.calls("cuLinkComplete");
  }
  fs::path folder = fs::temp_directory_path() / concat("tilewright_cuda_", ::getpid());
};

TEST_F(CudaCache, KeepsMachineCodeForTheNextProcess) {
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(compilations(), 0);
  EXPECT_EQ(compilations({.version = 12080}), 1) << "another driver";
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(CudaCache, CompilesAgainWhatTheDriverRefuses) {
  ASSERT_EQ(compilations(), 1);
  FakeOptions options;
  options.cache_dir = folder.string();
  {
    FakeDriver fake(options);
    fake.fail("cuModuleLoadData", 1, Result::no_binary_for_gpu);
    EXPECT_THAT(scaled(3), Each(4));
    EXPECT_EQ(fake.calls("cuLinkComplete"), 1);
  }
  EXPECT_EQ(compilations(), 0) << "what was made anew is kept";
}

// Code that another user could have put there is not run.
TEST_F(CudaCache, CompilesAgainWhereAFileIsALinkOrOthersMayWriteIt) {
  ASSERT_EQ(compilations(), 1);
  fs::path file = files().at(0);
  fs::permissions(file, fs::perms(0666));
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
  EXPECT_EQ(compilations(), 0);
  fs::rename(file, folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", file);
  EXPECT_EQ(compilations(), 1);
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_EQ(compilations(), 0);
}

// A kernel of which the driver's compiler spills registers is compiled again, with all of them.
TEST_F(CudaCache, CompilesAgainWhatSpills) {
  EXPECT_EQ(compilations({.spilled_bytes = 36}), 2);
  EXPECT_EQ(files().size(), 2U);
  EXPECT_EQ(compilations({.spilled_bytes = 36}), 0) << "both are kept";
  EXPECT_EQ(compilations(), 0);
}

TEST_F(CudaCache, CompilesAgainWhereAFileIsNotWhole) {
  ASSERT_EQ(compilations(), 1);
  fs::path file = files().at(0);
  auto size = static_cast<std::int64_t>(fs::file_size(file));
  for (std::int64_t at :
       {std::int64_t{0}, std::int64_t{9}, std::int64_t{20}, std::int64_t{45}, size / 2, size - 1}) {
    std::fstream change(file, std::ios::in | std::ios::out | std::ios::binary);
    change.seekg(at);
    char byte = static_cast<char>(change.get() ^ 0x40);
    change.seekp(at);
    change.put(byte);
    change.close();
    EXPECT_EQ(compilations(), 1) << "byte " << at;
  }
  for (std::int64_t bytes : {std::int64_t{0}, std::int64_t{5}, std::int64_t{40}, size - 1}) {
    fs::resize_file(file, static_cast<std::uintmax_t>(bytes));
    EXPECT_EQ(compilations(), 1) << bytes << " bytes";
  }
  EXPECT_EQ(compilations(), 0);
}

TEST_F(CudaCache, DoesWithoutAFolder) {
  fs::remove_all(folder);
  std::ofstream(folder) << "a file is in the way";
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(compilations(), 1);
}

}  // namespace
}  // namespace tilewright::cuda::machine_code_cache_test
