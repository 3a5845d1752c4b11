// Cache policies of loads and stores: where they may stand, how they are written, what PTX is made
// of them. Random programs carry them too (tests/property), so that no result depends on one.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "tests/errors.h"

namespace tilewright::dsl::cache_policy_test {
namespace {

constexpr CachePolicy of_loads[] = {CachePolicy::evict_first, CachePolicy::evict_last,
                                    CachePolicy::no_allocate, CachePolicy::ca,
                                    CachePolicy::cg,          CachePolicy::cv};
constexpr CachePolicy of_stores[] = {
    CachePolicy::evict_first, CachePolicy::evict_last, CachePolicy::no_allocate, CachePolicy::wb,
    CachePolicy::cg,          CachePolicy::cs,         CachePolicy::wt};

std::string ptx_of(ir::Function function, const char* target) {
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::generate_ptx(function, target_named(target)).text;
}

testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != text.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "there is no \"" << part << "\"";
}

// y = x + 1, of 4096 elements.
ir::Function increment(DType dtype, CachePolicy from, CachePolicy to, bool in_place = false) {
  Tracer tracer("increment");
  Tile x = tracer.pointer_param("x", dtype), y = in_place ? x : tracer.pointer_param("y", dtype);
  Tile lanes = arange(0, 4096);
  store(y + lanes, cast(load(x + lanes, from) + 1, dtype), to);
  return tracer.finish();
}

// Product of 512 x 512, in blocks of 128 x 128 x `depth`.
ir::Function product(std::int64_t depth, CachePolicy left, CachePolicy right, CachePolicy result) {
  Tracer tracer("product");
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16);
  Tile c = tracer.pointer_param("c", bf16);
  auto described = [](const Tile& base) { return make_desc(base, {512, 512}, {512, 1}); };
  Desc da = described(a), db = described(b);
  Tile row = program_id(0) * 128, column = program_id(1) * 128;
  Var acc = zeros({128, 128}, f32);
  for (Tile i : range(0, 512, depth))
    acc = dot(load(da, {row, i}, {128, depth}, left), load(db, {i, column}, {depth, 128}, right),
              acc);
  store(described(c), {row, column}, cast(acc, bf16), result);
  return tracer.finish();
}

TEST(CachePolicies, AreThoseOfLoadsOrOfStores) {
  Tracer tracer("f");
  Tile p = tracer.pointer_param("p", f32);
  Desc d = make_desc(p, {64}, {1});
  auto stores = "; a load takes evict_first, evict_last, no_allocate, ca, cg or cv";
  auto loads = "; a store takes evict_first, evict_last, no_allocate, wb, cg, cs or wt";
  for (const char* word : {"wb", "cs", "wt"}) {
    CachePolicy policy = *ir::parse_cache_policy(word);
    auto expected = concat("the cache policy is ", word, ", one of stores", stores);
    EXPECT_TRUE(has(error_of([&] { load(p, policy); }), "[load] " + expected));
    EXPECT_TRUE(has(error_of([&] { load(d, {0}, {64}, policy); }), "[load_desc] " + expected));
  }
  for (const char* word : {"ca", "cv"}) {
    CachePolicy policy = *ir::parse_cache_policy(word);
    auto expected = concat("the cache policy is ", word, ", one of loads", loads);
    EXPECT_TRUE(has(error_of([&] { store(p, 1, policy); }), "[store] " + expected));
    EXPECT_TRUE(has(error_of([&] { store(d, {0}, load(d, {0}, {64}), policy); }),
                    "[store_desc] " + expected));
  }
}

