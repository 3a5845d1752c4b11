// Sizes of exported programs that are computed from symbols.
#include <gtest/gtest.h>

#include "models/programs/size_expression.h"
#include "tests/models/exported_files.h"
#include "tests/models/folders.h"

namespace tilewright::size_expressions_test {
namespace {

TEST(ExportedSizes, AreComputedFromSymbols) {
  using programs::evaluate;
  using programs::parse_size_expression;
  auto value = [](const char* text) {
    return evaluate(*parse_size_expression(text), {{"s0", 7}, {"s1", -3}});
  };
  EXPECT_EQ(value("Mul(Integer(4), Symbol('s0', positive=True, integer=True))"), 28);
  EXPECT_EQ(value("Add(s0, Integer(-9), s1)"), -5);
  EXPECT_EQ(value("FloorDiv(s1, Integer(2))"), -2);
  EXPECT_EQ(value("Mod(s1, Integer(2))"), 1);
  EXPECT_EQ(value("Max(s0, s1)"), 7);
  EXPECT_EQ(value("Min(s0, s1)"), -3);
  EXPECT_EQ(value("FloorDiv(s0, Integer(0))"), std::nullopt);
  EXPECT_EQ(value("Mul(Integer(9223372036854775807), s0)"), std::nullopt);
  EXPECT_EQ(value("Novel(s0, s1)"), std::nullopt);
  EXPECT_EQ(value("s9"), std::nullopt);
  // As sympy and PyTorch 2.15 evaluate them.
  EXPECT_EQ(
      value("TruncToInt(Mul(Float('0.5', precision=53), ToFloat(Symbol('s0', integer=True))))"), 3);
  EXPECT_EQ(value("TruncToInt(Mul(Float('-0.5', precision=53), ToFloat(s0)))"), -3);
  EXPECT_EQ(value("FloorToInt(Mul(Float('-0.5', precision=53), ToFloat(s0)))"), -4);
  EXPECT_EQ(value("CeilToInt(IntTrueDiv(s0, Integer(2)))"), 4);
  EXPECT_EQ(value("RoundToInt(IntTrueDiv(s0, Integer(2)))"), 4);
  EXPECT_EQ(
      value("RoundToInt(FloatTrueDiv(Float('5.0', precision=53), Float('2.0', precision=53)))"), 2);
  EXPECT_EQ(value("Mul(Rational(3, 2), Add(s0, Integer(1)))"), 12);
  EXPECT_EQ(value("Mul(Rational(1, 2), s0)"), std::nullopt);
  EXPECT_EQ(value("Add(Pow(s0, Integer(2)), PowByNatural(s1, Integer(3)))"), 22);
  EXPECT_EQ(value("CeilDiv(s0, Integer(2))"), 4);
  EXPECT_EQ(value("ModularIndexing(s0, Integer(2), Integer(2))"), 1);
  EXPECT_EQ(value("PythonMod(s1, Integer(-2))"), -1);
  EXPECT_EQ(value("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))"), 2);
  EXPECT_EQ(value("Where(StrictLessThan(s1, Integer(0)), s0, s9)"), 7);
  EXPECT_EQ(value("Identity(Abs(s1))"), 3);
  EXPECT_EQ(value("IntTrueDiv(s0, Integer(0))"), std::nullopt);
  EXPECT_EQ(value("TruncToInt(Float('1e300', precision=53))"), std::nullopt);
  EXPECT_EQ(value("Equality(s0, s1)"), std::nullopt);
  EXPECT_EQ(value("FloorDiv(s0)"), std::nullopt);
  EXPECT_EQ(to_string(*parse_size_expression("Mul(Integer(2), Add(s0, Integer(1)))")),
            "2 * (s0 + 1)");
  std::string deep, end;
  for (int i = 0; i < 300; ++i) {
    deep += "Add(s0, ";
    end += ")";
  }
  deep += "s0" + end;
  const std::string longest = "Add(" + std::string((1 << 16) - 9, ' ') + "s0)";
  EXPECT_TRUE(parse_size_expression(longest).has_value());
  for (const std::string& text :
       {std::string(""), std::string("1"), std::string("Add(s0"), std::string("Symbol(s0)"),
        std::string("Integer(9223372036854775808)"), std::string("s0 s1"), deep,
        longest + std::string("   "), std::string("Float(0.5)"), std::string("Float('x')"),
        std::string("Float('0.5'"), std::string("Rational(1)")})
    EXPECT_EQ(parse_size_expression(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tilewright::size_expressions_test
