#include "autotune/database/row/record.h"

#include <gtest/gtest.h>

#include "autotune/space/space.h"
#include "tests/errors.h"

namespace tilewright::autotune::record_test {
namespace {

TEST(Record, TextHasNamesInOrderWhateverTheOrderOfSetting) {
  EXPECT_EQ(Record().set("rows", 64).set("columns", 128).set("stages", 4).text(),
            "columns=128 rows=64 stages=4");
  EXPECT_EQ(Record().set("b", 1).set("a", 2), Record().set("a", 2).set("b", 1));
  EXPECT_EQ(Record().text(), "");
}

TEST(Record, ASecondValueOfANameReplacesTheFirst) {
  Record record = Record().set("rows", 64).set("rows", 32);
  EXPECT_EQ(record.integer("rows"), 32);
  EXPECT_EQ(record.fields().size(), 1U);
}

TEST(Record, EveryByteComesBackFromTheText) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  Record record = Record().set("any", bytes).set("empty", "").set("words", "a b=c%20");
  for (char c : record.text()) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(Record::parse(record.text()), record);
  EXPECT_EQ(Record::parse(""), Record());
}

TEST(Record, TextThatIsNotCanonicalIsNone) {
  for (const char* text : {"b=1 a=2", "a=1 a=1", "a", "=1", "1a=1", "a=1 ", " a=1", "a=1  b=2",
                           "a=%", "a=%2", "a=%2g", "a=%41", "a=%0a", "a=\t", "a=\x80"})
    EXPECT_FALSE(Record::parse(text)) << text;
  EXPECT_FALSE(Record::parse("a=" + std::string(10'000, '1')));
  std::string many;
  for (int i = 100; i < 200; ++i) many += (many.empty() ? "a" : " a") + std::to_string(i) + "=1";
  EXPECT_FALSE(Record::parse(many));
}

TEST(Record, FieldsAreReadInAnyOrderToo) {
  EXPECT_EQ(Record::read("  rows=64 columns=128  "), Record().set("rows", 64).set("columns", 128));
  EXPECT_EQ(Record::read(""), Record());
  for (const char* text : {"a=1 a=2", "a", "a=1 =2"}) EXPECT_FALSE(Record::read(text)) << text;
}

TEST(Record, ConfigurationsOfASpaceComeBackToTheirPoints) {
  Space space;
  space.choose("rows", {16, 32, 64}).choose("stages", {2, 3}).choose("Unit", {"avx512", "amx"});
  for (const Point& point : space.legal_points(100)) {
    std::optional<Configuration> configuration = Configuration::read(space.text(point));
    ASSERT_TRUE(configuration);
    EXPECT_EQ(space.parse(configuration->text()), point);
  }
}

TEST(Record, IntegersAreReadWhole) {
  Record record = Record()
                      .set("a", "12")
                      .set("b", "12x")
                      .set("c", "")
                      .set("d", "-7")
                      .set("e", "99999999999999999999");
  EXPECT_EQ(record.integer("a"), 12);
  EXPECT_EQ(record.integer("d"), -7);
  for (const char* name : {"b", "c", "e", "none"}) EXPECT_FALSE(record.integer(name)) << name;
}

TEST(Record, ANameThatIsNoneIsNamed) {
  for (const char* name : {"", "r\xc3\xb6ws", "a b", "_a", "1"})
    expect_contains(error_of([&] { Record().set(name, 1); }), "cannot be the name of a value");
}

}  // namespace
}  // namespace tilewright::autotune::record_test
