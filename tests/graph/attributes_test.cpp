#include "graph/ir/attributes.h"

#include <cmath>
#include <limits>

#include "graph/custom/definition.h"
#include "graph/ir/ir.h"
#include "graph/ir/shape_rules.h"
#include "graph/ir/text.h"
#include "tests/errors.h"

namespace tilewright::graph::attributes_test {
namespace {

void change(std::vector<int>& axes) { axes = {0}; }
void change(Shape& sizes) { sizes = {2, 3}; }
void change(std::int64_t& number) { number += 7; }
void change(double& number) { number += 0.5; }
void change(bool& flag) { flag = !flag; }
void change(ir::ReduceKind& kind) { kind = ir::ReduceKind::max; }
void change(CustomReference& custom) {
  static const CustomReference one = define_custom({.name = "one"});
  custom = one;
}
void change(Bodies& bodies) { bodies = Bodies({Graph{}}); }

Hash hash_of(const Attributes& attributes) {
  Hasher hasher;
  add_attributes(hasher, attributes);
  return hasher.finish();
}

// One record for each field, in which only that one differs from its default.
std::vector<std::pair<AttributeField, Attributes>> records() {
  std::vector<std::pair<AttributeField, Attributes>> result;
  Attributes defaults;
  for_each_attribute(defaults, [&](AttributeField field, std::string_view, const auto&) {
    result.emplace_back(field, Attributes{});
    for_each_attribute(result.back().second,
                       [&](AttributeField own, std::string_view, auto& value) {
                         if (own == field) change(value);
                       });
    // Numbers of operands that bodies take mean nothing without a body.
    if (field == AttributeField::carried || field == AttributeField::sliced)
      change(result.back().second.bodies);
  });
  return result;
}

TEST(Attributes, DifferInEachField) {
  for (const auto& [field, record] : records()) {
    EXPECT_FALSE(record == Attributes{}) << static_cast<int>(field);
    EXPECT_NE(hash_of(record), hash_of({})) << static_cast<int>(field);
    EXPECT_FALSE(is_default(field, record));
  }
}

TEST(Attributes, NumbersOfOperandsThatBodiesTakeCountBesideThese) {
  Attributes bodies, carried, sliced;
  for (Attributes* each : {&bodies, &carried, &sliced}) change(each->bodies);
  carried.carried = sliced.sliced = 1;
  EXPECT_NE(hash_of(bodies), hash_of(carried));
  EXPECT_NE(hash_of(bodies), hash_of(sliced));
  EXPECT_NE(hash_of(carried), hash_of(sliced));
}

TEST(Attributes, AreComparedByTheBitsOfNumbers) {
  Attributes zero, negative, none;
  negative.number = -0.0;
  none.number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(zero == negative);
  EXPECT_TRUE(none == none);
}

TEST(Attributes, AreRefusedByOpsThatDoNotReadThem) {
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpInfo& row = all_ops()[i];
    std::vector<ValueType> operands(static_cast<std::size_t>(row.min_operands), {f32, {4, 4}});
    for (const auto& [field, record] : records()) {
      if (row.reads.has(field)) continue;
      std::string error = error_of([&] {
        infer(static_cast<Op>(i), operands, record, std::nullopt, std::source_location::current());
      });
      expect_contains(error, concat("[", row.name, "] the attribute "));
      expect_contains(error, "is set; it must keep its default");
    }
  }
}

TEST(Attributes, AreRefusedInTextByOpsThatDoNotReadThem) {
  expect_contains(error_of([] {
                    parse(
                        "graph {\n  %0: f32[4] = input\n  %1: f32[4] = exp %0 {causal=1}\n"
                        "  inputs %0\n  return %1\n}\n");
                  }),
                  "[exp] the attribute causal is set; it must keep its default");
}

}  // namespace
}  // namespace tilewright::graph::attributes_test
