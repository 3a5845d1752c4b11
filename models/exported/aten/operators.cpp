#include "models/exported/aten/operators.h"

#include <unordered_map>

namespace tilewright::exported {
namespace {

using Table = std::unordered_map<std::string_view, const Operator*>;

const Table& table() {
  static const Table table = [] {
    Table rows;
    for (auto family :
         {arrangement_operators(), arithmetic_operators(), composite_operators(),
          control_operators(), convolution_operators(), creation_operators(), function_operators(),
          indexing_operators(), normalisation_operators(), ordering_operators(),
          pooling_operators(), product_operators(), random_operators(), recurrent_operators(),
          reduction_operators(), resampling_operators(), scan_operators(), scatter_operators(),
          size_operators()})
      for (const Operator& row : family) rows.emplace(row.name, &row);
    return rows;
  }();
  return table;
}

}  // namespace

const Operator* find_operator(std::string_view name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  return names;
}

}  // namespace tilewright::exported