TEST(CachePolicies, AreWrittenAfterTheOperands) {
  for (CachePolicy from : of_loads)
    for (CachePolicy to : of_stores) {
      for (const ir::Function& function :
           {increment(f32, from, to), product(64, from, CachePolicy::normal, to)}) {
        std::string text = ir::print(function);
        EXPECT_TRUE(has(text, std::string(ir::name_of(from)) + " :"));
        EXPECT_TRUE(has(text, ", " + std::string(ir::name_of(to)) + "\n"));
        EXPECT_EQ(ir::print(ir::parse(text)), text);
      }
    }
  EXPECT_NE(ir::content_hash(product(64, CachePolicy::ca, CachePolicy::ca, CachePolicy::normal)),
            ir::content_hash(product(64, CachePolicy::ca, CachePolicy::cg, CachePolicy::normal)));
}

// Where launches overlap nothing is constant: the launch before may still be writing it.
TEST(CachePolicies, OfPlainAccessesAreQualifiersAndHints) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
    const std::string nc = dsl::target_named(target).gpu().overlaps_launches ? "" : ".nc";
    for (CachePolicy policy : of_loads) {
      std::string name(ir::name_of(policy));
      bool evicts = policy <= CachePolicy::no_allocate;
      std::string text = ptx_of(increment(f32, policy, CachePolicy::normal), target);
      EXPECT_TRUE(has(text, evicts ? "ld.global" + nc + ".L1::" + name + ".L2::cache_hint.v4.b32 {"
                            : policy == CachePolicy::cv ? "ld.global.cv.v4.b32 {"
                                                        : "ld.global." + name + nc + ".v4.b32 {"))
          << target;
      EXPECT_TRUE(has(text, "st.global.v4.b32"));
      // An array that is also written is never constant.
      text = ptx_of(increment(f32, policy, CachePolicy::normal, true), target);
      EXPECT_TRUE(has(text, evicts ? "ld.global.L1::" + name + ".L2::cache_hint.v4.b32 {"
                                   : "ld.global." + name + ".v4.b32 {"));
    }
    for (CachePolicy policy : of_stores) {
      std::string name(ir::name_of(policy));
      std::string text = ptx_of(increment(f32, CachePolicy::normal, policy), target);
      EXPECT_TRUE(has(text, policy <= CachePolicy::no_allocate
                                ? "st.global.L1::" + name + ".L2::cache_hint.v4.b32 ["
                                : "st.global." + name + ".v4.b32 ["));
      EXPECT_TRUE(has(text, "ld.global" + nc + ".v4.b32"));
    }
  }
}

// Nothing is noted of other accesses, which LLVM may then treat as any.
TEST(CachePolicies, AreNotedOnlyWhereThereIsOne) {
  auto text = [](CachePolicy from, CachePolicy to) {
    ir::Function function = increment(f32, from, to);
    run_passes(function, {.target = target_named("sm_80")});
    return gpu::gpu_llvm_text(function, target_named("sm_80"));
  };
  EXPECT_TRUE(has(text(CachePolicy::cg, CachePolicy::normal), "!tw.cache"));
  EXPECT_TRUE(has(text(CachePolicy::normal, CachePolicy::wt), "!tw.cache"));
  EXPECT_FALSE(has(text(CachePolicy::normal, CachePolicy::normal), "!tw.cache"));
}

TEST(CachePolicies, HoldForElementsOfAllSizes) {
  for (DType dtype : {i8, f16, bf16, i32, f64, i64}) {
    const char* whole = bit_width(dtype) == 64 ? ".v2.b64" : ".v4.b32";
    std::string text = ptx_of(increment(dtype, CachePolicy::cg, CachePolicy::cs), "sm_90a");
    EXPECT_TRUE(has(text, concat("ld.global.cg", whole))) << dtype;
    EXPECT_TRUE(has(text, concat("st.global.cs", whole))) << dtype;
    Tracer tracer("scalar");
    Tile x = tracer.pointer_param("x", dtype);
    store(x, load(x + 1, CachePolicy::evict_last), CachePolicy::evict_last);
    std::string width = concat(".L1::evict_last.L2::cache_hint.b", bit_width(dtype));
    text = ptx_of(tracer.finish(), "sm_80");
    EXPECT_TRUE(has(text, "ld.global" + width)) << dtype;
    EXPECT_TRUE(has(text, "st.global" + width)) << dtype;
  }
}

