#include "models/exported/copied_views.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "models/exported/aten/names.h"
#include "models/exported/aten/operators.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

constexpr std::array<std::string_view, 8> copied = {
    "aten.diagonal.default",     "aten.linalg_diagonal.default",
    "aten.unfold.default",       "aten.as_strided.default",
    "aten.view_as_real.default", "aten._conj.default",
    "aten.conj.default",         "aten.view.dtype"};

// The origin of a value: itself, or the value that it is a view of; which node copies; and the
// nodes between them that copy if the operand's memory is in another order.
struct Origin {
  ValueId root;
  const Node* copy = nullptr;
  std::vector<std::size_t> may_copy = {};
};

std::optional<ValueId> first_tensor(const Node& node) {
  if (node.arguments.empty()) return std::nullopt;
  auto* named = std::get_if<TensorName>(&node.arguments.front().value);
  return named == nullptr ? std::nullopt : std::optional(named->id);
}

class Writes {
 public:
  explicit Writes(const Program& program)
      : program_(program), last_use_(program.value_names.size()) {
    for (std::size_t i = 0; i < program.value_names.size(); ++i)
      origins_.push_back({static_cast<ValueId>(i)});
    for (std::size_t i = 0; i < program.nodes.size(); ++i)
      for_each_used(program.nodes[i], [&](ValueId id) { last_use_[index(id)] = i; });
    for (const Output& output : program.outputs)
      if (!output.number) last_use_[index(output.value)] = program.nodes.size();
  }

  void check() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      const auto op = find_operator(node.target);
      const auto written = op ? op->written_by(node) : std::vector<ValueId>();
      for (ValueId id : written) write(i, node, id);
      for (std::size_t k = 0; k < written.size(); ++k)
        set_origin(node.results[k], origin_of(i, written[k]));
      const auto first = first_tensor(node);
      if (first && is_view(node.target))
        for (ValueId id : node.results) set_origin(id, origin_of(i, *first));
    }
  }

  // The nodes that have to share the memory of their operand.
  const std::set<std::size_t>& sharing() const { return sharing_; }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  Origin origin_of(std::size_t at, ValueId first) const {
    const Node& node = program_.nodes[at];
    Origin origin = origins_[index(first)];
    if (node.target == "aten.view.default") origin.may_copy.push_back(at);
    if (std::ranges::find(copied, node.target) != copied.end()) origin.copy = &node;
    return origin;
  }

  void set_origin(ValueId id, const Origin& origin) {
    origins_[index(id)] = origin;
    if (origin.copy != nullptr || !origin.may_copy.empty()) views_[origin.root].push_back(id);
  }

  void write(std::size_t at, const Node& node, ValueId target) {
    const Origin& written = origins_[index(target)];
    if (written.copy != nullptr) refuse(node, *written.copy, true);
    sharing_.insert(written.may_copy.begin(), written.may_copy.end());
    auto views = views_.find(written.root);
    if (views == views_.end()) return;
    for (ValueId id : views->second) {
      if (last_use_[index(id)] <= at) continue;
      const Origin& read = origins_[index(id)];
      if (read.copy != nullptr) refuse(node, *read.copy, false);
      sharing_.insert(read.may_copy.begin(), read.may_copy.end());
    }
  }

  [[noreturn]] void refuse(const Node& write, const Node& view, bool is_through_it) const {
    // PyTorch decomposes a write through an unfold wrongly: elements between the parts, and behind
    // the last, are lost (pytorch issue 198102).
    const std::string_view advice =
        is_through_it && view.target == "aten.unfold.default"
            ? "write to the tensor itself, by slices or index_put_ (its run_decompositions() would "
              "lose the elements that are in no part)"
            : "export it with run_decompositions()";
    raise_error(concat("[load_exported] ", program_.file, ": \"", json::excerpt(write.name), "\" (",
                       json::excerpt(write.target), ") writes to what \"", json::excerpt(view.name),
                       "\" (", json::excerpt(view.target),
                       ") is a view of in PyTorch, and a copy here",
                       write.source.empty() ? "" : ", from ", write.source, "; ", advice));
  }

  const Program& program_;
  std::vector<Origin> origins_;                              // by value
  std::unordered_map<ValueId, std::vector<ValueId>> views_;  // by root, those that may be copies
  std::vector<std::size_t> last_use_;
  std::set<std::size_t> sharing_;
};

}  // namespace

void settle_written_views(Program& program) {
  Writes writes(program);
  writes.check();
  for (std::size_t at : writes.sharing())
    program.nodes[at].arguments.push_back({"shares_memory", true});
}

}  // namespace tilewright::exported
