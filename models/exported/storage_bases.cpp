#include "models/exported/storage_bases.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <ranges>

#include "graph/ir/strided_view.h"
#include "models/exported/aten/names.h"
#include "models/exported/aten/operators.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// "view" of "aten.view.default".
std::string_view function_of(std::string_view target) {
  constexpr std::string_view library = "aten.";
  if (!target.starts_with(library)) return {};
  target.remove_prefix(library.size());
  return target.substr(0, target.find('.'));
}

bool is_strided(const Node& node) {
  const std::string_view function = function_of(node.target);
  return function == "as_strided" || function == "as_strided_copy" ||
         function == "as_strided_scatter";
}

// Views of all elements of a tensor in their order, whatever its sizes are.
bool keeps_elements(std::string_view function) {
  constexpr auto names = std::to_array<std::string_view>(
      {"alias", "contiguous", "detach", "detach_", "flatten", "lift_fresh", "positive", "ravel",
       "reshape", "reshape_as", "squeeze", "to", "type_as", "unflatten", "unsqueeze", "view",
       "view_as"});
  return std::ranges::find(names, function) != names.end();
}
// Those that may copy.
bool may_be_reshaped(std::string_view function) {
  return function == "flatten" || function == "ravel" || function == "reshape" ||
         function == "reshape_as";
}
bool may_be_converted(std::string_view function) {
  return function == "contiguous" || function == "to" || function == "type_as";
}
// Views in which the elements are others, and what may be a copy with other elements.
bool changes_elements(std::string_view function) {
  constexpr auto names = std::to_array<std::string_view>({"_conj", "conj", "imag", "mH", "matrix_H",
                                                          "real", "resolve_conj", "resolve_neg",
                                                          "view_as_complex", "view_as_real"});
  return std::ranges::find(names, function) != names.end() ||
         function.find("dropout") != function.npos;
}

class StorageBases {
 public:
  explicit StorageBases(Program& program) : program_(program), bases_(program.value_names.size()) {}

  void use() {
    for (std::size_t i = 0; i < bases_.size(); ++i) bases_[i] = {static_cast<ValueId>(i), true};
    for (Node& node : program_.nodes) {
      if (is_strided(node)) rebase(node);
      follow(node);
    }
  }

 private:
  // The value that owns the memory, and whether all its elements are there in their order.
  struct Base {
    ValueId root;
    bool is_whole;
  };
  Base& base(ValueId id) { return bases_[static_cast<std::size_t>(id)]; }
  const StorageLayout* layout(ValueId id) const {
    auto known = program_.layouts.find(id);
    return known == program_.layouts.end() ? nullptr : &known->second;
  }

  static TensorName* first_tensor(Node& node) {
    return node.arguments.empty() ? nullptr
                                  : std::get_if<TensorName>(&node.arguments.front().value);
  }

  // The memory of a node's results.
  void follow(Node& node) {
    if (const auto op = find_operator(node.target); op && op->writes()) {
      const auto written = op->written_by(node);
      for (std::size_t i = 0; i < written.size(); ++i) base(node.results[i]) = base(written[i]);
      return;
    }
    const TensorName* from = first_tensor(node);
    if (from == nullptr || !is_view(node.target)) return;
    for (ValueId result : node.results)
      if (shares_memory(node, from->id, result))
        base(result) = {base(from->id).root,
                        base(from->id).is_whole && keeps_elements(function_of(node.target))};
  }

  bool shares_memory(const Node& node, ValueId from, ValueId result) const {
    const std::string_view function = function_of(node.target);
    if (changes_elements(function)) return false;
    const StorageLayout *before = layout(from), *after = layout(result);
    if (before == nullptr || after == nullptr) return true;
    if (before->dtype != after->dtype) return false;
    if (may_be_converted(function)) return before->strides == after->strides;
    if (!may_be_reshaped(function)) return true;
    const Shape sizes(after->sizes.begin(), after->sizes.end());
    const graph::StridedView place{Shape(before->sizes.begin(), before->sizes.end()),
                                   Strides(before->strides.begin(), before->strides.end()), 0};
    return graph::view_of(graph::Op::reshape, {.axes = {}, .sizes = sizes}, place).has_value();
  }

