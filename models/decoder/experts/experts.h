// A mixture of experts in place of a layer's MLP (Shazeer et al. 2017): a router chooses a few of
// many gated MLPs for each row, and their results are added up by its probabilities.
//
// Rows are sorted by their experts, and each is multiplied by the weights of its own where these
// lie (grouped_mm). Weights that stay packed are decoded for each row where rows are few, and else
// for blocks of rows of one expert. In a step whose rows must have the same bits beside others,
// each is multiplied by itself.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder/experts/expert_stack.h"
#include "models/layers/layers.h"
#include "models/weights/weights.h"

namespace tilewright {

struct ExpertNames {
  std::string_view mlp = "mlp", router = "gate";  // in the layer; in that
  // The parts of an expert, in experts.0, experts.1, ...
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  // Stacks of all experts: gate and up, one after the other, and down. Empty: each by itself.
  std::string_view stacked_gate_up, stacked_down;
};

struct ExpertsForm {
  std::int64_t count = 0, chosen = 0;  // experts of a layer, and of a row
  std::int64_t inner = 0;              // width of an expert
  std::int64_t shared_inner = 0;       // of the one that all rows take, by a gate; 0: there is none
  bool normalises = false;             // probabilities of the chosen ones are divided by their sum
  bool has_bias = false;               // router and experts
  // gpt-oss: (min(max(up, -limit), limit) + 1) * g * sigmoid(alpha * g) with g = min(gate, limit),
  // and stacks [experts, hidden, 2 * inner] in which gate and up alternate. 0: the activation.
  double limit = 0, alpha = 0;
  ExpertNames names;

  std::int64_t parameter_count(std::int64_t hidden) const;
};

class Experts : public Module {
 public:
  Experts(std::int64_t hidden, Activation activation, const ExpertsForm& form,
          LayerOptions options = {});
  Tensor forward(const Tensor& x) const;  // [.., hidden]

  Linear router;
  ExpertStack gate, up, down;  // [experts, inner, hidden], likewise, [experts, hidden, inner]
  Tensor gate_bias, up_bias, down_bias;  // [experts, inner], ..; undefined without
  std::optional<Mlp> shared;
  std::optional<Linear> shared_gate;

 protected:
  void pack_weights(const Weights& weights, PackedNames& names) override;

 private:
  std::vector<std::pair<const char*, ExpertStack&>> stacks();
  // The results [pairs, hidden] for each pair of a row and one of its experts, ids i64 [rows *
  // chosen]: each by itself, all rows of an expert at once, or in blocks of its rows.
  Tensor of_each(const Tensor& rows, const Tensor& ids) const;
  Tensor of_groups(const Tensor& rows, const Tensor& ids) const;
  Tensor of_filled_blocks(const Tensor& rows, const Tensor& ids) const;
  Tensor of_blocks(const Tensor& x, const Tensor& experts) const;  // as ExpertStack::of_blocks
  Tensor ends_of_experts(const Tensor& ids) const;  // where sorted ids end, [experts]
  Tensor activated(const Tensor& gates, const Tensor& ups) const;
  Activation activation_;
  ExpertsForm form_;
};

// Files have experts one by one, or gate and up in one stack: adds the stacks that `Experts` has,
// and takes out what they are made of. `prefix` is the MLP's name with a dot.
void stack_experts(Weights& weights, const std::string& prefix, const ExpertsForm& form);

}  // namespace tilewright
