#include "dsl/ir/verify.h"

#include <gmock/gmock.h>

#include <functional>

#include "dsl/ir/text/text.h"
#include "dsl/language/tracer.h"
#include "runtime/base/error.h"

namespace tilewright::ir::verify_test {
namespace {

const char* const program = R"(func @f(%n: i64, %c: bool) {
  %2 = constant 0 : i64
  %3 = constant 1 : i64
  %6 = loop %2 to %n step %3 index %4 with (%5 = %2) {
    %7 = add %5, %4 : i64
    yield %7
  } : i64
  %8 = add %6, %3 : i64
}
)";

// The verifier's message about the program after `damage`.
std::string verdict(const std::function<void(Function&)>& damage) {
  Function f = parse(program);
  damage(f);
  try {
    verify(f);
  } catch (const Error& error) {
    return error.what();
  }
  return "fine";
}

Inst& loop_of(Function& f) { return f.body.insts[2]; }
Block& body_of(Function& f) { return loop_of(f).bodies[0]; }

TEST(Verify, AcceptsWhatTheParserReads) {
  EXPECT_EQ(verdict([](Function&) {}), "fine");
}

TEST(Verify, RefusesAValueUsedBeforeItsDefinition) {
  EXPECT_EQ(verdict([](Function& f) { std::swap(f.body.insts[2], f.body.insts[3]); }),
            "[add] the operand %7 is used before its definition");
}

TEST(Verify, RefusesAValueOfABlockThatHasEnded) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[3].operands[0] = 6; }),
            "[add] the operand %6 is defined in a block that has ended");
}

TEST(Verify, RefusesAValueDefinedTwice) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[1].results[0] = 2; }),
            "[constant] the value %2 is defined twice");
}

TEST(Verify, RefusesAnOperandThatDoesNotExist) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[3].operands[0] = 99; }),
            "[add] the operand %99 has no type");
  // The first that has none.
  EXPECT_EQ(verdict([](Function& f) {
              f.body.insts[3].operands[0] = static_cast<Value>(f.types.size());
            }),
            "[add] the operand %9 has no type");
}

TEST(Verify, RefusesAResultOfAnotherTypeThanTheRuleGives) {
  EXPECT_EQ(verdict([](Function& f) { f.types[f.body.insts[3].results[0]].dtype = DType::i32; }),
            "[add] result 0 is declared i32; it is i64");
}

TEST(Verify, RefusesAWrongNumberOfOperands) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[3].operands.pop_back(); }),
            "[add] there are 1 operands; it takes 2");
}

TEST(Verify, RefusesAWrongNumberOfResults) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[3].results.clear(); }),
            "[add] it has 0 results; it must have 1");
}

TEST(Verify, RefusesAnImmediateOfAnotherKind) {
  EXPECT_EQ(verdict([](Function& f) { f.body.insts[3].immediate = Axis{0}; }),
            "[add] the immediate is of the wrong kind");
}

TEST(Verify, RefusesABodyWithoutYield) {
  EXPECT_EQ(verdict([](Function& f) { body_of(f).insts.pop_back(); }),
            "[add] it is the last of a body; a body ends in yield");
  EXPECT_EQ(verdict([](Function& f) { body_of(f).insts.clear(); }),
            "[yield] a body is empty; it must end in yield");
}

TEST(Verify, RefusesAYieldBeforeTheEnd) {
  EXPECT_EQ(verdict([](Function& f) {
              body_of(f).insts.insert(body_of(f).insts.begin(), body_of(f).insts.back());
              body_of(f).insts[0].operands = {5};
            }),
            "[yield] it stands before the end of a body; a body has one, at its end");
  EXPECT_THAT(verdict([](Function& f) { f.body.insts.push_back(body_of(f).insts.back()); }),
              testing::StartsWith("[yield] it stands before the end of a body"));
}

TEST(Verify, RefusesALoopWhoseBodyTakesOtherValuesThanItCarries) {
  EXPECT_EQ(verdict([](Function& f) { body_of(f).params.pop_back(); }),
            "[loop] its body has 1 parameters; it must have 2");
  EXPECT_EQ(verdict([](Function& f) { f.types[body_of(f).params[0]].dtype = DType::i32; }),
            "[loop] parameter 0 of its body is i32; it must be i64");
}

TEST(Verify, RefusesALoopThatYieldsOtherTypesThanItCarries) {
  EXPECT_EQ(verdict([](Function& f) { body_of(f).insts.back().operands = {1}; }),
            "[loop] the body yields other types than the carried values have");
}

TEST(Verify, RefusesMissingBodies) {
  EXPECT_EQ(verdict([](Function& f) { loop_of(f).bodies.clear(); }),
            "[loop] there are 0 bodies; it has 1");
}

TEST(Verify, NamesTheLineOfTheUser) {
  dsl::Tracer tracer("f");
  dsl::arange(0, 4);
  Function f = tracer.finish();
  f.types[0].dtype = DType::i64;
  std::string line = std::to_string(f.body.insts[0].where.line());
  try {
    verify(f);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              "verify_test.cpp:" + line + ": [arange] result 0 is declared i64[4]; it is i32[4]");
  }
}

}  // namespace
}  // namespace tilewright::ir::verify_test
