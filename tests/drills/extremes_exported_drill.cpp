// Programs of PyTorch, of the corpus in tests/data, with extreme numbers in the text of the
// program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "models/exported/archive.h"
#include "runtime/base/error.h"
#include "tests/drills/child.h"
#include "tests/drills/extremes.h"
#include "tests/models/zip_archive.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::drills {

using testing::append_number;
using testing::ZipEntry;

void expect_bounded(const std::string& name, const std::string& bytes, const std::string& inputs) {
  constexpr rlim_t address_space = rlim_t{400} << 20;  // some 150 MiB are the command's own
  ScratchFolder folder;
  folder.write(name, bytes);
  std::string none;
  append_number(none, 2, 8);
  folder.write("in.safetensors", inputs.empty() ? none + "{}" : inputs);
  for (const char* backend : {"eager", "tilewright"}) {
    Command command = tilewright_command(
        folder.path(), {"run", name, "--inputs", "in.safetensors", "--backend", backend});
    command.limits.push_back({RLIMIT_AS, address_space + 3 * bytes.size()});
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.signal, 0) << backend << ": " << outcome.text();
    EXPECT_FALSE(outcome.is_hung()) << backend << ": " << outcome.text();
    if (outcome.signal != 0 || outcome.status == 0) continue;
    EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << backend << ": " << outcome.text();
    EXPECT_FALSE(outcome.err.empty()) << backend << " without a word: " << outcome.text();
    for (const char* nameless : {"std::", "terminate called", "bug in Tilewright",
                                 "vector::", "out of memory while running"})
      EXPECT_EQ(outcome.err.find(nameless), std::string::npos) << backend << ": " << outcome.text();
  }
}

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The programs that end by themselves, by name.
const std::vector<std::filesystem::path>& programs() {
  static const std::vector<std::filesystem::path> all = [] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(data_folder() / "corpus"))
      if (entry.path().extension() == ".pt2" && entry.file_size() < 300'000)
        found.push_back(entry.path());
    std::ranges::sort(found);
    check(!found.empty(), "the corpus is not unpacked");
    return found;
  }();
  return all;
}

struct NumberInText {
  std::size_t at, size;
  bool is_flag, is_type = false;
};

// The numbers and flags of arguments and sizes.
std::vector<NumberInText> places_in(const std::string& text) {
  std::vector<NumberInText> places;
  auto add = [&](std::size_t at) {
    const std::size_t end = std::min(text.find_first_not_of("-0123456789.e+", at), text.size());
    places.push_back({at, end - at, false});
    return end;
  };
  for (const char* kind : {"\"as_int\": ", "\"as_float\": ", "\"as_scalar_type\": ", "\"dtype\": "})
    for (std::size_t at = text.find(kind); at != text.npos; at = text.find(kind, at + 1)) {
      add(at + std::strlen(kind));
      places.back().is_type = std::string_view(kind).find("type") != std::string_view::npos;
    }
  for (const char* kind : {"\"as_ints\": [", "\"as_floats\": ["})
    for (std::size_t at = text.find(kind); at != text.npos; at = text.find(kind, at + 1)) {
      std::size_t next = add(at + std::strlen(kind));
      while (text.compare(next, 2, ", ") == 0) next = add(next + 2);
    }
  const std::string flag = "\"as_bool\": ";
  for (std::size_t at = text.find(flag); at != text.npos; at = text.find(flag, at + 1)) {
    const std::size_t begin = at + flag.size();
    places.push_back({begin, text.find_first_of(",}", begin) - begin, true});
  }
  return places;
}

std::string changed(std::string text, Chance& chance) {
  const std::vector<NumberInText> places = places_in(text);
  if (places.empty()) return text;
  const NumberInText& place = chance.of(places);
  const std::string old = text.substr(place.at, place.size);
  std::string with = std::to_string(extreme_integer(chance));
  if (place.is_type) with = std::to_string(chance.below(16));  // PyTorch's dtypes, and a few more
  if (place.is_flag) {
    with = old == "true" ? "false" : "true";
  } else if (old.find_first_of(".e") != old.npos) {
    const std::string floats[] = {"0.0", "-1.0", "1e300", "\"NaN\"", "\"Infinity\"", "5e-324"};
    with = floats[chance.below(std::size(floats))];
  }
  return text.replace(place.at, place.size, with);
}

TEST(Extremes, OfExportedProgramsAreBounded) {
  each_case(
      8'000,
      [](std::uint64_t number) {
        Chance chance(number);
        std::filesystem::path path = chance.of(programs());
        SCOPED_TRACE(path.string());
        const auto archive = exported::Archive::open(path);
        std::vector<ZipEntry> entries;
        for (const exported::ArchiveEntry& entry : archive.entries()) {
          std::string content = archive.text(entry, 1 << 26);
          if (entry.name == "models/model.json") {
            do content = changed(std::move(content), chance);
            while (chance.below(4) == 0);
          }
          entries.push_back({.name = "m/" + entry.name, .content = std::move(content)});
        }
        expect_bounded("m.pt2", testing::zip_archive(entries, 64),
                       content_of(path.replace_extension(".safetensors")));
      },
      share_of_extremes);
}

}  // namespace
}  // namespace tilewright::drills
