// Records are taken apart by structured bindings, which name every field: a new one does not
// compile until this file decides how it reads.
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "graph/ir/text.h"
#include "graph/regions/storage.h"
#include "graph/regions/text/names.h"
#include "graph/regions/text/storage_users.h"
#include "graph/regions/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The contents of braces: "{a=1, b}", or nothing at all.
class Braces {
 public:
  template <typename... Parts>
  void say(const Parts&... parts) {
    text_ += concat(text_.empty() ? "" : ", ", parts...);
  }
  template <typename... Parts>
  void say_if(bool condition, const Parts&... parts) {
    if (condition) say(parts...);
  }
  std::string text() const { return text_.empty() ? "" : concat(" {", text_, "}"); }

 private:
  std::string text_;
};

std::string text_of(const std::vector<TaskId>& ids) {
  std::string text;
  for (TaskId id : ids) text += concat(text.empty() ? "#" : " #", id);
  return text;
}

std::string text_of(const StridedView& view) {
  const auto& [shape, strides, offset] = view;
  std::string text = concat("[", shape);
  if (strides != row_major_strides(shape)) text += concat(":", strides);
  if (offset != 0) text += concat("+", offset);
  return text + "]";
}

// A view where a row-major one of this shape is taken for granted.
std::string text_of(const StridedView& view, const Shape& granted) {
  return view == row_major(granted) ? "" : text_of(view);
}

// The shortest text that reads back as the same number. A NaN that is not the usual one has its
// bits.
std::string text_of(const ir::Scalar& scalar) {
  const auto& [dtype, integer, floating] = scalar;
  if (!is_floating(dtype)) return concat(dtype, "(", integer, ")");
  auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  if (std::isnan(floating)) {
    const bool is_usual = bits(floating) == bits(std::numeric_limits<double>::quiet_NaN());
    return concat(dtype, "(nan", is_usual ? "" : concat(" ", bits(floating)), ")");
  }
  char digits[64];
  auto end = dtype == f64
                 ? std::to_chars(digits, digits + sizeof digits, floating)
                 : std::to_chars(digits, digits + sizeof digits, static_cast<float>(floating));
  return concat(dtype, "(", std::string_view(digits, end.ptr), ")");
}

std::string hex_of(const std::vector<std::byte>& data) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::byte byte : data) {
    text += digits[std::to_integer<int>(byte) >> 4];
    text += digits[std::to_integer<int>(byte) & 15];
  }
  return text;
}

std::string text_of(const dsl::PackedPanels& panels) {
  const auto& [width, in_pairs] = panels;
  return concat(width, in_pairs ? " in_pairs" : "");
}

std::string text_of(const Storage& storage, const StorageUsers& users) {
  const auto& [kind, dtype, elements, input, is_aligned, is_frozen, data, start, step, packed_from,
               panels, is_winograd, writers, readers, is_output] = storage;
  const bool in_input = kind == StorageKind::input || kind == StorageKind::packed;
  std::string text = concat(dtype);
  if (elements != 0) text += concat("[", elements, "]");
  text += concat(" = ", name_of(kind));
  if (in_input) text += concat(" ", input);
  Braces more;
  more.say_if(!in_input && input != -1, "input=", input);
  more.say_if(!is_aligned, "unaligned");
  more.say_if(is_frozen, "frozen");
  more.say_if(start != 0, "start=", start);
  more.say_if(step != 0, "step=", step);
  const bool derived =
      kind == StorageKind::constant ? data == constant_data(storage) : data.empty();
  more.say_if(!derived, "data=x", hex_of(data));
  more.say_if(packed_from != StridedView{}, "from=", text_of(packed_from));
  more.say_if(panels != dsl::PackedPanels{}, "panels=", text_of(panels));
  more.say_if(is_winograd, "winograd");
  more.say_if(writers != users.writers, "writers=(", text_of(writers), ")");
  more.say_if(readers != users.readers, "readers=(", text_of(readers), ")");
  more.say_if(is_output, "output");
  return text + more.text();
}

std::string text_of(const TaskList& list, const TaskOperand& operand, const Shape& granted) {
  const auto& [number, storage, view, producer] = operand;
  std::string text = number ? text_of(*number) : "";
  const bool is_known = producer && *producer < list.tasks.size();
  const StorageId expected = is_known ? list.tasks[*producer].storage : 0;
  if (producer) text += concat("#", *producer);
  const bool is_said = number || is_known ? storage != expected : true;
  if (is_said) text += concat("@", storage);
  return text + text_of(view, granted);
}

