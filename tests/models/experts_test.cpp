// Stacks of experts that files leave incomplete, or of wrong shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/decoder/experts.h"
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

}  // namespace
}  // namespace tilewright::experts_test
