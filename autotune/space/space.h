// Which configurations a kernel may have: the product of named choices ("knobs"), less what rules
// forbid.
//
//   Space space;
//   space.choose("rows", {16, 32, 64, 128}).choose("stages", {2, 3, 4})
//       .choose("unit", {"avx512", "amx"})
//       .rule("fits shared memory", [](const Setting& s) {
//         return s["rows"] * s["stages"] * 128 <= 228 << 10;
//       });
//
// A point of the space is a vector of indices, one a knob; a `Setting` is a point read by name. The
// values of a knob are kept in the order given, and a search takes neighbours in that order for
// alike: give sizes ascending. Text ("rows=64 stages=3 unit=amx") is stored and shown; it names
// values, not indices, so that it stays true when a knob is given further values.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::autotune {

using Point = std::vector<int>;
class Random;  // random.h

struct Knob {
  std::string name;
  std::vector<std::int64_t> values;
  std::vector<std::string> labels;  // instead of values, of choices that are not numbers

  int count() const { return static_cast<int>(labels.empty() ? values.size() : labels.size()); }
  std::string text(int index) const;
};

class Space;

// A point by the names of its knobs. Refers to space and point; for the length of a call.
class Setting {
 public:
  Setting(const Space& space, const Point& point) : space_(space), point_(point) {}
  // The chosen number, or the index of the chosen label. Raises for unknown names.
  std::int64_t operator[](std::string_view knob) const;
  // The chosen label, or the chosen number as text.
  std::string label(std::string_view knob) const;
  const Point& point() const { return point_; }

 private:
  const Space& space_;
  const Point& point_;
};

// Not changed once it is searched; then safe to read from several threads if the rules are.
class Space {
 public:
  using Holds = std::function<bool(const Setting&)>;

  // Names are letters, digits and underscores; values differ from each other. Raises otherwise.
  Space& choose(std::string knob, std::vector<std::int64_t> values);
  Space& choose(std::string knob, std::vector<std::string> labels);
  Space& choose(std::string knob, std::initializer_list<int> values);
  Space& choose(std::string knob, std::initializer_list<const char*> labels);
  // A rule for every configuration; `broken_rule` answers with `name`.
  Space& rule(std::string name, Holds holds);

  const std::vector<Knob>& knobs() const { return knobs_; }
  std::size_t index_of(std::string_view knob) const;  // raises for unknown names
  // Points with and without those that rules forbid; INT64_MAX where the product is larger.
  std::int64_t product() const;

  bool is_point(const Point& point) const;  // an index a knob, each in range
  bool is_legal(const Point& point) const { return is_point(point) && !broken_rule(point); }
  std::optional<std::string> broken_rule(const Point& point) const;

  // All legal points in lexicographic order, at most `most` of them.
  std::vector<Point> legal_points(std::int64_t most) const;
  // A legal point, each as likely as any; nothing if a thousand tries met none.
  std::optional<Point> random_point(Random& random) const;
  // Legal points that differ in one knob by one step.
  std::vector<Point> neighbours(const Point& point) const;
  // A legal point that differs in one to `most_knobs` knobs, mostly by a step or two.
  std::optional<Point> changed(const Point& point, int most_knobs, Random& random) const;
  // Sum over knobs of the distance in their order, each between 0 and 1.
  double distance(const Point& a, const Point& b) const;

  std::string text(const Point& point) const;
  // The legal point of a text; nothing if it names other knobs or values or breaks a rule.
  std::optional<Point> parse(std::string_view text) const;
  // Why `parse` gives nothing, with what would be right: "the knob rows has no value 7; it has 16,
  // 32".
  std::string problem(std::string_view text) const;

 private:
  Space& add(Knob knob);
  std::string read(std::string_view text, Point& point) const;

  struct Rule {
    std::string name;
    Holds holds;
  };
  std::vector<Knob> knobs_;
  std::vector<Rule> rules_;
};

}  // namespace tilewright::autotune
