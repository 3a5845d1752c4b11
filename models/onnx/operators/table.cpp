#include "models/onnx/operators/table.h"

#include <unordered_map>

namespace tilewright::onnx {
namespace {

using Table = std::unordered_map<std::string_view, std::vector<const Operator*>>;

const Table& table() {
  static const Table table = [] {
    Table rows;
    for (auto family :
         {activation_operators(),        arithmetic_operators(),    arrangement_operators(),
          attention_operators(),         control_operators(),       convolution_operators(),
          creation_operators(),          function_operators(),      indexing_operators(),
          learner_operators(),           loss_operators(),          normalisation_operators(),
          pooling_operators(),           product_operators(),       quantisation_operators(),
          recurrent_operators(),         reduction_operators(),     resizing_operators(),
          sampling_operators(),          sequence_operators(),      signal_operators(),
          runtime_attention_operators(), runtime_fused_operators(), runtime_packed_operators(),
          runtime_quantised_operators(), encoder_operators(),       vector_operators()})
      for (const Operator& row : family) rows[row.name].push_back(&row);
    return rows;
  }();
  return table;
}

}  // namespace

const Operator* find_operator(std::string_view name, std::int64_t opset) {
  auto found = table().find(name);
  if (found == table().end()) return nullptr;
  const Operator* newest = nullptr;
  for (const Operator* row : found->second)
    if (row->since <= opset && (newest == nullptr || row->since > newest->since)) newest = row;
  return newest;
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, rows] : table()) names.push_back(name);
  return names;
}

}  // namespace tilewright::onnx
