#include "autotune/space/space.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "autotune/space/random.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

int below(int count, Random& random) {
  return std::uniform_int_distribution<int>(0, count - 1)(random);
}

}  // namespace

std::string Knob::text(int index) const {
  auto i = static_cast<std::size_t>(index);
  return labels.empty() ? std::to_string(values[i]) : labels[i];
}

std::int64_t Setting::operator[](std::string_view knob) const {
  std::size_t at = space_.index_of(knob);
  const Knob& found = space_.knobs()[at];
  return found.labels.empty() ? found.values[static_cast<std::size_t>(point_[at])] : point_[at];
}

std::string Setting::label(std::string_view knob) const {
  std::size_t at = space_.index_of(knob);
  return space_.knobs()[at].text(point_[at]);
}

Space& Space::add(Knob knob) {
  require(is_word(knob.name), "[autotune] a knob is named \"", knob.name,
          "\"; names are letters, digits and underscores");
  require(knob.count() > 0, "[autotune] knob ", knob.name, " has no values; give one at least");
  for (const Knob& other : knobs_)
    require(other.name != knob.name, "[autotune] there are two knobs named ", knob.name);
  std::set<std::string> texts;
  for (int i = 0; i < knob.count(); ++i) {
    require(texts.insert(knob.text(i)).second, "[autotune] knob ", knob.name, " has the value ",
            knob.text(i), " twice");
    require(is_word(knob.text(i)), "[autotune] knob ", knob.name, " has a value \"", knob.text(i),
            "\"; values are numbers or words");
  }
  knobs_.push_back(std::move(knob));
  return *this;
}

Space& Space::choose(std::string knob, std::vector<std::int64_t> values) {
  return add({std::move(knob), std::move(values), {}});
}
Space& Space::choose(std::string knob, std::vector<std::string> labels) {
  return add({std::move(knob), {}, std::move(labels)});
}
Space& Space::choose(std::string knob, std::initializer_list<int> values) {
  return add({std::move(knob), {values.begin(), values.end()}, {}});
}
Space& Space::choose(std::string knob, std::initializer_list<const char*> labels) {
  return add({std::move(knob), {}, {labels.begin(), labels.end()}});
}

Space& Space::rule(std::string name, Holds holds) {
  require(static_cast<bool>(holds), "[autotune] rule \"", name, "\" has no function");
  rules_.push_back({std::move(name), std::move(holds)});
  return *this;
}

std::size_t Space::index_of(std::string_view knob) const {
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    if (knobs_[i].name == knob) return i;
  std::string known;
  for (const Knob& other : knobs_) known += (known.empty() ? "" : ", ") + other.name;
  raise_error(concat("[autotune] there is no knob named \"", knob, "\"; there are: ", known));
}

std::int64_t Space::product() const {
  std::int64_t result = 1;
  for (const Knob& knob : knobs_) {
    if (result > std::numeric_limits<std::int64_t>::max() / knob.count())
      return std::numeric_limits<std::int64_t>::max();
    result *= knob.count();
  }
  return result;
}

bool Space::is_point(const Point& point) const {
  if (point.size() != knobs_.size()) return false;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (point[i] < 0 || point[i] >= knobs_[i].count()) return false;
  return true;
}

std::optional<std::string> Space::broken_rule(const Point& point) const {
  Setting setting(*this, point);
  for (const Rule& rule : rules_)
    if (!rule.holds(setting)) return rule.name;
  return std::nullopt;
}

std::vector<Point> Space::legal_points(std::int64_t most) const {
  std::vector<Point> result;
  Point point(knobs_.size(), 0);
  while (static_cast<std::int64_t>(result.size()) < most) {
    if (!broken_rule(point)) result.push_back(point);
    std::size_t i = point.size();
    while (i > 0 && ++point[i - 1] == knobs_[i - 1].count()) point[--i] = 0;
    if (i == 0) break;
  }
  return result;
}

std::optional<Point> Space::random_point(Random& random) const {
  Point point(knobs_.size());
  for (int tries = 0; tries < 1000; ++tries) {
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = below(knobs_[i].count(), random);
    if (!broken_rule(point)) return point;
  }
  return std::nullopt;
}

std::vector<Point> Space::neighbours(const Point& point) const {
  std::vector<Point> result;
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    for (int step : {-1, 1}) {
      Point other = point;
      other[i] += step;
      if (is_legal(other)) result.push_back(std::move(other));
    }
  return result;
}

std::optional<Point> Space::changed(const Point& point, int most_knobs, Random& random) const {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    if (knobs_[i].count() > 1) free.push_back(i);
  if (free.empty()) return std::nullopt;
  for (int tries = 0; tries < 100; ++tries) {
    Point other = point;
    int changes = 1 + below(std::max(1, most_knobs), random);
    for (int i = 0; i < changes; ++i) {
      std::size_t at = free[static_cast<std::size_t>(below(static_cast<int>(free.size()), random))];
      int kind = below(8, random);  // one step, two steps, or anywhere
      int step = kind < 5 ? 1 : 2;
      other[at] = kind == 7 ? below(knobs_[at].count(), random)
                            : other[at] + (below(2, random) == 0 ? -step : step);
    }
    if (other != point && is_legal(other)) return other;
  }
  return std::nullopt;
}

double Space::distance(const Point& a, const Point& b) const {
  double sum = 0;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    int count = knobs_[i].count();
    if (count > 1) sum += std::abs(a[i] - b[i]) / static_cast<double>(count - 1);
  }
  return sum;
}

std::string Space::text(const Point& point) const {
  std::string result;
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    result += (i == 0 ? "" : " ") + knobs_[i].name + "=" + knobs_[i].text(point[i]);
  return result;
}

// The error in the text; nothing: `point` is its point, legal or not.
std::string Space::read(std::string_view text, Point& point) const {
  auto names = [this] {
    std::string known;
    for (const Knob& knob : knobs_) known += (known.empty() ? "" : ", ") + knob.name;
    return known;
  };
  point.assign(knobs_.size(), -1);
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return concat("\"", word, "\" is not a knob=value");
    auto knob = std::ranges::find(knobs_, word.substr(0, equals), &Knob::name);
    if (knob == knobs_.end())
      return concat("there is no knob \"", word.substr(0, equals), "\"; there are: ", names());
    int& index = point[static_cast<std::size_t>(knob - knobs_.begin())];
    if (index != -1) return concat("the knob ", knob->name, " is given twice");
    std::string values;
    for (int i = 0; i < knob->count(); ++i) {
      if (knob->text(i) == word.substr(equals + 1)) index = i;
      values += (values.empty() ? "" : ", ") + knob->text(i);
    }
    if (index == -1)
      return concat("the knob ", knob->name, " has no value ", word.substr(equals + 1), "; it has ",
                    values);
  }
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    if (point[i] == -1) return concat("the knob ", knobs_[i].name, " is not given");
  return {};
}

std::optional<Point> Space::parse(std::string_view text) const {
  Point point;
  if (!read(text, point).empty() || broken_rule(point)) return std::nullopt;
  return point;
}

std::string Space::problem(std::string_view text) const {
  Point point;
  std::string problem = read(text, point);
  if (!problem.empty()) return problem;
  std::optional<std::string> broken = broken_rule(point);
  return broken ? concat("it breaks the rule \"", *broken, "\"") : std::string();
}

}  // namespace tilewright::autotune
