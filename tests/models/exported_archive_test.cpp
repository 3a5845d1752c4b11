#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/exported/archive.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/zip_archive.h"

namespace tilewright::exported_archive_test {
namespace {

using exported::Archive;
using exported::ArchiveEntry;
using ::testing::AnyOf;
using testing::append_number;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::zip_archive;
using testing::ZipEntry;

class ExportedArchive : public ::testing::Test {
 protected:
  Archive open(const std::string& bytes, Reading reading = Reading::as_needed) {
    return Archive::open(folder_.write("m.pt2", bytes), reading);
  }
  std::string error_of_file(const std::string& bytes) {
    return error_of([&] { open(bytes); });
  }
  std::string error_of_entries(const std::vector<ZipEntry>& entries) {
    return error_of_file(zip_archive(entries));
  }
  ScratchFolder folder_;
};

std::vector<std::string> names_of(const Archive& archive) {
  std::vector<std::string> names;
  for (const ArchiveEntry& entry : archive.entries()) names.push_back(entry.name);
  return names;
}

TEST_F(ExportedArchive, GivesStoredAndDeflatedContentWithoutTheSharedFolder) {
  std::string many(100'000, 'x');
  Archive archive = open(zip_archive({{"m/b", "second"}, {"m/a/c", many, true}, {"m/empty", ""}}));
  EXPECT_THAT(names_of(archive), ElementsAre("a/c", "b", "empty"));
  EXPECT_EQ(archive.text(archive.at("b"), 100), "second");
  EXPECT_EQ(archive.text(archive.at("a/c"), many.size()), many);
  EXPECT_EQ(archive.text(archive.at("empty"), 0), "");
  EXPECT_EQ(archive.find("c"), nullptr);
  EXPECT_THAT(error_of([&] { archive.at("c"); }), HasSubstr("has no entry \"c\""));
}

TEST_F(ExportedArchive, KeepsNamesThatShareNoFolder) {
  EXPECT_THAT(names_of(open(zip_archive({{"version", "1"}, {"m/a", "x"}}))),
              ElementsAre("m/a", "version"));
}

TEST_F(ExportedArchive, ShowsStoredContentInTheMappedFile) {
  Archive archive =
      open(zip_archive({{"m/a", "12345678"}, {"m/b", "abcdefgh", true}}, 64), Reading::mapped);
  const std::byte* at = archive.mapped(archive.at("a"));
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(at), 8), "12345678");
  EXPECT_EQ(archive.mapped(archive.at("b")), nullptr);
}

TEST_F(ExportedArchive, BoundsWhatAnEntryMayHold) {
  Archive archive = open(zip_archive({{"m/a", "12345678"}}));
  EXPECT_THAT(error_of([&] { archive.text(archive.at("a"), 7); }),
              HasSubstr("entry \"a\" has 8 bytes; at most 7 are allowed"));
}

// A letter every so many characters, so that fewer letters deflate to less.
std::string sparse_text(std::size_t size, std::size_t every) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; i += every)
    text[i] = static_cast<char>('a' + i / every * 7919 % 26);
  return text;
}

// PyTorch's programs deflate to a 66th at best, as was measured with zlib's level 9.
TEST_F(ExportedArchive, TakesTextsThatDeflateFurtherThanProgramsDo) {
  constexpr std::size_t size = 40'000'000;
  Archive archive = open(zip_archive({{"m/text", sparse_text(size, 300), true}}));
  const exported::ArchiveEntry& entry = archive.at("text");
  EXPECT_GT(size, 80 * entry.stored_bytes);
  EXPECT_LT(size, 200 * entry.stored_bytes);
  EXPECT_EQ(archive.text(entry, size).size(), size);
}

