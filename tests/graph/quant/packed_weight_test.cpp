// Packed weights: products decode them to the same numbers as the host does, and a weight that
// does not come in whole groups is not packed.
#include "graph/quant/packed_weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/compile/compile.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "tests/every_device.h"
#include "tests/graph/step_rows.h"

namespace tilewright::packed_weight_test {
namespace {

using quant::Format;
using quant::GroupedCodes;

// Codes of these bits with random scales, and what the format has beside them.
GroupedCodes random_codes(Format format, int bits, std::int64_t rows, std::int64_t columns,
                          std::int64_t group) {
  std::mt19937 random(7);
  GroupedCodes w;
  w.format = format;
  w.shape = {rows, columns};
  w.rows = rows;
  w.columns = columns;
  w.group_columns = group;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    w.codes.push_back(static_cast<std::uint8_t>(random() & ((1U << bits) - 1)));
  for (std::int64_t i = 0; i < rows * (columns / group); ++i)
    w.scales.push_back(std::ldexp(static_cast<float>(random() % 31) - 15, -7));
  return w;
}

GroupedCodes with_table(GroupedCodes w) {
  std::vector<float> table(16);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::sin(static_cast<float>(i) * 1.7F);
  w.values = quant::table_of(table);
  return w;
}

GroupedCodes with_zeros(GroupedCodes w) {
  w.values = quant::integers_from(0);
  for (std::size_t i = 0; i < w.scales.size(); ++i) w.zeros.push_back(static_cast<float>(i % 16));
  w.rounded = w.scale_dtype = f16;
  return w;
}

GroupedCodes with_offsets(GroupedCodes w) {
  w.values = quant::integers_from(0);
  for (std::size_t i = 0; i < w.scales.size(); ++i)
    w.offsets.push_back(-0.25F * static_cast<float>(i % 5));
  return w;
}

GroupedCodes signed_codes(GroupedCodes w) {
  w.values = quant::signed_bytes();
  w.factor = 1.0F / 127;
  return w;
}

GroupedCodes floats(GroupedCodes w) {
  w.values = quant::float8_values(f8e4m3);
  for (std::uint8_t& code : w.codes)
    if ((code & 0x7f) == 0x7f) code = 1;  // no NaN
  w.group_rows = 2;
  w.scales.resize(w.scales.size() / 2);
  return w;
}

GroupedCodes shuffled(GroupedCodes w) {
  for (std::int64_t i = 0; i < w.columns; ++i)
    w.group_of_column.push_back(static_cast<std::int32_t>(i % (w.columns / w.group_columns)));
  return with_zeros(w);
}

struct Case {
  const char* name;
  GroupedCodes codes;
};
std::vector<Case> cases() {
  return {{"table", with_table(random_codes(Format::nf4, 4, 24, 128, 64))},
          {"zeros", with_zeros(random_codes(Format::gptq, 4, 24, 128, 32))},
          {"long_zeros", with_zeros(random_codes(Format::gptq, 8, 24, 128, 32))},
          {"shuffled", shuffled(random_codes(Format::gptq, 4, 24, 128, 32))},
          {"offsets", with_offsets(random_codes(Format::q4_k, 4, 24, 128, 32))},
          {"short_groups", with_offsets(random_codes(Format::q2_k, 2, 24, 128, 16))},
          {"bytes", signed_codes(random_codes(Format::llm_int8, 8, 24, 96, 96))},
          {"floats", floats(random_codes(Format::blocked_float8, 8, 24, 128, 64))}};
}

class PackedWeight : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Formats, PackedWeight, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// Each row of the identity picks a column of the weight: products are its elements to the bit.
TEST_P(PackedWeight, HasTheElementsThatTheHostDecodes) {
  const GroupedCodes& codes = GetParam().codes;
  const auto packed = quant::packed(codes);
  ASSERT_TRUE(packed.has_value());
  const std::int64_t columns = codes.columns;
  std::vector<float> identity(static_cast<std::size_t>(columns * columns));
  for (std::int64_t i = 0; i < columns; ++i)
    identity[static_cast<std::size_t>(i * columns + i)] = 1;
  auto product = compile([&](const Tensor& x) { return quant::packed_linear(x, *packed); },
                         {.fullgraph = true});
  const auto found =
      product(Tensor::from(identity, {columns, columns})).to(Device::cpu()).to_vector<float>();
  const auto wanted = quant::decoded(codes).transpose(0, 1).contiguous().to_vector<float>();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], wanted[i]) << i;
}

// For many rows the weight is decoded once, into a tensor of its own.
TEST_P(PackedWeight, IsDecodedWithinAProductOfFewRows) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "only the host has these regions";
  const auto packed = quant::packed(GetParam().codes);
  ASSERT_TRUE(packed.has_value());
  auto product = compile([&](const Tensor& x) { return quant::packed_linear(x, *packed); });
  for (std::int64_t rows : {1, 8}) {
    product(full({rows, GetParam().codes.columns}, 1.5));
    const PlanReport report = product.report().back();
    EXPECT_EQ(report.launches, 1) << rows;
    EXPECT_EQ(report.arena_bytes, 0) << rows;
  }
}

TEST_P(PackedWeight, GivesUpToSixteenRowsTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  const auto packed = quant::packed(GetParam().codes);
  ASSERT_TRUE(packed.has_value());
  manual_seed(3);
  const Tensor x = randn({16, GetParam().codes.columns});
  for (DType dtype : {f32, bf16})
    step_rows::expect_rows_alike(
        [&](const Tensor& rows) { return quant::packed_linear(rows, *packed); }, x.to(dtype));
}

TEST_P(PackedWeight, TakesFewBytes) {
  const GroupedCodes& codes = GetParam().codes;
  const auto packed = quant::packed(codes);
  ASSERT_TRUE(packed.has_value());
  EXPECT_LT(packed->bytes(), 2 * codes.rows * codes.columns);
}

TEST(PackedWeights, OfPartialGroupsAreNotMade) {
  EXPECT_FALSE(quant::packed(with_table(random_codes(Format::nf4, 4, 4, 48, 16))).has_value());
  GroupedCodes partial = floats(random_codes(Format::blocked_float8, 8, 4, 128, 64));
  partial.group_columns = 96;
  EXPECT_FALSE(quant::packed(partial).has_value());
  GroupedCodes uneven = shuffled(random_codes(Format::gptq, 4, 4, 64, 32));
  uneven.group_of_column[0] = 1;
  EXPECT_FALSE(quant::packed(uneven).has_value());
}

}  // namespace
}  // namespace tilewright::packed_weight_test
