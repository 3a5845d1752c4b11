#include "models/files/tree.h"

#include <optional>
#include <unordered_set>

#include "runtime/base/error.h"

namespace tilewright::json {
namespace {

class TreeBuilder : public Events {
 public:
  TreeBuilder(std::string_view operation, std::string_view what, std::size_t max_nodes,
              const std::vector<Diversion>& diversions, const std::vector<Each>& each)
      : operation_(operation),
        what_(what),
        max_nodes_(max_nodes),
        diversions_(diversions),
        each_(each) {}

  void scalar(Scalar value) override {
    if (diverted_ || divert()) {
      diverted_->scalar(std::move(value));
      return leave_diversion();
    }
    count();
    Node node;
    node.scalar = std::move(value);
    place(std::move(node));
  }
  void key(std::string name) override {
    if (diverted_) return diverted_->key(std::move(name));
    Level& level = levels_.back();
    require(level.names.insert(name).second, "[", operation_, "] ", what_, ": the key \"",
            excerpt(name), "\" appears twice in one object");
    level.key = std::move(name);
  }
  void begin_object() override { begin(Node::Kind::object, &Events::begin_object); }
  void end_object() override { end(&Events::end_object); }
  void begin_array() override { begin(Node::Kind::array, &Events::begin_array); }
  void end_array() override { end(&Events::end_array); }

  Node take() { return std::move(root_); }

 private:
  struct Level {
    Node node;
    std::string key;  // of the member that is being read
    std::unordered_set<std::string> names;
    const Each* each = nullptr;    // its elements go there
    std::size_t nodes_before = 0;  // of the tree, without its elements
  };

  void count() {
    require(++nodes_ <= max_nodes_, "[", operation_, "] ", what_, ": more than ", max_nodes_,
            " JSON values outside its tables");
  }
  void begin(Node::Kind kind, void (Events::*event)()) {
    if (diverted_ || divert()) {
      (diverted_->*event)();
      ++diverted_depth_;
      return;
    }
    count();
    Level level;
    level.node.kind = kind;
    level.each = visited_one_by_one();
    level.nodes_before = nodes_;
    levels_.push_back(std::move(level));
  }
  void end(void (Events::*event)()) {
    if (diverted_) {
      (diverted_->*event)();
      --diverted_depth_;
      return leave_diversion();
    }
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    place(std::move(node));
  }
  // To the value about to begin; nothing inside of arrays.
  std::optional<std::string> path_of_keys() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.node.kind != Node::Kind::object) return std::nullopt;
      path += (path.empty() ? "" : "/") + level.key;
    }
    return path;
  }
  const Each* visited_one_by_one() const {
    if (each_.empty() || levels_.size() > deepest_each_) return nullptr;
    auto path = path_of_keys();
    for (const Each& each : each_)
      if (path && each.path == *path) return &each;
    return nullptr;
  }
  // True if the value about to begin is one of the diverted; then `diverted_` is set.
  bool divert() {
    if (diversions_.empty()) return false;
    auto path = path_of_keys();
    if (!path) return false;
    for (const Diversion& diversion : diversions_)
      if (diversion.path == *path) diverted_ = diversion.events;
    return diverted_ != nullptr;
  }
  void leave_diversion() {
    if (diverted_depth_ != 0) return;
    diverted_ = nullptr;
    Node node;
    node.kind = Node::Kind::diverted;
    place(std::move(node));
  }
  void place(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.each != nullptr) {
      level.each->visit(level.key, std::move(node));
      nodes_ = level.nodes_before;
    } else if (level.node.kind == Node::Kind::array)
      level.node.items.push_back(std::move(node));
    else
      level.node.members.emplace_back(std::move(level.key), std::move(node));
  }

  std::string_view operation_, what_;
  std::size_t max_nodes_;
  std::size_t nodes_ = 0;
  const std::vector<Diversion>& diversions_;
  const std::vector<Each>& each_;
  static constexpr std::size_t deepest_each_ = 8;
  std::vector<Level> levels_;
  Events* diverted_ = nullptr;
  int diverted_depth_ = 0;
  Node root_;
};

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const auto& [key, node] : members)
    if (key == name) return &node;
  return nullptr;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::scalar: return concat(node.scalar);
    case Node::Kind::array: return "an array";
    case Node::Kind::object: return "an object";
    case Node::Kind::diverted: return "a table";
  }
  __builtin_unreachable();
}

Node read_tree(std::string_view text, std::string_view operation, std::string_view what,
               const Limits& limits, const std::vector<Diversion>& diversions,
               const std::vector<Each>& each) {
  TreeBuilder builder(operation, what, limits.nodes, diversions, each);
  read(text, operation, what, limits, builder);
  return builder.take();
}

}  // namespace tilewright::json
