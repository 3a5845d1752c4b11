// Values that are interpolated rather than made: when that is, and that a wrong one is found.
#include "graph/sizes/interpolated.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "tests/errors.h"

namespace tilewright::graph::interpolated_test {
namespace {

struct Made {
  std::string word;
  Shape shape;
  double number = 0;
};
template <typename Visitor, typename M>
void visit_made(Visitor& visitor, M& made) {
  visitor.form(std::string_view(made.word));
  visit(visitor, made.shape);
  visitor.number(made.number);
}
void visit(NumberReader& visitor, const Made& made) { visit_made(visitor, made); }
void visit(NumberWriter& visitor, Made& made) { visit_made(visitor, made); }

class Values {
 public:
  using Make = std::function<Made(std::int64_t)>;
  explicit Values(Make make) : make_(std::move(make)) {}
  Made of(std::int64_t size) {
    NumberReader given;
    given.number(size);
    bool is_interpolated = false;
    Made made = values_.value_of(
        given, [&] { return make_(size); }, is_interpolated);
    interpolated += is_interpolated ? 1 : 0;
    return made;
  }
  int interpolated = 0;

 private:
  Make make_;
  InterpolatedValues<Made> values_{"values"};
};

Made rows(std::int64_t size) { return {"rows", {size, 3 * size}, static_cast<double>(size - 1)}; }

TEST(InterpolatedValues, AreThoseThatAreMade) {
  Values values(rows);
  for (std::int64_t size : {40, 10, 30, 21}) values.of(size);
  EXPECT_EQ(values.interpolated, 0);
  for (std::int64_t size : {39, 11, 25, 10}) {
    const Made made = values.of(size), expected = rows(size);
    EXPECT_EQ(made.word, expected.word);
    EXPECT_EQ(made.shape, expected.shape);
    EXPECT_EQ(made.number, expected.number);
  }
  EXPECT_EQ(values.interpolated, 4);
}

// Numbers that do not count are form: a share is another one at each size.
TEST(InterpolatedValues, AreMadeWhereAShareDiffers) {
  Values values([](std::int64_t size) {
    return Made{"share", {size}, 1.0 / static_cast<double>(size)};
  });
  for (std::int64_t size = 3; size < 40; ++size)
    EXPECT_EQ(values.of(size).number, 1.0 / static_cast<double>(size));
  EXPECT_EQ(values.interpolated, 0);
}

TEST(InterpolatedValues, AreGivenUpWhereNoneFollows) {
  int made = 0;
  Values values([&](std::int64_t size) {
    ++made;
    return Made{std::to_string(size), {size}, 0};
  });
  for (std::int64_t size = 1; size <= 200; ++size) EXPECT_EQ(values.of(size).shape, Shape{size});
  EXPECT_EQ(made, 200);
}

TEST(InterpolatedValues, ThatAreWrongAreFound) {
  Values values([](std::int64_t size) { return size == 25 ? rows(size + 1) : rows(size); });
  for (std::int64_t size : {40, 10, 30, 21}) values.of(size);
  verify_interpolated(true);
  EXPECT_EQ(values.of(26).shape, rows(26).shape);
  std::string error;
  try {
    values.of(25);
  } catch (const InternalError& internal) {
    error = internal.what();
  }
  verify_interpolated(false);
  expect_contains(error, "values of another size are interpolated with 25, not 26");
}

}  // namespace
}  // namespace tilewright::graph::interpolated_test
