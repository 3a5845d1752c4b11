// Faults in the GPU's passes are found by name: the output of a broken pass is refused by the rules
// of its stage or by the code generator, or computes something else in the emulator, and since a
// function goes on from any stage, running more and more of the broken pipeline before the sound
// one names the pass.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <span>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/rewrite.h"
#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"
#include "tests/dsl/arrays.h"

namespace tilewright::dsl::gpu::gpu_faults_test {
namespace {

using ir::Inst;
using ir::Op;

constexpr std::int64_t size = 128;

// A product, pipelined or by warps with roles; a tile that is exchanged and multiplied by the
// numbers of its columns; and a row of those numbers.
ir::Function program() {
  return ir::parse(R"(func @several(%x: ptr<f32>, %y: ptr<f32>) {
  %n = constant 128 : i64
  %one = constant 1 : i64
  %dx = make_desc %x, %n, %n, %n, %one : desc<f32, 2>
  %dy = make_desc %y, %n, %n, %n, %one : desc<f32, 2>
  %zero = constant 0 : i64
  %step = constant 32 : i64
  %nothing = constant 0 : f32
  %none = splat %nothing, [128x64] : f32[128x64]
  %sum = loop %zero to %n step %step index %i with (%acc = %none) {
    %l = load_desc %dx, %zero, %i, [128x32] : f32[128x32]
    %t = load_desc %dx, %zero, %i, [64x32] : f32[64x32]
    %r = permute %t, (1, 0) : f32[32x64]
    %next = dot %l, %r, %acc, tf32 : f32[128x64]
    yield %next
  } : f32[128x64]
  store_desc %dy, %sum, %zero, %zero
  %u = load_desc %dx, %zero, %zero, [32x64] : f32[32x64]
  %v = permute %u, (1, 0) : f32[64x32]
  %a = arange 0 to 32 : i32[32]
  %b = cast %a, f32 : f32[32]
  %c = expand_dims %a, 1 : i32[32x1]
  %d = broadcast %c, [32x64] : i32[32x64]
  %e = permute %d, (1, 0) : i32[64x32]
  %f = cast %e, f32 : f32[64x32]
  %w = mul %v, %f : f32[64x32]
  %column = constant 64 : i64
  store_desc %dy, %w, %zero, %column
  %last = constant 16320 : i64
  %yl = offset %y, %last : ptr<f32>
  %ys = splat %yl, [32] : ptr<f32>[32]
  %yp = offset %ys, %a : ptr<f32>[32]
  store %yp, %b
}
)");
}

Array run(const std::function<void(std::span<const Argument>)>& act) {
  Array x = random_array(size * size, 7), y(size * size, 0);
  for (float& element : x) element = std::round(element * 8);  // products and sums are exact
  std::vector<Argument> arguments(2);
  arguments[0].pointer = x.data();
  arguments[1].pointer = y.data();
  act(arguments);
  return y;
}

// "" if a function becomes right code once the rest of the passes has been over it.
std::string verdict(ir::Function function, std::span<const std::string> rest,
                    const Target& target) {
  static const Array expected =
      run([](auto arguments) { ir::interpret(program(), Grid(1), arguments); });
  try {
    ir::verify(function);
    run_named_passes(function, rest, target);
    auto artifact = generate_emulated(function, target);
    Array actual = run([&](auto arguments) {
      const std::int64_t grid[] = {1, 1, 1};
      artifact->run(arguments.data(), grid, 0, 1, nullptr);
    });
    return actual == expected ? "" : "computes something else";
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct Fault {
  const char* pass;
  const char* target;
  const char* says;  // part of the verdict
  std::function<void(ir::Function&)> plant;
};

// Acts on the first instruction that is meant; there must be one.
void first(ir::Block& block, const std::function<bool(const Inst&)>& is_meant,
           const std::function<void(Inst&)>& act) {
  bool found = false;
  ir::for_each_inst(block, [&](Inst& inst) {
    if (found || !is_meant(inst)) return;
    found = true;
    act(inst);
  });
  EXPECT_TRUE(found);
}
void first(ir::Function& function, const std::function<bool(const Inst&)>& is_meant,
           const std::function<void(Inst&)>& act) {
  SCOPED_TRACE(ir::print(function));
  first(function.body, is_meant, act);
}
std::function<bool(const Inst&)> is(Op op) {
  return [op](const Inst& inst) { return inst.op == op; };
}
bool is_staged(const Inst& inst) { return inst.schedule.staged; }
bool exchanges(const Inst& inst) { return inst.op != Op::loop_ && inst.schedule.shared_bytes > 0; }
std::function<bool(const Inst&)> waits(ir::Barrier before) {
  return [before](const Inst& inst) { return inst.schedule.barrier == before; };
}
void let_go(Inst& inst) { inst.schedule.barrier = ir::Barrier::none; }
bool has_stages(const Inst& inst) { return inst.schedule.stages > 0; }

std::vector<Fault> faults() {
  return {
      {"specialise_warps", "sm_90a", "cannot give them",
       [](auto& f) { first(f, is_staged, [](Inst& load) { load.schedule.staged = false; }); }},
      {"specialise_warps", "sm_90a", "cannot give them", [](auto& f) { f.roles->stages = 100; }},
      {"specialise_warps", "sm_90a", "cannot give them", [](auto& f) { f.warps = 4; }},
      {"assign_layouts", "sm_80", "it must be over 32 of", [](auto& f) { f.warps /= 2; }},
      {"assign_layouts", "sm_80", "has no layout",
       [](auto& f) {
         first(f, is(Op::mul_), [&](Inst& mul) { f.layout_of[mul.results[0]] = -1; });
       }},
      {"assign_layouts", "sm_80", "does not lie where the instructions of sm_80 have it",
       [](auto& f) {
         first(f, is(Op::loop_), [&](Inst& loop) {
           auto like = layout::blocked({128, 64}, 1, f.warps);
           const ir::Block& body = loop.bodies[0];
           for (ir::Value value : {loop.results[0], body.params[1], body.insts.back().operands[0]})
             f.set_layout(value, like);
         });
       }},
      {"pipeline_loads", "sm_80", "are staged in no loop that has stages",
       [](auto& f) { first(f, has_stages, [](Inst& loop) { loop.schedule.stages = 0; }); }},
      {"pipeline_loads", "sm_80", "bytes of shared memory",
       [](auto& f) { first(f, has_stages, [](Inst& loop) { loop.schedule.stages = 200; }); }},
      {"pipeline_loads", "sm_80", "are not possible on sm_80",
       [](auto& f) { first(f, is(Op::dot_), [](Inst& dot) { dot.schedule.deferred = true; }); }},
      {"insert_conversions", "sm_80", "does not lie where its result",
       [](auto& f) {
         ir::Replacements back;
         first(f, is(Op::convert_layout_), [](Inst&) {});
         ir::for_each_inst(f.body, [&](Inst& inst) {
           if (inst.op == Op::convert_layout_) back.add(inst.results[0], inst.operands[0]);
         });
         ir::replace_uses(f, back);
       }},
      {"insert_conversions", "sm_80", "computes something else",
       [](auto& f) {
         std::size_t aranges = 0;
         ir::for_each_inst(f.body, [&](Inst& inst) {
           if (inst.op == Op::arange_ && ++aranges > 1) inst.immediate = ir::Bounds{1, 33};
         });
         EXPECT_GT(aranges, 1U) << ir::print(f);
       }},
      {"allocate_shared", "sm_80", "overlap those of a loop around it",
       [](auto& f) {
         first(f, has_stages, [&](Inst& loop) {
           first(loop.bodies[0], is(Op::dot_), [&](Inst& dot) {
             dot.schedule.shared_bytes = 16;
             dot.schedule.shared_offset = loop.schedule.shared_offset;
           });
         });
       }},
      {"allocate_shared", "sm_80", "lie outside the function's",
       [](auto& f) { f.shared.bytes /= 2; }},
      {"allocate_shared", "sm_80", "of shared memory and exchanges values through",
       [](auto& f) { first(f, exchanges, [](Inst& inst) { inst.schedule.shared_bytes /= 2; }); }},
      {"allocate_shared", "sm_80", "bytes of shared memory for stages of",
       [](auto& f) { first(f, has_stages, [](Inst& loop) { loop.schedule.shared_bytes /= 2; }); }},
      {"allocate_shared", "sm_90a", "bytes of shared memory, and its roles need",
       [](auto& f) { f.shared.reserved -= 128; }},
      {"insert_barriers", "sm_80", "of which other threads may still read",
       [](auto& f) { first(f, waits(ir::Barrier::scratch), let_go); }},
      {"insert_barriers", "sm_80", "writes an array that other threads may have written",
       [](auto& f) { first(f, waits(ir::Barrier::array), let_go); }},
      {"insert_barriers", "sm_90a", "writes an array that other threads may have written",
       [](auto& f) { first(f, waits(ir::Barrier::array), let_go); }},
  };
}

// The first pass after which, the rest being sound, the end is wrong; "" if none.
std::string culprit(const Fault& fault, std::string& says) {
  const Target target = target_named(fault.target);
  std::vector<std::string> rest;
  for (const Pass& pass : gpu_passes()) rest.emplace_back(pass.name);
  ir::Function broken = program();
  while (!rest.empty()) {
    const std::string name = rest.front();
    rest.erase(rest.begin());
    run_named_passes(broken, std::span(&name, 1), target);
    if (name == fault.pass) fault.plant(broken);
    says = verdict(broken, rest, target);
    if (!says.empty()) return name;
  }
  return "";
}

TEST(GpuFaults, AreFoundByTheNameOfTheirPass) {
  for (const char* target : {"sm_80", "sm_90a"})
    EXPECT_EQ(verdict(program(), {}, target_named(target)), "");
  for (const Fault& fault : faults()) {
    std::string says;
    EXPECT_EQ(culprit(fault, says), fault.pass) << fault.says;
    EXPECT_THAT(says, testing::HasSubstr(fault.says)) << fault.pass;
  }
}

}  // namespace
}  // namespace tilewright::dsl::gpu::gpu_faults_test