  [[noreturn]] void refuse(const Node& node, std::string_view reason) const {
    raise_error(concat("[load_exported] ", program_.file, ": \"", json::excerpt(node.name), "\" (",
                       json::excerpt(node.target), ") counts places in memory, but ", reason,
                       node.source.empty() ? "" : ", from ", node.source,
                       "; take the elements by slices and index tensors"));
  }

  // The axes from the one with the largest stride on, if the elements lie without gaps. Those of
  // size 1 lie anywhere.
  static std::optional<std::vector<int>> order_in_memory(const StorageLayout& layout) {
    auto stride = [&](int axis) { return layout.strides[static_cast<std::size_t>(axis)]; };
    auto size = [&](int axis) { return layout.sizes[static_cast<std::size_t>(axis)]; };
    std::vector<int> all(layout.sizes.size()), long_axes, order;
    std::iota(all.begin(), all.end(), 0);
    for (int axis : all) (size(axis) == 1 ? order : long_axes).push_back(axis);
    std::ranges::stable_sort(long_axes, std::greater(), stride);
    std::int64_t step = 1;
    for (int axis : long_axes | std::views::reverse) {
      if (stride(axis) != step) return std::nullopt;
      step *= size(axis);
    }
    if (std::ranges::is_sorted(long_axes)) return all;
    order.insert(order.end(), long_axes.begin(), long_axes.end());
    return order;
  }

  static Argument* find(Node& node, std::string_view name) {
    auto found = std::ranges::find(node.arguments, name, &Argument::name);
    return found == node.arguments.end() ? nullptr : &*found;
  }
  static ArgumentValue integers(const auto& numbers) {
    return std::vector<Integer>(numbers.begin(), numbers.end());
  }

  // Offsets are counted from the first element of the root.
  void set_offset(Node& node, std::int64_t own, std::int64_t first) {
    Argument* offset = find(node, "storage_offset");
    if (offset == nullptr) {
      node.arguments.push_back({"storage_offset", own - first});
    } else if (auto* number = std::get_if<std::int64_t>(&offset->value)) {
      *number -= first;
    } else if (std::holds_alternative<std::monostate>(offset->value)) {
      offset->value = own - first;
    } else if (first != 0) {
      refuse(node, "its offset varies, and the memory begins before the tensor");
    }
  }

  void rebase(Node& node) {
    TensorName* self = first_tensor(node);
    if (self == nullptr) return;
    const Base from = base(self->id);
    const StorageLayout *own = layout(self->id), *root = layout(from.root);
    if (own == nullptr || root == nullptr) {
      if (!from.is_whole) refuse(node, "of a view with sizes that vary these are not known");
      return;
    }
    const auto order = order_in_memory(*root);
    if (!order) refuse(node, "the tensor that owns the memory has gaps in it");
    set_offset(node, own->offset, root->offset);
    const bool is_row_major = std::ranges::is_sorted(*order);
    if (from.is_whole && is_row_major) return;
    if (!is_row_major) node.arguments.push_back({"storage_axes", integers(*order)});
    if (function_of(node.target) == "as_strided_scatter") {
      node.arguments.push_back({"view_size", integers(own->sizes)});
      node.arguments.push_back({"view_stride", integers(own->strides)});
      node.arguments.push_back({"view_offset", own->offset - root->offset});
    }
    self = first_tensor(node);
    self->id = from.root;
  }

  Program& program_;
  std::vector<Base> bases_;  // by value
};

}  // namespace

void use_storage_bases(Program& program) {
  if (std::ranges::any_of(program.nodes, is_strided)) StorageBases(program).use();
}

}  // namespace tilewright::exported
