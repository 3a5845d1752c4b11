// Plans that are kept to, and plans that were tampered with: bit for bit the same results, or a
// sentence.
#include <gtest/gtest.h>

#include <sstream>

#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

// A plan, and the output of the run that wrote it.
struct Written {
  std::string plan;
  nlohmann::json ids;
};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Written& written() {
  static const Written made = [] {
    Workplace place;
    Outcome outcome = run(place.command(with(generate_words(), {"--write-plan", "a.plan"})));
    EXPECT_EQ(outcome.status, 0) << outcome.text();
    return Written{read_file(place.path() / "a.plan"), ids_of(outcome)};
  }();
  return made;
}

TEST(LockedPlans, GiveTheSameInEveryRun) {
  each_case(20, [](std::uint64_t number) {
    Workplace place;
    place.write("a.plan", written().plan);
    Command command = place.command(with(generate_words(), {"--locked", "a.plan"}));
    command.settings.push_back(concat("TILEWRIGHT_THREADS=", 1 + number % 4));
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 0) << outcome.text();
    EXPECT_EQ(ids_of(outcome), written().ids);
    expect_answer(outcome, 1 << 20);
  });
}

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  return lines;
}

std::string tampered(std::uint64_t number) {
  Chance chance(number);
  std::string text = written().plan;
  std::vector<std::string> lines = lines_of_text(text);
  std::size_t at = chance.below(text.size()), line = chance.below(lines.size());
  auto joined = [&] {
    std::string all;
    for (const std::string& one : lines) all += one;
    return all;
  };
  switch (number % 9) {
    case 0: lines.erase(lines.begin() + static_cast<long>(line)); return joined();
    case 1: lines.insert(lines.begin() + static_cast<long>(line), lines[line]); return joined();
    case 2: std::swap(lines[line], lines[chance.below(lines.size())]); return joined();
    case 3: {
      std::size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + chance.below(10));
      return text;
    }
    case 4: text[at] = static_cast<char>(text[at] ^ (1 << chance.below(8))); return text;
    case 5: return text.substr(0, at);
    case 6: return text + "block 1\n";
    case 7: return text.insert(at, std::string(1 + chance.below(2'000'000), '9'));
    default: return text.insert(at, std::string(1, '\0'));
  }
}

// As an attacker would seal it, knowing that the last line is a checksum of those before.
std::string sealed(const std::string& plan) {
  std::size_t end = plan.rfind("\nend "), at = plan.rfind("checksum ");
  if (end == std::string::npos || at == std::string::npos || at < end) return plan;
  Hasher lines;
  for (std::string& line : lines_of_text(plan.substr(0, end + 1)))
    lines.add(std::string_view(line).substr(0, line.size() - 1));
  return concat(plan.substr(0, at + 9), lines.finish().hex(), "\n");
}

TEST(TamperedPlans, AreRefusedOrChangeNoResult) {
  each_case(276, [](std::uint64_t number) {
    Workplace place;
    std::string plan = number % 2 == 0 ? tampered(number) : sealed(tampered(number));
    place.write("a.plan", plan);
    Outcome outcome = run(place.command(with(generate_words(), {"--locked", "a.plan"})));
    expect_answer(outcome, static_cast<std::int64_t>(plan.size()));
    EXPECT_LT(outcome.err.size(), 4000u);
    EXPECT_EQ(outcome.err.find("a bug in Tilewright"), std::string::npos) << outcome.text();
    if (outcome.status == 0) {
      EXPECT_EQ(ids_of(outcome), written().ids);
    }
  });
}

TEST(TamperedPlans, WouldBeTakenIfTheirChecksumWereRight) {
  EXPECT_EQ(sealed(written().plan), written().plan);
}

TEST(TamperedPlans, ThatAreNoFilesAreRefused) {
  Workplace place;
  for (const char* other : {"/dev/zero", "model", "none"}) {
    Outcome outcome = run(place.command(with(generate_words(), {"--locked", other})));
    expect_answer(outcome);
    EXPECT_NE(outcome.status, 0) << other;
  }
}

}  // namespace
}  // namespace tilewright::drills