TEST_F(ExportedArchive, BoundsWhatATextInflatesTo) {
  constexpr std::size_t few = 10'000'000, many = 80'000'000;
  Archive archive = open(zip_archive({{"m/few", sparse_text(few, 3000), true},
                                      {"m/many", sparse_text(many, 3000), true},
                                      {"m/stored", sparse_text(many, 3000)}}));
  EXPECT_EQ(archive.text(archive.at("few"), many).size(), few);
  EXPECT_EQ(archive.text(archive.at("stored"), many).size(), many);
  const std::uint64_t stored = archive.at("many").stored_bytes;
  EXPECT_THAT(error_of([&] { archive.text(archive.at("many"), many); }),
              HasSubstr(concat("entry \"many\" inflates from ", stored,
                               " bytes to 80000000; at most ", (1 << 24) + 200 * stored,
                               " are allowed; store it as it is, as torch.export.save does")));
}

TEST_F(ExportedArchive, RefusesWhatIsNoZipArchive) {
  EXPECT_THAT(error_of_file(""), HasSubstr("is not a zip archive"));
  EXPECT_THAT(error_of_file("version https://git-lfs"), HasSubstr("pointer that Git LFS left"));
  EXPECT_THAT(error_of_file("PK\3\4 and then nothing"), HasSubstr("the file is cut short"));
  EXPECT_THAT(error_of_file(std::string("PK\5\6") + std::string(18, '\0')),
              HasSubstr("is not a zip archive"));
  EXPECT_THAT(error_of([&] { Archive::open(folder_.path() / "none.pt2"); }),
              HasSubstr("cannot be opened"));
}

TEST_F(ExportedArchive, RefusesEveryTruncation) {
  std::string whole = zip_archive({{"m/a", "12345678"}, {"m/b", "abcdefgh", true}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_of_file(whole.substr(0, size)), HasSubstr("[load_exported]")) << size;
}

TEST_F(ExportedArchive, RefusesWhatStandsBehindOrBeforeIt) {
  std::string whole = zip_archive({{"m/a", "12345678"}});
  EXPECT_THAT(error_of_file(whole + "more"), HasSubstr("or more was written behind it"));
  EXPECT_THAT(error_of_file("more" + whole), HasSubstr("is not a zip archive"));
  EXPECT_THAT(error_of_file(whole + whole), HasSubstr("another archive or something else"));
}

// As PyTorch's archives end: sizes and places in 8 bytes, before the usual end, which has them too
// unless they are of more than 4 GB.
std::string with_large_end(const std::string& whole, bool is_said_twice) {
  const std::size_t end = whole.size() - 22, first = whole.find("PK\1\2");
  std::string file = whole.substr(0, end) + "PK\6\6";
  append_number(file, 44, 8);
  append_number(file, 45, 2);
  append_number(file, 45, 2);
  append_number(file, 0, 8);  // disks
  append_number(file, 1, 8);  // entries, twice
  append_number(file, 1, 8);
  append_number(file, end - first, 8);
  append_number(file, first, 8);
  file += "PK\6\7";
  append_number(file, 0, 4);
  append_number(file, end, 8);
  append_number(file, 1, 4);
  return file + whole.substr(end, 12) +
         (is_said_twice ? whole.substr(end + 12, 8) : std::string(8, '\xff')) +
         std::string(2, '\0');
}

TEST_F(ExportedArchive, ReadsLargeEndsWhereTheyAreRight) {
  const std::string whole = zip_archive({{"m/a", "12345678"}});
  for (bool is_said_twice : {false, true}) {
    Archive archive = open(with_large_end(whole, is_said_twice));
    EXPECT_EQ(archive.text(archive.at("a"), 100), "12345678");
    EXPECT_THAT(error_of_file(whole + with_large_end(whole, is_said_twice)),
                HasSubstr("another archive or something else"));
  }
}

TEST_F(ExportedArchive, SeesEveryChangedByteOfAContent) {
  std::string whole = zip_archive({{"m/a", "12345678"}});
  std::size_t from = whole.find("12345678");
  for (std::size_t i = 0; i < 8; ++i) {
    std::string damaged = whole;
    damaged[from + i] ^= 1;
    Archive archive = open(damaged);
    EXPECT_THAT(error_of([&] { archive.text(archive.at("a"), 100); }), HasSubstr("checksum"));
  }
}

TEST_F(ExportedArchive, SurvivesEveryChangedByte) {
  std::string whole = zip_archive({{"m/a", "1234"}, {"m/b", "abcdefgh", true}});
  int read = 0, refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ bit);
      std::string error = error_of([&] {
        Archive archive = open(damaged);
        for (const ArchiveEntry& entry : archive.entries()) archive.text(entry, 1000);
      });
      EXPECT_THAT(error, AnyOf("no error", HasSubstr("[load_exported]")));
      ++(error == "no error" ? read : refused);
    }
  EXPECT_GT(refused, read);  // times, attributes and versions may be anything
}

