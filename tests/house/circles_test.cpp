// No circle of includes: not among folders, not among what lies directly below the rooms, and not
// among files, where a source counts with its header.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What includes what, each arrow with a line that draws it.
using Arrows = std::map<std::string, std::map<std::string, std::string>>;
using Knot = std::set<std::string>;

// "graph/lower" of "graph/lower/sort/host_sort.cpp".
std::string second_folder_of(const std::string& path) {
  const std::size_t room = path.find('/'), second = path.find('/', room + 1);
  return path.substr(0, second == std::string::npos ? room : second);
}

// "graph/ir/op" of "graph/ir/op.h" and of "graph/ir/op.cpp".
std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

// Between the groups of the rooms' files that `group_of` says.
Arrows arrows_between(const std::function<std::string(const std::string&)>& group_of) {
  Arrows arrows;
  for (const SourceFile& file : sources()) {
    if (rank_of(file.room()) < 0) continue;
    for (const Include& include : includes_of(file)) {
      const std::string from = group_of(file.path), to = group_of(include.name);
      const bool is_of_a_room = rank_of(include.name.substr(0, include.name.find('/'))) >= 0;
      if (include.quoted && from != to && is_of_a_room)
        arrows[from].emplace(to, at(file, include.line) + include.name);
    }
  }
  return arrows;
}

// All that arrows lead to from one.
std::set<std::string> reached_from(const std::string& start, const Arrows& arrows) {
  std::set<std::string> reached;
  std::vector<std::string> to_visit{start};
  while (!to_visit.empty()) {
    const std::string current = to_visit.back();
    to_visit.pop_back();
    auto found = arrows.find(current);
    if (found == arrows.end()) continue;
    for (const auto& [to, line] : found->second)
      if (reached.insert(to).second) to_visit.push_back(to);
  }
  return reached;
}

// Groups all of which reach each other, two or more.
std::vector<Knot> knots_in(const Arrows& arrows) {
  std::map<std::string, std::set<std::string>> reached;
  for (const auto& [from, targets] : arrows) reached[from] = reached_from(from, arrows);
  std::vector<Knot> knots;
  std::set<std::string> seen;
  for (const auto& [from, targets] : reached) {
    if (!targets.contains(from) || seen.contains(from)) continue;
    Knot knot;
    for (const std::string& to : targets)
      if (auto back = reached.find(to); back != reached.end() && back->second.contains(from))
        knot.insert(to);
    seen.insert(knot.begin(), knot.end());
    knots.push_back(std::move(knot));
  }
  return knots;
}

// The lines that hold a knot together.
std::vector<std::string> lines_of(const Knot& knot, const Arrows& arrows) {
  std::vector<std::string> lines;
  for (const std::string& from : knot)
    for (const auto& [to, line] : arrows.at(from))
      if (knot.contains(to)) lines.push_back(line);
  return lines;
}

std::vector<std::string> circles(const Arrows& arrows) {
  std::vector<std::string> lines;
  for (const Knot& knot : knots_in(arrows))
    for (std::string& line : lines_of(knot, arrows)) lines.push_back(std::move(line));
  return lines;
}

TEST(House, NoArrowLeadsBackToAFolderItCameFrom) {
  EXPECT_THAT(circles(arrows_between(folder_of)), IsEmpty());
}

TEST(House, NoArrowLeadsBackToAFolderBelowARoom) {
  EXPECT_THAT(circles(arrows_between(second_folder_of)), IsEmpty());
}

// Files that know each other in a circle all the same. The list only gets shorter: a file that is
// in none any more is taken out.
const std::vector<Knot>& known_knots() {
  static const std::vector<Knot> knots = {
      // Tiles call the tracer of their kernel, which makes tiles.
      {"dsl/language/operands", "dsl/language/tile", "dsl/language/tracer"},
      {"graph/functions/complex/arithmetic", "graph/functions/complex/elementary"},
      {"graph/functions/linear_algebra/complex_matrices", "graph/functions/linear_algebra/solving"},
      {"models/exported/program/arguments", "models/exported/program/program"},
  };
  return knots;
}

TEST(House, FilesDoNotIncludeEachOtherInACircle) {
  const Arrows arrows = arrows_between(unit_of);
  std::set<std::string> left;
  for (const Knot& known : known_knots()) left.insert(known.begin(), known.end());
  std::vector<std::string> wrong;
  for (const Knot& knot : knots_in(arrows)) {
    const bool is_known = std::ranges::any_of(
        known_knots(), [&](const Knot& known) { return std::ranges::includes(known, knot); });
    if (!is_known)
      for (std::string& line : lines_of(knot, arrows)) wrong.push_back(std::move(line));
    for (const std::string& unit : knot) left.erase(unit);
  }
  for (const std::string& unit : left)
    wrong.push_back(unit + " is in no circle any more: take it off the list");
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, CirclesAreSeen) {
  const Arrows arrows = {{"a", {{"b", "1"}, {"d", "2"}}},
                         {"b", {{"c", "3"}}},
                         {"c", {{"b", "4"}, {"e", "5"}}},
                         {"d", {{"a", "6"}}},
                         {"e", {}}};
  EXPECT_THAT(knots_in(arrows), ElementsAre(Knot{"a", "d"}, Knot{"b", "c"}));
  EXPECT_THAT(circles(arrows), ElementsAre("2", "6", "3", "4"));
}

}  // namespace
}  // namespace tilewright
