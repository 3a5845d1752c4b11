#include "dsl/debugger/tile_view.h"

#include <algorithm>
#include <charconv>

#include "dsl/debugger/element_value.h"
#include "dsl/interpret/tile_data.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

std::int64_t TileView::count() const {
  // A descriptor is not a tile: its parts are not shown.
  return type_->is_descriptor() ? 0 : element_count(type_->shape);
}

double TileView::number(std::int64_t element) const {
  auto i = static_cast<std::size_t>(element);
  return data_->floating.empty() ? static_cast<double>(data_->integer[i]) : data_->floating[i];
}

std::int64_t TileView::integer(std::int64_t element) const {
  return data_->floating.empty() ? data_->integer[static_cast<std::size_t>(element)] : 0;
}

std::vector<double> TileView::numbers() const {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count(); ++i) all.push_back(number(i));
  return all;
}

std::string TileView::text(std::int64_t element) const {
  if (is_pointer() && !array_.empty())
    return concat(array_, "[", (integer(element) - base_) / size_bytes(dtype()), "]");
  if (is_pointer()) {
    char buffer[20];
    auto address = static_cast<std::uint64_t>(integer(element));
    return "0x" +
           std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, address, 16).ptr);
  }
  return element_text(dtype(), {number(element), integer(element)});
}

std::string TileView::summary(std::int64_t most) const {
  if (type_->is_descriptor()) return "a descriptor";
  if (type_->is_scalar()) return text(0);
  std::string all = "[";
  for (std::int64_t i = 0; i < std::min(most, count()); ++i) all += (i > 0 ? ", " : "") + text(i);
  if (count() > most) all += concat(", ... ", count() - most, " more");
  return all + "]";
}

std::vector<std::int64_t> TileView::index_of(std::int64_t element) const {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape().rank()));
  for (int axis = shape().rank(); axis-- > 0;) {
    index[static_cast<std::size_t>(axis)] = element % shape()[axis];
    element /= shape()[axis];
  }
  return index;
}

std::string index_text(const std::vector<std::int64_t>& index) {
  std::string text = "[";
  for (std::int64_t i : index) text += (text.size() > 1 ? ", " : "") + std::to_string(i);
  return text + "]";
}

}  // namespace tilewright::dsl
