// Random kernels made of words: the code for this host and for two emulated GPUs computes what the
// interpreter does.
//
// Random tile programs (tile_generator.h) draw operations; most words are made of several. A word
// with approximate results is the last one that its value passes through: so the comparison has one
// tolerance, and nothing need be known of how errors grow.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/function.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/kernel.h"
#include "dsl/language/words/math.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/property/seeds.h"
#include "tests/property/word_table.h"
#include "tests/source_folder.h"

namespace tilewright::dsl::word_programs_test {
namespace {

constexpr std::int64_t most = 192, steps = 7, programs = 2;
constexpr std::uint64_t parts = 8, seeds = 160;

// More where TILEWRIGHT_TEST_GRAPHS asks for more than its 2,000, in proportion.
std::uint64_t wanted_seeds() {
  return seeds *
         static_cast<std::uint64_t>(
             std::max<std::int64_t>(env::test_graphs().value_or(2000), 2000)) /
         2000;
}

// The results of a kernel: a row of each step for each program, of whole numbers or of floating
// ones.
struct Results {
  std::vector<std::int64_t> whole = std::vector<std::int64_t>(programs * steps * most);
  std::vector<float> floating = std::vector<float>(programs * steps * most);
  std::vector<std::int32_t> cells = std::vector<std::int32_t>(programs * WordDraw::cell_count);
};

struct Program {
  ir::Function function;
  std::vector<std::string_view> names;  // of the words of its steps
  std::vector<Agrees> agreements;
};

bool takes(const DrawnWord& word, const Tile& x) {
  if (word.takes == Takes::integers) return is_integer(x.dtype());
  if (word.takes == Takes::floats) return is_floating(x.dtype());
  return true;
}

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 5) {
    for (const auto& table : {drawn_words(), drawn_functions()})
      words_.insert(words_.end(), table.begin(), table.end());
  }

  Program program() {
    Program program;
    program.function = Kernel("words", [&](Pointer integers, Pointer floats, Pointer whole,
                                           Pointer floating, Pointer cells) {
                         pool_.clear();
                         program.names.clear();
                         program.agreements.clear();
                         write(program, integers, floats, whole, floating, cells);
                       }).trace({i32, f32, i64, f32, i32});
    return program;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  void write(Program& program, const Tile& integers, const Tile& floats, const Tile& whole,
             const Tile& floating, const Tile& cells) {
    static const std::vector<Shape> shapes = {{16},   {4, 4}, {3, 5},   {2, 9},
                                              {1, 8}, {33},   {4, 2, 3}};
    const Shape shape = shapes[static_cast<std::size_t>(below(std::ssize(shapes)))];
    Tile at = program_id(0) * most + cast(reshape(arange(0, element_count(shape)), shape), i64);
    pool_ = {load(integers + at), load(floats + at)};
    pool_.push_back(cast(pool_[0], u32));
    pool_.push_back(cast(pool_[0] & 127, f32));
    WordDraw draw{random_, pool_, cells + program_id(0) * WordDraw::cell_count};
    for (std::int64_t step = 0; step < steps; ++step) {
      const Tile x = pool_[static_cast<std::size_t>(below(std::ssize(pool_)))];
      const DrawnWord& word = words_[static_cast<std::size_t>(below(std::ssize(words_)))];
      if (!takes(word, x)) {
        --step;
        continue;
      }
      Tile y = word.apply(draw, x);
      if (element_count(y.shape()) > most) continue;  // its row stays as it was
      program.names.push_back(word.names);
      program.agreements.resize(static_cast<std::size_t>(step) + 1, Agrees::exactly);
      program.agreements.back() = word.agrees;
      const bool is_floating_result = is_floating(y.dtype());
      put((is_floating_result ? floating : whole) + (program_id(0) * steps + step) * most,
          cast(y, is_floating_result ? f32 : i64));
      const bool goes_on = word.agrees == Agrees::exactly && element_count(y.shape()) <= most / 2 &&
                           y.shape().rank() > 0 && y.shape().rank() < 4 && !is_boolean(y.dtype());
      if (goes_on) pool_.push_back(y);
    }
  }

  static void put(const Tile& pointer, const Tile& x) {
    if (x.shape().empty()) return store(pointer, x);
    store(pointer + reshape(arange(0, element_count(x.shape())), x.shape()), x);
  }

  std::mt19937_64 random_;
  std::vector<DrawnWord> words_;
  std::vector<Tile> pool_;
};

Results run(const std::string& way, const ir::Function& function, std::uint64_t seed) {
  std::mt19937_64 random(seed + 77);
  std::vector<std::int32_t> integers(programs * most);
  std::vector<float> floats(programs * most);
  for (auto& x : integers)
    x = random() % 3 == 0 ? static_cast<std::int32_t>(random()) : static_cast<int>(random() % 24);
  const float special[] = {0, -0.0F, HUGE_VALF, -HUGE_VALF, NAN, 1e-41F};
  for (auto& x : floats)
    x = random() % 12 == 0 ? special[random() % std::size(special)]
                           : static_cast<float>(static_cast<int>(random() % 2001) - 1000) /
                                 static_cast<float>(1 << random() % 9);
  Results results;
  const std::vector<Argument> arguments{{.pointer = integers.data()},
                                        {.pointer = floats.data()},
                                        {.pointer = results.whole.data()},
                                        {.pointer = results.floating.data()},
                                        {.pointer = results.cells.data()}};
  const Grid grid{{programs, 1, 1}};
  if (way == "interpreter")
    ir::interpret(function, grid, arguments);
  else
    launch(*compile(function, way == "host" ? host_target() : target_named(way)), grid,
           arguments.data());
  return results;
}

bool near(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) {
    const float other = std::isinf(x) ? y : x;  // the greatest number is near too
    return x == y || (std::signbit(x) == std::signbit(y) && std::abs(other) > 3.4e38F);
  }
  // GPUs give 0 for subnormal results of exp.
  return std::abs(x - y) <= 0x1p-18F * std::abs(x) + 0x1p-126F;
}
bool same(float x, float y) { return std::isnan(x) ? std::isnan(y) : x == y; }

