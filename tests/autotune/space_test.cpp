#include "autotune/space/space.h"

#include <gmock/gmock.h>

#include <set>

#include "autotune/space/random.h"
#include "runtime/base/error.h"
#include "tests/errors.h"

namespace tilewright::autotune::space_test {
namespace {

using ::testing::HasSubstr;

Space tiles() {
  Space space;
  space.choose("rows", {16, 32, 64}).choose("stages", {2, 3}).choose("unit", {"avx", "amx"});
  space.rule("fits", [](const Setting& s) { return s["rows"] * s["stages"] <= 128; });
  space.rule("amx needs rows",
             [](const Setting& s) { return s.label("unit") != "amx" || s["rows"] >= 32; });
  return space;
}

TEST(Space, ListsWhatRulesAllow) {
  Space space = tiles();
  std::vector<Point> points = space.legal_points(1000);
  EXPECT_EQ(space.product(), 12);
  EXPECT_EQ(points.size(), 8u);  // 64 rows have no 3 stages, amx has no 16 rows
  EXPECT_EQ(space.legal_points(3).size(), 3u);
  EXPECT_EQ(space.broken_rule({2, 1, 0}), "fits");
  EXPECT_EQ(space.broken_rule({0, 0, 1}), "amx needs rows");
  EXPECT_FALSE(space.is_legal({0, 0}));
  EXPECT_FALSE(space.is_legal({3, 0, 0}));
}

TEST(Space, ReadsWhatItWrites) {
  Space space = tiles();
  for (const Point& point : space.legal_points(1000))
    EXPECT_EQ(space.parse(space.text(point)), point);
  EXPECT_EQ(space.text({1, 1, 0}), "rows=32 stages=3 unit=avx");
  EXPECT_EQ(space.parse("unit=avx  stages=3 rows=32"), (Point{1, 1, 0}));
  for (const char* bad :
       {"", "rows=32", "rows=32 stages=3 unit=avx more=1", "rows=33 stages=3 unit=avx",
        "rows=64 stages=3 unit=avx", "rows=32 rows=32 stages=3 unit=avx", "rows"})
    EXPECT_EQ(space.parse(bad), std::nullopt) << bad;
}

TEST(Space, SaysWhyATextIsNoPoint) {
  Space space;
  space.choose("rows", {16, 32}).choose("unit", {"avx", "amx"}).rule("small", [](const Setting& s) {
    return s["rows"] == 16 || s.label("unit") == "avx";
  });
  EXPECT_EQ(space.problem("rows=16 unit=amx"), "");
  EXPECT_EQ(space.problem("rows=7 unit=amx"), "the knob rows has no value 7; it has 16, 32");
  EXPECT_EQ(space.problem("row=16"), "there is no knob \"row\"; there are: rows, unit");
  EXPECT_EQ(space.problem("rows=16 rows=32"), "the knob rows is given twice");
  EXPECT_EQ(space.problem("rows"), "\"rows\" is not a knob=value");
  EXPECT_EQ(space.problem("rows=16"), "the knob unit is not given");
  EXPECT_EQ(space.problem("rows=32 unit=amx"), "it breaks the rule \"small\"");
}

TEST(Space, DrawsAndChangesWithinTheRules) {
  Space space = tiles();
  Random random(1);
  std::set<Point> drawn;
  for (int i = 0; i < 300; ++i) {
    Point point = space.random_point(random).value();
    EXPECT_TRUE(space.is_legal(point));
    drawn.insert(point);
    Point other = space.changed(point, 3, random).value();
    EXPECT_TRUE(space.is_legal(other));
    EXPECT_NE(other, point);
    for (const Point& near : space.neighbours(point)) {
      EXPECT_TRUE(space.is_legal(near));
      EXPECT_GT(space.distance(near, point), 0);
    }
  }
  EXPECT_EQ(drawn.size(), 8u);
}

TEST(Space, OfRulesThatForbidAllHasNoPoint) {
  Space space;
  space.choose("a", {1, 2}).rule("never", [](const Setting&) { return false; });
  Random random(1);
  EXPECT_EQ(space.random_point(random), std::nullopt);
  EXPECT_EQ(space.changed({0}, 1, random), std::nullopt);
  EXPECT_TRUE(space.legal_points(10).empty());
}

TEST(Space, NamesWhatIsWrongWithAKnob) {
  Space space = tiles();
  EXPECT_THAT(error_of([&] { space.choose("rows", {1}); }), HasSubstr("two knobs named rows"));
  EXPECT_THAT(error_of([&] { space.choose("a b", {1}); }), HasSubstr("\"a b\""));
  EXPECT_THAT(error_of([&] { space.choose("x", {1, 1}); }), HasSubstr("the value 1 twice"));
  EXPECT_THAT(error_of([&] { space.choose("x", std::vector<std::int64_t>{}); }),
              HasSubstr("no values"));
  EXPECT_THAT(error_of([&] { space.choose("x", {"a b"}); }), HasSubstr("\"a b\""));
  EXPECT_THAT(error_of([&] { space.index_of("column"); }), HasSubstr("rows, stages, unit"));
  EXPECT_THAT(error_of([&] { space.rule("nothing", nullptr); }), HasSubstr("has no function"));
}

}  // namespace
}  // namespace tilewright::autotune::space_test
