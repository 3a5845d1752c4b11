// A kept entry is read back complete and correct, or not at all: whatever piece of a file is
// missing, whichever bit has turned, and even if one file has replaced another.
#include "runtime/kept/entry_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::entry_store_test {
namespace {

namespace fs = std::filesystem;

constexpr const EntryStore& store = gpu_machine_code;

EntryKey key_of(int number) { return EntryKey().add("number", number); }

class EntryStores : public testing::Test {
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

  fs::path folder() const { return folder_.path() / "cuda"; }

  std::vector<char> image_ = [] {
    std::vector<char> image(4096);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<char>(i * 31 >> 3);
    return image;
  }();

 private:
  ScratchFolder folder_;
  Setting cache_{"TILEWRIGHT_CACHE_DIR", folder_.path().c_str()};
};

TEST_F(EntryStores, MissesAFileThatIsCutAnywhere) {
  store.keep(key_of(1), "an entry", image_);
  ASSERT_EQ(store.find(key_of(1)), image_);
  const fs::path path = file();
  for (auto bytes = static_cast<off_t>(fs::file_size(path)) - 1; bytes >= 0; --bytes) {
    ASSERT_EQ(::truncate(path.c_str(), bytes), 0);
    ASSERT_TRUE(store.find(key_of(1)).empty()) << bytes << " bytes are left";
  }
}

TEST_F(EntryStores, MissesAFileOfWhichAnyBitHasTurned) {
  store.keep(key_of(1), "an entry", image_);
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
    ASSERT_TRUE(store.find(key_of(1)).empty()) << "bit " << bit;
    bytes[bit / 8] ^= turned;
    put(bit / 8);
  }
  ::close(out);
  EXPECT_EQ(store.find(key_of(1)), image_);
}

TEST_F(EntryStores, MissesAFileThatIsLongerOrOfAnotherKey) {
  store.keep(key_of(1), "an entry", image_);
  const fs::path path = file();
  const std::string whole = read_file(path);
  std::ofstream(path, std::ios::binary | std::ios::app) << '\0';
  EXPECT_TRUE(store.find(key_of(1)).empty());
  fs::remove(path);
  std::vector<char> other(image_.rbegin(), image_.rend());
  store.keep(key_of(2), "an entry", other);
  const fs::path others = file();
  ASSERT_NE(others, path);
  std::ofstream(others, std::ios::binary) << whole;
  EXPECT_TRUE(store.find(key_of(2)).empty()) << "the file of another key was believed";
  store.keep(key_of(2), "an entry", other);
  EXPECT_EQ(store.find(key_of(2)), other) << "what was damaged is made anew";
}

// Nobody but the user can change what is read here: that takes the place of a signature.
TEST_F(EntryStores, NeitherReadsNorWritesWhereOthersMayWrite) {
  store.keep(key_of(1), "an entry", image_);
  ASSERT_EQ(store.find(key_of(1)), image_);
  const fs::path path = file();
  const std::string before = read_file(path);
  const fs::path above = folder().parent_path();
  struct Case {
    fs::path folder;
    unsigned mode;
  };
  for (const Case& open :
       {Case{folder(), 0777}, {folder(), 0770}, {folder(), 01777}, {above, 0777}}) {
    fs::permissions(open.folder, fs::perms(open.mode));
    EXPECT_TRUE(store.find(key_of(1)).empty()) << open.folder << std::oct << open.mode;
    store.keep(key_of(1), "an entry", {});
    store.keep(key_of(2), "an entry", image_);
    store.forget(key_of(1));
    fs::permissions(open.folder, fs::perms(0700));
    EXPECT_EQ(file(), path);
    EXPECT_EQ(read_file(path), before);
  }
  EXPECT_EQ(store.find(key_of(1)), image_);
}

