// Stacks of experts that files leave incomplete, or of wrong shapes; and packed ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"
#include "models/decoder/experts/experts.h"
#include "tests/errors.h"

namespace tilewright::experts_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::map<std::string, Tensor>;

constexpr std::int64_t hidden = 6, inner = 4;

Tensor filled(const Shape& shape) { return zeros(shape, f32); }

// The error of stacking the tensors of a layer with two experts.
std::string error_with(const Tensors& tensors, ExpertsForm form) {
  form.count = 2;
  form.chosen = 1;
  form.inner = inner;
  return error_of([&] {
    Weights weights = Weights::of(tensors);
    stack_experts(weights, "mlp.", form);
  });
}

Tensors one_by_one() {
  Tensors tensors;
  for (const char* expert : {"mlp.experts.0.", "mlp.experts.1."}) {
    tensors[std::string(expert) + "gate_proj.weight"] = filled({inner, hidden});
    tensors[std::string(expert) + "up_proj.weight"] = filled({inner, hidden});
    tensors[std::string(expert) + "down_proj.weight"] = filled({hidden, inner});
  }
  return tensors;
}

TEST(Experts, RefuseToChooseMoreThanThereAre) {
  for (std::int64_t chosen : {0, 5})
    EXPECT_THAT(error_of([&] {
                  Experts(hidden, Activation::silu, {.count = 4, .chosen = chosen, .inner = inner});
                }),
                HasSubstr(concat("[experts] ", chosen, " of 4 experts are chosen; at least 1")));
}

TEST(Experts, AreMissedByTheirName) {
  Tensors tensors = one_by_one();
  tensors.erase("mlp.experts.1.up_proj.weight");
  EXPECT_THAT(error_with(tensors, {}),
              HasSubstr("no tensor \"mlp.experts.1.up_proj.weight\"; there must be 2 experts"));
}

TEST(Experts, MustHaveOneShape) {
  Tensors tensors = one_by_one();
  tensors["mlp.experts.1.down_proj.weight"] = filled({hidden, inner + 1});
  EXPECT_THAT(error_with(tensors, {}),
              HasSubstr("\"mlp.experts.1.down_proj.weight\" is 6x5; that of the first expert is "
                        "6x4, and all must be equal matrices"));
}

TEST(Experts, ThatAreAStackHaveAnEvenNumberOfRows) {
  ExpertsForm form;
  form.names = {.stacked_gate_up = "input_linear", .stacked_down = "output_linear"};
  Tensors tensors = {{"mlp.input_linear.weight", filled({2, 2 * inner + 1, hidden})},
                     {"mlp.output_linear.weight", filled({2, hidden, inner})}};
  EXPECT_THAT(error_with(tensors, form),
              HasSubstr("\"mlp.input_linear.weight\" is 2x9x6; [experts, 2 * inner, hidden]"));
  tensors["mlp.input_linear.weight"] = filled({2 * inner, hidden});
  EXPECT_THAT(error_with(tensors, form), HasSubstr("is 8x6; [experts, 2 * inner, hidden]"));
}

TEST(Experts, WhoseGateAndUpAlternateAreChecked) {
  const ExpertsForm form{.has_bias = true, .limit = 7, .alpha = 1};
  const Tensors whole = {{"mlp.experts.gate_up_proj", filled({2, hidden, 2 * inner})},
                         {"mlp.experts.gate_up_proj_bias", filled({2, 2 * inner})},
                         {"mlp.experts.down_proj", filled({2, inner, hidden})},
                         {"mlp.experts.down_proj_bias", filled({2, hidden})}};
  EXPECT_EQ(error_with(whole, form), "no error");
  auto with = [&](const std::string& name, const Tensor& tensor) {
    Tensors changed = whole;
    changed[name] = tensor;
    return error_with(changed, form);
  };
  EXPECT_THAT(with("mlp.experts.gate_up_proj", filled({2, hidden, 2 * inner + 1})),
              HasSubstr("\"mlp.experts.gate_up_proj\" is 2x6x9; [experts, hidden, 2 * inner]"));
  EXPECT_THAT(with("mlp.experts.down_proj", filled({inner, hidden})),
              HasSubstr("\"mlp.experts.down_proj\" is 4x6; [experts, inner, hidden] is needed"));
  for (const auto& [name, ignored] : whole) {
    Tensors fewer = whole;
    fewer.erase(name);
    EXPECT_THAT(error_with(fewer, form),
                HasSubstr("no tensor \"" + name + "\"; the experts of a layer are made of it"));
  }
}

