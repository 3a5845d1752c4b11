// The origins of values: parameters (analysis/parameter_use.h), and the place of a program in the
// grid (analysis/program_dependence.h). Loops carry both.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/analysis/parameter_use.h"
#include "dsl/analysis/program_dependence.h"
#include "dsl/ir/text/text.h"

namespace tilewright::dsl::parameters_and_programs_test {
namespace {

// A loop that begins with one of two pointers and goes on with the other.
constexpr auto turning = R"(func @f(%x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>, %n: i64) {
  %l = constant 0 : i64
  %s = constant 1 : i64
  %r = loop %l to %n step %s index %i with (%c = %x) {
    %v = load %c : f32
    store %z, %v
    yield %y
  } : ptr<f32>
  %w = load %r : f32
  store %z, %w
})";

TEST(ParameterUse, WhatALoopCarriesIsMadeFromItsStartAndFromWhatATurnYields) {
  ir::Function f = ir::parse(turning);
  const ir::Inst* loop = nullptr;
  ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::loop_) loop = &inst;
  });
  for (std::size_t param : {0, 1}) {
    std::vector<bool> made = made_from(f, param);
    EXPECT_TRUE(made[loop->results[0]]) << param;
    EXPECT_TRUE(made[loop->bodies[0].params[1]]) << param;
  }
  EXPECT_FALSE(made_from(f, 2)[loop->results[0]]);
  std::vector<ParameterUse> uses = parameter_use(f);
  EXPECT_EQ(uses[0], (ParameterUse{true, false}));
  EXPECT_EQ(uses[1], (ParameterUse{true, false}));
  EXPECT_EQ(uses[2], (ParameterUse{false, true}));
}

// Prefetched data must be present in memory.
TEST(ParameterUse, AHintIsARead) {
  ir::Function f = ir::parse(R"(func @f(%x: ptr<f32>, %n: i64) {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %d = make_desc %x, %n, %1 : desc<f32, 1>
  prefetch_desc %d, %0, [16]
})");
  EXPECT_EQ(parameter_use(f)[0], (ParameterUse{true, false}));
}

TEST(ProgramDependence, WhatALoopCarriesDependsOnItsStartAndOnWhatATurnYields) {
  for (bool begins_with_it : {true, false}) {
    ir::Function f = ir::parse(std::string(R"(func @f(%z: ptr<i64>, %n: i64) {
  %p = program_id 0 : i64
  %l = constant 0 : i64
  %s = constant 1 : i64
  %r = loop %l to %n step %s index %i with (%c = )") +
                               (begins_with_it ? "%p" : "%l") + R"() {
    yield )" + (begins_with_it ? "%l" : "%p") +
                               R"(
  } : i64
  %q = offset %z, %r : ptr<i64>
  store %q, %r
})");
    const ir::Inst* store = nullptr;
    ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
      if (inst.op == ir::Op::store_) store = &inst;
    });
    EXPECT_TRUE(depends_on_program(f, 0)[store->operands[1]]) << begins_with_it;
    EXPECT_FALSE(depends_on_program(f, 1)[store->operands[1]]) << begins_with_it;
  }
}

TEST(ProgramDependence, WhatALoopCarriesDependsOnHowOftenItTurns) {
  for (const char* bounds : {"%p to %n step %s", "%l to %p step %s", "%l to %n step %p"}) {
    ir::Function f = ir::parse(std::string(R"(func @f(%z: ptr<i64>, %n: i64) {
  %p = program_id 0 : i64
  %l = constant 0 : i64
  %s = constant 1 : i64
  %r = loop )") + bounds + R"( index %i with (%c = %l) {
    %d = add %c, %s : i64
    yield %d
  } : i64
  store %z, %r
})");
    const ir::Inst& loop = *std::ranges::find(f.body.insts, ir::Op::loop_, &ir::Inst::op);
    for (ir::Value value : {loop.results[0], loop.bodies[0].params[0], loop.bodies[0].params[1]}) {
      EXPECT_TRUE(depends_on_program(f, 0)[value]) << bounds;
      EXPECT_FALSE(depends_on_program(f, 1)[value]) << bounds;
    }
  }
}

}  // namespace
}  // namespace tilewright::dsl::parameters_and_programs_test