std::string text_of(const TaskList& list, const Task& task) {
  const auto& [kind, node, tile_op, dtype, shape, operands, axis_begin, axis_end, reduce, storage,
               place, scatter_axis, scatter_stride, scatter_size, op, attributes, others, after] =
      task;
  std::string text = concat("%", node, ": ", dtype, "[", shape, "] = ", name_of(kind));
  if (kind == TaskKind::pointwise && tile_op) text += concat(" ", ir::info(*tile_op).name);
  if (kind == TaskKind::reduction) text += concat(" ", ir::name_of(reduce));
  if (op) text += concat(" ", info(*op).name);
  if (std::string said = attribute_text(attributes); !said.empty()) text += concat(" {", said, "}");
  for (std::size_t i = 0; i < operands.size(); ++i)
    text += concat(i == 0 ? " " : ", ", text_of(list, operands[i], shape));
  Braces more;
  if (kind != TaskKind::pointwise && tile_op) more.say("tile_op=", ir::info(*tile_op).name);
  more.say_if(kind != TaskKind::reduction && reduce != ir::ReduceKind::sum,
              "reduce=", ir::name_of(reduce));
  more.say_if(axis_begin != 0 || axis_end != 0, "axes=", axis_begin, ":", axis_end);
  more.say_if(scatter_axis != 0 || scatter_stride != 0 || scatter_size != 0, "axis=", scatter_axis,
              ", size=", scatter_size, ", stride=", scatter_stride);
  text += concat(more.text(), " -> @", storage, text_of(place, shape));
  for (const auto& [other, type, sizes] : others)
    text += concat(" and ", type, "[", sizes, "] @", other);
  return after.empty() ? text : concat(text, " after ", text_of(after));
}

std::string text_of(const TaskList::Output& output) {
  const auto& [input, storage] = output;
  if (!input) return concat("@", storage);
  return concat("input ", *input, storage == 0 ? "" : concat("@", storage));
}

std::string text_of(const IndexMap& map) {
  std::string text;
  for (const auto& [size, stride] : map.modes())
    text += concat(text.empty() ? "" : " ", size, ":", stride);
  return "(" + text + ")";
}

std::string text_of(const Table& table) {
  const auto& [place, width, inner] = table;
  const auto& [rows, columns, offset] = place;
  std::string text = concat(" rows ", text_of(rows), " columns ", text_of(columns));
  if (inner) text += concat(" inner ", text_of(*inner));
  if (offset != 0) text += concat(" offset ", offset);
  return width == columns.size() ? text : concat(text, " width ", width);
}

std::string text_of(const FusedRegion& fused) {
  const auto& [region, bytes_saved, is_again] = fused;
  const auto& [tasks, tables, stored, rows, width, splits_columns, is_in_place, weight_bytes,
               digits, family_elements, sizes_vary] = region;
  std::string text = concat("  region rows=", rows, ", width=", width);
  Shape sizes(digits.sizes());
  if (sizes != Shape(RowDigits(rows).sizes())) text += concat(", digits=", sizes);
  Braces more;
  more.say_if(splits_columns, "splits_columns");
  more.say_if(is_in_place, "in_place");
  more.say_if(weight_bytes != 0, "weight_bytes=", weight_bytes);
  more.say_if(family_elements != 0, "family_elements=", family_elements);
  more.say_if(sizes_vary, "sizes_vary");
  more.say_if(bytes_saved != 0, "saved=", bytes_saved);
  more.say_if(is_again, "again");
  text += more.text() + "\n";
  for (std::size_t slot = 0; slot < tasks.size(); ++slot)
    text += concat("    #", tasks[slot], ":", slot < tables.size() ? text_of(tables[slot]) : "",
                   slot < stored.size() && stored[slot] ? " stored" : "", "\n");
  return text;
}

}  // namespace

std::string print(const TaskList& list) {
  const auto& [tasks, storages, outputs, f32_products, transforms_rows, row_invariant] = list;
  const std::vector<StorageUsers> users = storage_users(list);
  std::string text = "tasks {\n";
  for (std::size_t id = 0; id < storages.size(); ++id)
    text += concat("  @", id, ": ", text_of(storages[id], users[id]), "\n");
  for (std::size_t id = 0; id < tasks.size(); ++id)
    text += concat("  #", id, " ", text_of(list, tasks[id]), "\n");
  text += "  return";
  for (std::size_t i = 0; i < outputs.size(); ++i)
    text += concat(i == 0 ? " " : ", ", text_of(outputs[i]));
  text += "\n";
  if (f32_products != ir::InputPrecision::ieee)
    text += concat("  f32_products ", ir::name_of(f32_products), "\n");
  if (transforms_rows) text += "  transforms_rows\n";
  if (row_invariant) text += "  row_invariant\n";
  return text + "}\n";
}

std::string print(std::span<const FusedRegion> regions) {
  std::string text = "regions {\n";
  for (const FusedRegion& region : regions) text += text_of(region);
  return text + "}\n";
}

std::string print(const TaskList& list, std::span<const FusedRegion> regions) {
  return print(list) + print(regions);
}

}  // namespace tilewright::graph