// A layer in a module, as models have it.
struct Layer : Module {
  explicit Layer(const ExpertsForm& form, DType dtype)
      : experts(wide, Activation::silu, form, {.init = Init::none, .dtype = dtype}) {
    register_module("mlp", experts);
  }
  static constexpr std::int64_t wide = 64;
  Experts experts;
};

// Matrices one below the other, of 4 bits in groups of 32.
quant::GroupedCodes random_codes(std::int64_t rows, std::int64_t columns, Generator& generator) {
  quant::GroupedCodes w;
  w.format = quant::Format::q4_0;
  w.rows = rows;
  w.columns = columns;
  w.shape = {rows, columns};
  w.group_columns = 32;
  w.values = quant::integers_from(-8);
  for (float x : rand({rows * columns}, f32, generator).to_vector<float>())
    w.codes.push_back(static_cast<std::uint8_t>(x * 16));
  for (float x : rand({rows * columns / 32}, f32, generator).to_vector<float>())
    w.scales.push_back(x / 32);
  return w;
}

// Packed weights and the same ones decoded give the same results for few rows and many.
TEST(Experts, ThatStayPackedAreDecodedWithinProducts) {
  const ExpertsForm form{.count = 6, .chosen = 2, .inner = 32, .has_bias = true};
  Generator generator(11);
  Weights weights;
  auto derive = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    const quant::GroupedCodes codes = random_codes(form.count * out, in, generator);
    const Shape shape = {form.count, out, in};
    weights.derive("mlp.experts." + name,
                   {shape, f32, [=] { return decoded(codes).reshape(shape); },
                    [=] { return codes; }, codes.format});
  };
  derive("gate", form.inner, Layer::wide);
  derive("up", form.inner, Layer::wide);
  derive("down", Layer::wide, form.inner);
  auto plain = [&](const std::string& name, const Shape& shape) {
    const Tensor values = randn(shape, f32, generator);
    weights.derive("mlp." + name, {shape, f32, [=] { return values; }});
  };
  plain("gate.weight", {form.count, Layer::wide});
  plain("gate.bias", {form.count});
  plain("experts.gate_bias", {form.count, form.inner});
  plain("experts.up_bias", {form.count, form.inner});
  plain("experts.down_bias", {form.count, Layer::wide});
  for (DType dtype : {f32, bf16}) {
    Layer packed(form, dtype), dense(form, dtype);
    const PackedNames names = packed.pack(weights);
    EXPECT_EQ(names.size(), 3U);
    EXPECT_TRUE(packed.experts.gate.is_packed());
    packed.load(weights, {.ignore = [&](std::string_view name) { return names.contains(name); }});
    dense.load(weights);
    EXPECT_FALSE(dense.experts.gate.is_packed());
    auto compiled = compile([&](const Tensor& x) { return packed.experts.forward(x); });
    for (std::int64_t rows : {1, 3, 40, 130}) {
      const Tensor x = randn({rows, Layer::wide}, f32, generator).to(dtype);
      const Tensor wanted = dense.experts.forward(x).to(f32);
      for (const Tensor& y : {packed.experts.forward(x), compiled(x)})
        EXPECT_LE(amax(abs(y.to(f32) - wanted)).item<float>(),
                  (dtype == f32 ? 1e-5 : 2e-2) * amax(abs(wanted)).item<float>())
            << rows << " rows, " << dtype;
    }
  }
}

TEST(Experts, OfSeveralFormatsAreNoStackOfCodes) {
  Generator generator(12);
  const quant::GroupedCodes one = random_codes(4, 32, generator);
  quant::GroupedCodes other = random_codes(4, 32, generator);
  ASSERT_TRUE(quant::stacked({one, other}).has_value());
  EXPECT_EQ(decoded(*quant::stacked({one, other})).to_vector<float>(),
            cat({decoded(one), decoded(other)}, 0).to_vector<float>());
  EXPECT_EQ(decoded(quant::alternate_rows(one, 1)).to_vector<float>(),
            decoded(one).slice(0, 1, 4, 2).contiguous().to_vector<float>());
  other.factor = 2;
  EXPECT_FALSE(quant::stacked({one, other}).has_value());
}

}  // namespace
}  // namespace tilewright::experts_test