TEST_F(EntryStores, NeitherReadsNorWritesInAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  store.keep(key_of(1), "an entry", image_);
  ASSERT_EQ(::chown(folder().c_str(), 65534, 65534), 0);
  EXPECT_TRUE(store.find(key_of(1)).empty());
  store.keep(key_of(2), "an entry", image_);
  ASSERT_EQ(::chown(folder().c_str(), 0, 0), 0);
  EXPECT_TRUE(store.find(key_of(2)).empty());
  EXPECT_EQ(store.find(key_of(1)), image_);
}

// A right file in the right folder, which somebody else may change, or have put there.
TEST_F(EntryStores, MissesAFileThatIsNotTheUsersAlone) {
  store.keep(key_of(1), "an entry", image_);
  const fs::path path = file(), other = folder() / "other";
  auto misses = [&] { return store.find(key_of(1)).empty(); };
  for (unsigned mode : {0602U, 0620U, 0666U}) {
    fs::permissions(path, fs::perms(mode));
    EXPECT_TRUE(misses()) << std::oct << mode;
  }
  fs::permissions(path, fs::perms(0600));
  ASSERT_FALSE(misses());
  fs::create_hard_link(path, other);
  EXPECT_TRUE(misses()) << "it has a second name";
  fs::remove(path);
  fs::create_symlink(other, path);
  EXPECT_TRUE(misses()) << "it is a link";
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(misses()) << "it is a pipe";
  fs::remove(path);
  fs::rename(other, path);
  ASSERT_FALSE(misses());
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(misses()) << "it is another user's";
}

TEST_F(EntryStores, RemovesWhatKilledWritersLeftWhateverTheirKey) {
  store.keep(key_of(1), "an entry", image_);
  const fs::path path = file(), left = path.string() + ".0123456789ab.part";
  fs::rename(path, left);
  store.keep(key_of(2), "an entry", image_);
  store.tidy();
  EXPECT_TRUE(fs::exists(left)) << "its writer may be slow";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(48));
  store.tidy();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(store.find(key_of(2)), image_);
}

// A file that replaced it is written again, but not if it is a link.
TEST_F(EntryStores, WritesThroughNoLinkAndNoSecondName) {
  store.keep(key_of(1), "an entry", image_);
  const fs::path path = file();
  const ScratchFolder elsewhere;
  const fs::path theirs = elsewhere.write("theirs", "kept");
  for (bool is_soft : {true, false}) {
    fs::remove(path);
    is_soft ? fs::create_symlink(theirs, path) : fs::create_hard_link(theirs, path);
    EXPECT_TRUE(store.find(key_of(1)).empty());
    store.keep(key_of(1), "an entry", image_);
    EXPECT_EQ(store.find(key_of(1)), image_);
    EXPECT_EQ(read_file(theirs), "kept");
  }
}

// The time of last use decides, whatever was made first; files of others stay.
TEST_F(EntryStores, ForgetWhatWasUsedLeastRecentlyWhereThereIsTooMuch) {
  const std::vector<char> content(1000, 'x');
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> paths;
  for (int i = 0; i < 4; ++i) {
    store.keep(key_of(i), "an entry", content);
    paths.push_back(folder() / (key_of(i).hash().hex() + ".cubin"));
    fs::last_write_time(paths.back(), now - std::chrono::hours(10 - i));
  }
  std::ofstream(folder() / "4.other") << std::string(4000, 'x');
  EXPECT_EQ(store.find(key_of(0)), content) << "used now";
  store.tidy(2500);
  EXPECT_TRUE(fs::exists(paths[0]) && fs::exists(paths[3]));
  EXPECT_FALSE(fs::exists(paths[1]) || fs::exists(paths[2]));
  EXPECT_TRUE(fs::exists(folder() / "4.other"));
  fs::remove_all(folder());
  store.tidy(0);
}

