// What is kept of compiled code is read back whole and right, or not at all: whatever piece of a
// file is missing, whichever bit has turned, and whoever has put one file in the place of another.
#include "runtime/cuda/machine_code_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

Hash key_of(int number) { return Hasher().add(number).finish(); }

class MachineCodeCache : public testing::Test {
 protected:
  // The only file that there is now, and what is in it.
  fs::path file() const {
    fs::path found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) {
        EXPECT_TRUE(found.empty()) << found << " and " << entry;
        found = entry.path();
      }
    return found;
  }

  std::vector<char> image_ = [] {
    std::vector<char> image(4096);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<char>(i * 31 >> 3);
    return image;
  }();

 private:
  ScratchFolder folder_;
  Setting cache_{"TILEWRIGHT_CACHE_DIR", folder_.path().c_str()};
};

TEST_F(MachineCodeCache, MissesAFileThatIsCutAnywhere) {
  keep_machine_code(key_of(1), image_);
  ASSERT_EQ(kept_machine_code(key_of(1)), image_);
  const fs::path path = file();
  for (auto bytes = static_cast<off_t>(fs::file_size(path)) - 1; bytes >= 0; --bytes) {
    ASSERT_EQ(::truncate(path.c_str(), bytes), 0);
    ASSERT_TRUE(kept_machine_code(key_of(1)).empty()) << bytes << " bytes are left";
  }
}

TEST_F(MachineCodeCache, MissesAFileOfWhichAnyBitHasTurned) {
  keep_machine_code(key_of(1), image_);
  const fs::path path = file();
  std::string bytes = read_file(path);
  const int out = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(out, 0);
  auto put = [&](std::size_t at) {
    ASSERT_EQ(::pwrite(out, &bytes[at], 1, static_cast<off_t>(at)), 1);
  };
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto turned = static_cast<char>(1 << bit % 8);
    bytes[bit / 8] ^= turned;
    put(bit / 8);
    ASSERT_TRUE(kept_machine_code(key_of(1)).empty()) << "bit " << bit;
    bytes[bit / 8] ^= turned;
    put(bit / 8);
  }
  ::close(out);
  EXPECT_EQ(kept_machine_code(key_of(1)), image_);
}

TEST_F(MachineCodeCache, MissesAFileThatIsLongerOrOfAnotherKey) {
  keep_machine_code(key_of(1), image_);
  const fs::path path = file();
  const std::string whole = read_file(path);
  std::ofstream(path, std::ios::binary | std::ios::app) << '\0';
  EXPECT_TRUE(kept_machine_code(key_of(1)).empty());
  fs::remove(path);
  std::vector<char> other(image_.rbegin(), image_.rend());
  keep_machine_code(key_of(2), other);
  const fs::path others = file();
  ASSERT_NE(others, path);
  std::ofstream(others, std::ios::binary) << whole;
  EXPECT_TRUE(kept_machine_code(key_of(2)).empty()) << "the file of another key was believed";
  keep_machine_code(key_of(2), other);
  EXPECT_EQ(kept_machine_code(key_of(2)), other) << "what was damaged is made anew";
}

}  // namespace
}  // namespace tilewright::cuda
