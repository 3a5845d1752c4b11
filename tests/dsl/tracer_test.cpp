#include "dsl/language/tracer.h"

#include <gmock/gmock.h>

#include <set>

#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::tracer_test {
namespace {

using testing::HasSubstr;

// The text of what `body` traces, given a scalar n and a bool c.
std::string traced(const std::function<void(Tile n, Tile c)>& body) {
  Tracer tracer("f");
  Tile n = tracer.scalar_param("n", i64), c = tracer.scalar_param("c", boolean);
  body(n, c);
  ir::Function function = tracer.finish();
  std::string text = ir::print(function);
  EXPECT_EQ(ir::print(ir::parse(text)), text);
  return text;
}

// Two programs are the same but for numbering.
void expect_same(const std::string& actual, const std::string& expected) {
  EXPECT_EQ(actual, ir::print(ir::parse(expected)));
}

TEST(Tracer, AVariableAssignedInALoopIsCarried) {
  expect_same(traced([](Tile n, Tile) {
                Var sum = n;
                for (Tile i : range(n, n, 1)) sum += i;
                -sum;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %step1 = constant 1 : i64
  %r = loop %n to %n step %step1 index %i with (%s = %n) {
    %t = add %s, %i : i64
    yield %t
  } : i64
  %u = neg %r : i64
})");
}

TEST(Tracer, AVariableOnlyReadInALoopIsNotCarried) {
  expect_same(traced([](Tile n, Tile) {
                Var read = n;
                for (Tile i : range(n, n, 1)) read + i;
                -read;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %step2 = constant 1 : i64
  loop %n to %n step %step2 index %i {
    %t = add %n, %i : i64
    yield
  }
  %u = neg %n : i64
})");
}

TEST(Tracer, AVariableAssignedItsOwnValueIsNotCarried) {
  EXPECT_THAT(traced([](Tile n, Tile) {
                Var same = n;
                for ([[maybe_unused]] Tile i : range(n, n, 1)) same = same.get();
              }),
              testing::Not(HasSubstr("with")));
}

TEST(Tracer, VariablesCanExchangeTheirValues) {
  expect_same(traced([](Tile n, Tile) {
                Var a = n, b = -n;
                for ([[maybe_unused]] Tile i : range(n, n, 1)) {
                  Tile old = a;
                  a = b;
                  b = old;
                }
                a - b;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %m = neg %n : i64
  %step3 = constant 1 : i64
  %a, %b = loop %n to %n step %step3 index %i with (%x = %n, %y = %m) {
    yield %y, %x
  } : i64, i64
  %d = sub %a, %b : i64
})");
}

TEST(Tracer, AVariableThatTakesAnUntouchedOneCarriesItsValue) {
  expect_same(traced([](Tile n, Tile) {
                Var source = -n, target = n;
                for ([[maybe_unused]] Tile i : range(n, n, 1)) target = source;
                -target;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %m = neg %n : i64
  %step4 = constant 1 : i64
  %r = loop %n to %n step %step4 index %i with (%x = %n) {
    yield %m
  } : i64
  %u = neg %r : i64
})");
}

TEST(Tracer, NestedLoopsCarryWhatTheInnerOneAssigns) {
  expect_same(traced([](Tile n, Tile) {
                Var sum = n, read = -n;
                for (Tile i : range(n, n, 1))
                  for (Tile j : range(i, n, 1)) sum += j * read;
                -sum;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %m = neg %n : i64
  %step5 = constant 1 : i64
  %r = loop %n to %n step %step5 index %i with (%s = %n) {
    %step6 = constant 1 : i64
    %q = loop %i to %n step %step6 index %j with (%t = %s) {
      %p = mul %j, %m : i64
      %a = add %t, %p : i64
      yield %a
    } : i64
    yield %q
  } : i64
  %u = neg %r : i64
})");
}

TEST(Tracer, AVariableMadeInALoopDiesThere) {
  expect_same(traced([](Tile n, Tile) {
                for (Tile i : range(n, n, 1)) {
                  Var inner = i;
                  for (Tile j : range(n, n, 1)) inner += j;
                  -inner;
                }
              }),
              R"(func @f(%n: i64, %c: bool) {
  %step7 = constant 1 : i64
  loop %n to %n step %step7 index %i {
    %step8 = constant 1 : i64
    %q = loop %n to %n step %step8 index %j with (%t = %i) {
      %a = add %t, %j : i64
      yield %a
    } : i64
    %u = neg %q : i64
    yield
  }
})");
}

TEST(Tracer, AnIfYieldsWhatEitherBodyAssigns) {
  expect_same(traced([](Tile n, Tile c) {
                Var a = n, b = n, untouched = n;
                if_(
                    c, [&] { a = -a; }, [&] { b = b + untouched; });
                a - b;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %a, %b = if %c {
    %m = neg %n : i64
    yield %m, %n
  } else {
    %s = add %n, %n : i64
    yield %n, %s
  } : i64, i64
  %d = sub %a, %b : i64
})");
}

TEST(Tracer, AnIfInALoopCarriesThroughBoth) {
  expect_same(traced([](Tile n, Tile c) {
                Var last = n;
                for (Tile i : range(n, n, 1)) if_(c, [&] { last = i; });
                -last;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %step9 = constant 1 : i64
  %r = loop %n to %n step %step9 index %i with (%s = %n) {
    %t = if %c {
      yield %i
    } else {
      yield %s
    } : i64
    yield %t
  } : i64
  %u = neg %r : i64
})");
}

TEST(Tracer, ALoopInAnIfGivesItsResultToTheIf) {
  expect_same(traced([](Tile n, Tile c) {
                Var sum = n;
                if_(c, [&] {
                  for (Tile i : range(n, n, 1)) sum += i;
                });
                -sum;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %t = if %c {
    %step10 = constant 1 : i64
    %r = loop %n to %n step %step10 index %i with (%s = %n) {
      %a = add %s, %i : i64
      yield %a
    } : i64
    yield %r
  } else {
    yield %n
  } : i64
  %u = neg %t : i64
})");
}

TEST(Tracer, AVariableThatEndsInABranchIsNoResultOfTheIf) {
  expect_same(traced([](Tile n, Tile c) {
                std::optional<Var> ends(std::in_place, n);
                Var stays = n;
                if_(c, [&] {
                  *ends = n + n;
                  stays = ends->get();
                  ends.reset();
                });
                -stays;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %t = if %c {
    %s = add %n, %n : i64
    yield %s
  } else {
    yield %n
  } : i64
  %u = neg %t : i64
})");
}

TEST(Tracer, ACopyOfAVariableIsAVariableOfItsOwn) {
  expect_same(traced([](Tile n, Tile) {
                Var a = n;
                Var b = a;
                a = -a;
                b + 0 * a;
              }),
              R"(func @f(%n: i64, %c: bool) {
  %m = neg %n : i64
  %z = constant 0 : i64
  %p = mul %z, %m : i64
  %s = add %n, %p : i64
})");
}

TEST(Tracer, EachInstructionKnowsTheLineOfItsOperator) {
  Tracer tracer("f");
  Tile x = tracer.scalar_param("x", f32);
  auto first = std::source_location::current().line() + 1;
  Tile y = x * 2 +  // the lines of this expression matter
           exp(x);
  store(tracer.pointer_param("p", f32),
        // one line further
        sum(splat(y, {4}), 0));
  std::set<std::pair<std::string, unsigned>> lines;
  ir::Function f = tracer.finish();
  for (const ir::Inst& inst : f.body.insts)
    lines.emplace(info(inst.op).name, inst.where.line() - first);
  EXPECT_TRUE(lines.count({"mul", 0}));
  EXPECT_TRUE(lines.count({"exp", 1}));
  EXPECT_TRUE(lines.count({"store", 2}));
  EXPECT_TRUE(lines.count({"reduce", 4}));
  for (const ir::Inst& inst : f.body.insts)
    EXPECT_THAT(inst.where.file_name(), HasSubstr("tracer_test.cpp"));
}

TEST(Tracer, TracersNestAndTheInnermostIsTheCurrentOne) {
  Tracer outer("outer");
  Tile x = arange(0, 4);
  {
    Tracer inner("inner");
    arange(0, 8);
    EXPECT_EQ(inner.finish().body.insts.size(), 1U);
  }
  x + 1;
  EXPECT_EQ(outer.finish().body.insts.size(), 4U);
}

TEST(Tracer, AFailedTraceLeavesTheThreadReadyForTheNext) {
  EXPECT_THROW(traced([](Tile n, Tile) {
                 for (Tile i : range(n, n, 1)) i + arange(0, 4);
               }),
               Error);
  EXPECT_THAT(traced([](Tile n, Tile) { n + 1; }), HasSubstr("add"));
  EXPECT_THROW(Tracer::current("x", std::source_location::current()), Error);
}

}  // namespace
}  // namespace tilewright::dsl::tracer_test