// Large entries tidy at each keep, a sixteenth of the folder: names that begin with one digit.
TEST_F(EntryStores, TidyAShareOfTheFolderWhereMuchIsKept) {
  store.keep(key_of(0), "an entry", image_);
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> old;
  for (char digit : std::string("0123456789abcdef"))
    for (int age : {2, 1}) {  // hours: together a share's files pass its bound, by less than one
      old.push_back(folder() / concat(digit, "_", age, ".cubin"));
      std::ofstream(old.back()) << "x";
      fs::resize_file(old.back(), EntryStore::most_kept_bytes / 16 - (1 << 20));
      fs::last_write_time(old.back(), now - std::chrono::hours(age));
    }
  const std::vector<char> large(5 << 20, 'x');
  constexpr int keeps = 4;
  for (int i = 0; i < keeps; ++i) {
    store.keep(key_of(10 + i), "a large entry", large);
    EXPECT_EQ(store.find(key_of(10 + i)), large);
  }
  int gone = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const bool is_there = fs::exists(old[i]);
    const bool was_first = i % 2 == 0 || is_there || !fs::exists(old[i - 1]);
    EXPECT_TRUE(was_first) << "the older goes first: " << old[i];
    gone += is_there ? 0 : 1;
  }
  EXPECT_GE(gone, 1);
  EXPECT_LE(gone, 2 * keeps);
}

// Damaged ones are among them, so that a person can find their files.
TEST_F(EntryStores, ListWhatDecidesEachEntry) {
  const EntryKey key = EntryKey().add("code", "a b").add("driver", 12040);
  store.keep(key, "softmax\nof two lines", image_);
  store.keep(key_of(1), "damaged", image_);
  const fs::path damaged = folder() / (key_of(1).hash().hex() + ".cubin");
  fs::resize_file(damaged, fs::file_size(damaged) - 1);
  const std::vector<StoredEntry> entries = store.entries();
  ASSERT_EQ(entries.size(), 2U);
  for (const StoredEntry& entry : entries) {
    if (entry.path == damaged) {
      EXPECT_FALSE(entry.is_whole);
      continue;
    }
    EXPECT_TRUE(entry.is_whole);
    EXPECT_EQ(entry.label, "softmax");
    EXPECT_EQ(entry.key.text(), "code=a b\ndriver=12040\n");
    EXPECT_EQ(entry.bytes, static_cast<std::int64_t>(fs::file_size(entry.path)));
  }
}

// As an entry goes from one machine to another.
TEST_F(EntryStores, KeepTheBytesOfAFileIfTheyAreWhole) {
  store.keep(key_of(1), "an entry", image_);
  std::string bytes = read_file(file());
  store.forget(key_of(1));
  EXPECT_EQ(store.keep_file(bytes), EntryStore::Kept::yes);
  EXPECT_EQ(store.find(key_of(1)), image_);
  store.forget(key_of(1));
  bytes.back() ^= 1;
  EXPECT_EQ(store.keep_file(bytes), EntryStore::Kept::damaged);
  EXPECT_EQ(store.keep_file("TWENTRY2"), EntryStore::Kept::damaged);
  EXPECT_TRUE(store.entries().empty());
}

// The fields in which it differs are the reason for a miss.
TEST_F(EntryStores, FindTheNearestEntryOfAMiss) {
  auto key = [](int driver, int gpu) {
    return EntryKey().add("code", "c").add("driver", driver).add("gpu", gpu);
  };
  store.keep(key(2, 80), "far", image_);
  store.keep(key(2, 90), "near", image_);
  store.keep(EntryKey().add("code", "d").add("driver", 1).add("gpu", 90), "another", image_);
  const auto nearest = store.nearest(key(1, 90), "code");
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->label, "near");
  EXPECT_FALSE(store.nearest(EntryKey().add("code", "e"), "code"));
  const std::vector<KeyDifference> all =
      differences(EntryKey().add("a", 1).add("b", 2), EntryKey().add("b", 3).add("c", 4));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name + all[0].wanted + all[0].found, "a1");
  EXPECT_EQ(all[1].name + all[1].wanted + all[1].found, "b23");
  EXPECT_EQ(all[2].name + all[2].wanted + all[2].found, "c4");
}

}  // namespace
}  // namespace tilewright::entry_store_test
