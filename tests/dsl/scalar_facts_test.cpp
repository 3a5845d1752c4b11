// Facts about integer scalars: bounds up to the ends of their types, and divisors.
#include "dsl/codegen/llvm/scalar_facts.h"

#include <gtest/gtest.h>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::scalar_facts_test {
namespace {

// The facts of the value that the program stores last, as "low..high /divisor".
std::string facts_of_stored(const std::string& body) {
  ir::Function f =
      ir::parse("func @f(%z: ptr<i64>, %y: ptr<i32>, %b: ptr<u8>, %n: i64) {\n" + body + "}\n");
  ir::Value stored{};
  ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::store_) stored = inst.operands[1];
  });
  ScalarFacts facts = scalar_facts(f)[stored];
  return concat(facts.low, "..", facts.high, " /", facts.divisor);
}

// The index of a loop from 0 to below 100 by 4, and what is computed of it.
std::string facts_in_loop(const std::string& line) {
  return facts_of_stored(
      "  %l = constant 0 : i64\n  %h = constant 100 : i64\n  %s = constant 4 : i64\n"
      "  %eight = constant 8 : i64\n  loop %l to %h step %s index %i {\n    %v = " +
      line + " : i64\n    store %z, %v\n    yield\n  }\n");
}

TEST(ScalarFacts, QuotientsAndRemaindersOfWhatBeginsAtZeroAreBounded) {
  EXPECT_EQ(facts_in_loop("rem %i, %eight"), "0..7 /4");
  EXPECT_EQ(facts_in_loop("div %i, %eight"), "0..12 /1");
}

// Up to 2 to the 40th; of a larger product, the larger of both is kept.
TEST(ScalarFacts, AProductIsAMultipleOfBothDivisors) {
  EXPECT_EQ(facts_in_loop("mul %i, %eight"), "0..768 /32");
  EXPECT_EQ(facts_of_stored("  %l = constant 0 : i64\n  %h = constant 4194304 : i64\n"
                            "  %s = constant 2097152 : i64\n"
                            "  loop %l to %h step %s index %i {\n    %v = mul %i, %s : i64\n"
                            "    store %z, %v\n    yield\n  }\n"),
            "0..4398046511104 /2097152");
}

TEST(ScalarFacts, TheEndsOfATypeAreInIt) {
  EXPECT_EQ(facts_of_stored("  %v = constant 2147483647 : i32\n  store %y, %v\n"),
            "2147483647..2147483647 /2147483647");
  EXPECT_EQ(facts_of_stored("  %v = constant -2147483648 : i32\n  store %y, %v\n"),
            "-2147483648..-2147483648 /2147483648");
  EXPECT_EQ(facts_of_stored("  %v = constant 255 : u8\n  store %b, %v\n"), "255..255 /255");
}

}  // namespace
}  // namespace tilewright::dsl::scalar_facts_test
