// Programs of the corpus with something in them changed: whatever they ask for, the answer is a
// result or an Error. TILEWRIGHT_SEED repeats one of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <new>
#include <random>
#include <regex>

#include "models/exported/archive.h"
#include "models/exported/exported_module.h"
#include "models/exported/program/program.h"
#include "tests/models/exported_corpus.h"
#include "tests/models/folders.h"
#include "tests/models/zip_archive.h"

namespace tilewright::exported_mutations_test {
namespace {

using testing::corpus_cases;
using testing::corpus_runs;
using testing::CorpusCase;
using testing::zip_archive;
using testing::ZipEntry;

// The whole archive, with another model.json.
std::string archive_with(const exported::Archive& archive, const std::string& program) {
  std::vector<ZipEntry> entries;
  for (const exported::ArchiveEntry& entry : archive.entries()) {
    bool is_program = entry.name == "models/model.json";
    entries.push_back({.name = "m/" + entry.name,
                       .content = is_program ? program : archive.text(entry, 1 << 26)});
  }
  return zip_archive(entries, 64);
}

// One number, name or flag of the text replaced by another.
std::string mutated(const std::string& text, std::mt19937_64& random) {
  static const std::regex places(
      R"x(("as_int": -?\d+|[\[ ]-?\d+[,\]]|"as_float": [-\d.e]+|true|false|)x"
      R"x("name": "\w+"|"dtype": \d+|"as_scalar_type": \d+))x");
  std::vector<std::pair<std::size_t, std::string>> found;
  auto begin = std::sregex_iterator(text.begin(), text.end(), places);
  for (auto i = begin; i != std::sregex_iterator(); ++i)
    found.emplace_back(i->position(), i->str());
  auto pick = [&](std::size_t count) { return random() % count; };
  const auto& [at, old] = found[pick(found.size())];
  static const std::vector<std::string> numbers = {"0",
                                                   "-1",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "-5",
                                                   "64",
                                                   "1000000",
                                                   "1099511627776",
                                                   "9223372036854775807",
                                                   "-9223372036854775808"};
  std::string with = old;
  std::size_t digits = old.find_first_of("-0123456789");
  if (old == "true" || old == "false")
    with = old == "true" ? "false" : "true";
  else if (old.starts_with("\"name\""))
    with = found[pick(found.size())].second;
  else if (old.find("dtype") != old.npos || old.find("scalar_type") != old.npos)
    with = old.substr(0, old.find(' ') + 1) + std::to_string(pick(14));
  else
    with = old.substr(0, digits) + numbers[pick(numbers.size())] +
           (old.back() == ',' || old.back() == ']' ? std::string(1, old.back()) : "");
  return text.substr(0, at) + with + text.substr(at + old.size());
}

TEST(ExportedMutations, GiveResultsOrErrorsAndNothingElse) {
  std::vector<CorpusCase> cases = corpus_cases("ops");
  if (cases.empty()) GTEST_SKIP() << "TILEWRIGHT_TEST_CASE names no case of ops";
  const char* only = std::getenv("TILEWRIGHT_SEED");
  ScratchFolder folder;
  int results = 0, errors = 0;
  std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1, count = only ? 1 : 400;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    const CorpusCase& c = cases[random() % cases.size()];
    exported::Archive archive = exported::Archive::open(c.program);
    std::string text = archive.text(archive.at("models/model.json"), 1 << 26);
    for (int i = 0; i < 3; ++i) text = mutated(text, random);
    try {
      auto module = load_exported(folder.write("m.pt2", archive_with(archive, text)));
      module->forward(corpus_runs(c)[0].inputs);
      ++results;
    } catch (const Error&) {
      ++errors;
    } catch (const std::bad_alloc&) {
      ++errors;
    } catch (const std::exception& other) {
      ADD_FAILURE() << c.name << ": " << other.what() << "\n  repeat: TILEWRIGHT_SEED=" << seed;
    }
  }
  std::cout << results << " results, " << errors << " errors\n";
}

}  // namespace
}  // namespace tilewright::exported_mutations_test