TEST_F(ExportedArchive, RefusesNamesThatLeadOut) {
  for (const char* name : {"../a", "/etc/a", "m/../../a", "m\\a", "m/./a", ""})
    EXPECT_THAT(error_of_entries({{name, "x"}}), HasSubstr("leads out of the archive")) << name;
  EXPECT_THAT(error_of_entries({{"m/\xff", "x"}}), HasSubstr("is not text"));
  EXPECT_THAT(error_of_entries({{std::string(2000, 'a'), "x"}}),
              HasSubstr("a name of 2000 bytes; at most 1024"));
}

TEST_F(ExportedArchive, RefusesTwoEntriesOfOneName) {
  EXPECT_THAT(error_of_entries({{"m/a", "1"}, {"m/a", "2"}}), HasSubstr("two entries \"m/a\""));
}

TEST_F(ExportedArchive, RefusesEntriesThatOverlap) {
  EXPECT_THAT(error_of_entries({{"m/a", "1"}, {.name = "m/b", .content = "1", .offset = 0}}),
              HasSubstr("overlaps"));
  std::string inner = zip_archive({{"m/b", "x"}});
  inner.resize(inner.find("PK\1\2"));
  EXPECT_THAT(error_of_entries({{"m/a", inner}, {.name = "m/b", .content = "x", .offset = 33}}),
              HasSubstr("overlaps"));
}

TEST_F(ExportedArchive, RefusesSizesThatCannotBe) {
  EXPECT_THAT(error_of_entries({{.name = "m/a", .content = "1", .size_bytes = 2}}),
              HasSubstr("claims to hold 2 bytes in 1"));
  EXPECT_THAT(error_of_entries({{.name = "m/a", .content = "1", .stored_bytes = 1 << 30}}),
              HasSubstr("takes 1073741824 bytes"));
  EXPECT_THAT(error_of_entries({{.name = "m/a", .content = "1", .offset = 1 << 30}}),
              HasSubstr("does not agree"));
  ZipEntry bomb{.name = "m/a", .content = "1", .is_deflated = true, .size_bytes = 1 << 30};
  EXPECT_THAT(error_of_entries({bomb}), HasSubstr("claims to hold"));
}

TEST_F(ExportedArchive, RefusesDeflatedContentOfAnotherSize) {
  for (std::uint32_t size : {99U, 101U}) {
    ZipEntry entry{
        .name = "m/a", .content = std::string(100, 'a'), .is_deflated = true, .size_bytes = size};
    Archive archive = open(zip_archive({entry}));
    EXPECT_THAT(error_of([&] { archive.text(archive.at("a"), 1000); }),
                HasSubstr("is not the " + std::to_string(size) + " bytes"));
  }
}

TEST_F(ExportedArchive, RefusesOtherMethodsAndEncryption) {
  EXPECT_THAT(error_of_entries({{.name = "m/a", .content = "1", .method = 12}}),
              HasSubstr("compressed by method 12"));
  EXPECT_THAT(error_of_entries({{.name = "m/a", .content = "1", .flags = 1}}),
              HasSubstr("is encrypted"));
}

}  // namespace
}  // namespace tilewright::exported_archive_test
