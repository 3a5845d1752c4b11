#include "graph/lower/custom/custom_site.h"

#include <algorithm>

namespace tilewright::graph {

std::vector<TensorType> CustomSite::operand_types() const {
  std::vector<TensorType> types;
  for (const TaskOperand& operand : task.operands)
    types.push_back({list.storages[operand.storage].dtype, operand.view.shape});
  return types;
}

std::vector<CustomSite::PlacedTensor> CustomSite::operands() const {
  std::vector<PlacedTensor> places;
  for (const TaskOperand& operand : task.operands)
    places.push_back({{list.storages[operand.storage].dtype, operand.view.shape},
                      operand.storage,
                      operand.view.offset});
  return places;
}

std::vector<CustomSite::PlacedTensor> CustomSite::results(const CustomCall& call) const {
  std::vector<PlacedTensor> places;
  if (custom.changes_operand()) return places;
  std::int64_t offset = task.place.offset;
  for (const TensorType& type : call.results()) {
    places.push_back({type, task.storage, offset});
    offset += type.count();
  }
  return places;
}

std::vector<CustomView> views_of(const CustomSite& site,
                                 const std::vector<CustomSite::PlacedTensor>& places) {
  std::vector<StorageId> order;  // of the arguments, as the lowering adds them
  auto add = [&](StorageId storage) {
    if (std::ranges::find(order, storage) == order.end()) order.push_back(storage);
  };
  for (const TaskOperand& operand : site.task.operands) add(operand.storage);
  add(site.task.storage);
  std::vector<CustomView> views;
  for (const CustomSite::PlacedTensor& place : places) {
    auto at = std::ranges::find(order, place.storage) - order.begin();
    views.push_back(
        {place.type, static_cast<std::size_t>(at), place.offset * size_bytes(place.type.dtype)});
  }
  return views;
}

}  // namespace tilewright::graph