// Empty where they agree.
std::string difference(const Program& program, const Results& expected, const Results& actual) {
  for (std::size_t i = 0; i < expected.whole.size(); ++i) {
    const std::size_t step = i / most % steps;
    const bool is_near =
        step < program.agreements.size() && program.agreements[step] == Agrees::nearly;
    const float x = expected.floating[i], y = actual.floating[i];
    if (!(is_near ? near(x, y) : same(x, y)) || expected.whole[i] != actual.whole[i])
      return concat("step ", step, ", element ", i % most, ": ", expected.whole[i], " and ", x,
                    " became ", actual.whole[i], " and ", y);
  }
  for (std::size_t i = 0; i < expected.cells.size(); ++i)
    if (expected.cells[i] != actual.cells[i]) return concat("cell ", i, " differs");
  return "";
}

class WordPrograms : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, WordPrograms, testing::Range<std::uint64_t>(0, parts));

TEST_P(WordPrograms, ComputeEverywhereWhatTheInterpreterDoes) {
  for (std::uint64_t seed : seeds_of_test(wanted_seeds())) {
    if (seed % parts != GetParam()) continue;
    const Program program = Writer(seed).program();
    const Results expected = run("interpreter", program.function, seed);
    for (const char* way : {"host", "sm_80", "sm_90a"})
      ASSERT_EQ(difference(program, expected, run(way, program.function, seed)), "")
          << way << "\n"
          << testing::PrintToString(program.names) << "\n"
          << ir::print(program.function) << reproduction(seed);
  }
}

TEST(WordPrograms, DrawEveryWordOfTheTable) {
  std::map<std::string_view, int> counts;
  for (std::uint64_t seed = 0; seed < 4 * seeds; ++seed)
    for (std::string_view name : Writer(seed).program().names) ++counts[name];
  for (const auto& table : {drawn_words(), drawn_functions()})
    for (const DrawnWord& word : table) EXPECT_GT(counts[word.names], 3) << word.names;
}

// The words in backticks of the first column of the page's tables, or of the second where these are
// names of headers.
std::set<std::string> words_of_the_page() {
  std::ifstream page(source_folder() / "docs/language.md");
  std::set<std::string> words;
  std::string line, section;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (!line.starts_with("| ") || line.starts_with("|---")) continue;
    if (section != "Words" && section != "libdevice") continue;
    std::string cell = line.substr(0, line.find(" | "));
    if (section == "libdevice") cell = line.substr(line.find(" | "));
    for (auto open = cell.find('`'); open != std::string::npos;) {
      const auto close = cell.find('`', open + 1);
      words.insert(cell.substr(open + 1, close - open - 1));
      open = cell.find('`', close + 1);
    }
  }
  return words;
}

TEST(WordPrograms, DrawEachWordOfTheLanguageOrSayWhyNot) {
  std::set<std::string> known;
  for (const auto& table : {drawn_words(), drawn_functions()})
    for (const DrawnWord& word : table) {
      known.insert(std::string(word.names));
      std::istringstream names{std::string(word.names)};
      for (std::string name; names >> name;) known.insert(name);
    }
  for (const UndrawnWord& word : undrawn_words()) {
    known.insert(std::string(word.name));
    EXPECT_FALSE(word.reason.empty()) << word.name;
  }
  const std::set<std::string> words = words_of_the_page();
  EXPECT_GT(words.size(), 100U);
  for (const std::string& word : words)
    EXPECT_TRUE(known.contains(word))
        << word
        << " is in docs/language.md; add it to word_table.cpp or word_functions.cpp, or say "
        << "in undrawn_words why it is not drawn";
}

}  // namespace
}  // namespace tilewright::dsl::word_programs_test