TEST(CachePolicies, OfEvictionsRaiseTheVersionOfOldPtx) {
  auto version = [](CachePolicy policy, const char* target) {
    std::string text = ptx_of(increment(f32, policy, CachePolicy::normal), target);
    return text.substr(text.find(".version "), 12);
  };
  EXPECT_EQ(version(CachePolicy::normal, "sm_80"), ".version 7.1");
  EXPECT_EQ(version(CachePolicy::cg, "sm_86"), ".version 7.1");
  EXPECT_EQ(version(CachePolicy::evict_first, "sm_80"), ".version 7.4");
  EXPECT_EQ(version(CachePolicy::no_allocate, "sm_86"), ".version 7.4");
  EXPECT_EQ(version(CachePolicy::evict_first, "sm_90a"), ".version 8.0");
  EXPECT_EQ(version(CachePolicy::evict_first, "sm_120"), ".version 8.7");
}

TEST(CachePolicies, OfCopiesAreHints) {
  auto both = [](const char* target) {
    return ptx_of(product(std::string(target) == "sm_80" ? 32 : 64, CachePolicy::evict_first,
                          CachePolicy::evict_last, CachePolicy::evict_first),
                  target);
  };
  for (const char* target : {"sm_80", "sm_90a"})
    for (const char* policy : {"evict_first", "evict_last"})
      EXPECT_TRUE(has(both(target), concat("createpolicy.fractional.L2::", policy, ".b64")));
  EXPECT_TRUE(has(both("sm_80"), "cp.async.cg.shared.global.L2::cache_hint ["));
  EXPECT_FALSE(has(both("sm_80"), "cp.async.cg.shared.global ["));
  // Of these ptxas makes illegal instructions.
  EXPECT_FALSE(has(both("sm_120"), "cp.async.cg.shared.global.L2::cache_hint ["));
  std::string hopper = both("sm_90a");
  EXPECT_FALSE(has(hopper, "cp.async.cg.shared.global.L2::cache_hint ["));
  EXPECT_TRUE(has(hopper,
                  "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                  "complete_tx::bytes.L2::cache_hint ["));
  EXPECT_TRUE(has(hopper,
                  "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group."
                  "L2::cache_hint ["));
  std::string plain =
      ptx_of(product(64, CachePolicy::normal, CachePolicy::normal, CachePolicy::normal), "sm_90a");
  EXPECT_FALSE(has(plain, "cache_hint"));
  EXPECT_FALSE(has(plain, "createpolicy"));
}

// Each load of `cv` is made where it stands; others are one, before the loop.
TEST(CachePolicies, LoadsThatAreFetchedStayApart) {
  auto loads = [](CachePolicy policy) {
    Tracer tracer("f");
    Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
    Desc d = make_desc(x, {64}, {1});
    Var sum = zeros({64}, f32);
    for ([[maybe_unused]] Tile i : range(0, 8, 1)) sum = sum + load(d, {0}, {64}, policy);
    sum = sum + load(d, {0}, {64}, policy) + load(d, {0}, {64}, policy);
    store(make_desc(y, {64}, {1}), {0}, sum);
    ir::Function function = tracer.finish();
    run_passes(function, {.target = target_named("sm_90a")});
    int inside = 0, outside = 0;
    for (const ir::Inst& inst : function.body.insts) {
      outside += inst.op == ir::Op::load_desc_ ? 1 : 0;
      for (const ir::Block& body : inst.bodies)
        for (const ir::Inst& inner : body.insts) inside += inner.op == ir::Op::load_desc_ ? 1 : 0;
    }
    return std::pair(inside, outside);
  };
  EXPECT_EQ(loads(CachePolicy::cv), std::pair(1, 2));
  EXPECT_EQ(loads(CachePolicy::cg), std::pair(0, 1));
}

}  // namespace
}  // namespace tilewright::dsl::cache_policy_test
