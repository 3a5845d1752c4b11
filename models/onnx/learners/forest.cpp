#include "models/onnx/learners/forest.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/functions/learners/forest.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

using Places = std::vector<std::int64_t>;

constexpr std::int64_t most_levels = 256;

struct Trees : Forest {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> places;  // by tree and node
};

// How many branches lie between a root and its furthest leaf; each node belongs to one place of
// one tree.
std::int64_t levels_of(const Trees& trees, const std::vector<bool>& is_leaf) {
  std::vector<bool> was_met(is_leaf.size());
  Places level = trees.roots;
  for (std::int64_t levels = 0; levels <= most_levels; ++levels) {
    Places next;
    for (std::int64_t node : level) {
      const auto at = static_cast<std::size_t>(node);
      require(!was_met[at], "[onnx] node ", node,
              " of a forest is reached twice; it must be one "
              "of a tree");
      was_met[at] = true;
      if (!is_leaf[at]) next.insert(next.end(), {trees.if_true[at], trees.if_false[at]});
    }
    if (next.empty()) {
      const auto unmet = std::ranges::find(was_met, false) - was_met.begin();
      require(unmet == std::ssize(was_met), "[onnx] node ", unmet,
              " of a forest is reached from no root; its branches must make trees");
      return levels;
    }
    level = std::move(next);
  }
  raise_error(concat("[onnx] a tree of more than ", most_levels, " levels"));
}

BranchComparison comparison_of(const std::string& mode) {
  using enum BranchComparison;
  for (const auto& [name, comparison] : {std::pair{"BRANCH_LEQ", leq},
                                         {"BRANCH_LT", less},
                                         {"BRANCH_GTE", geq},
                                         {"BRANCH_GT", greater},
                                         {"BRANCH_EQ", equal},
                                         {"BRANCH_NEQ", not_equal}})
    if (mode == name) return comparison;
  raise_error(concat("[onnx] a branch of the mode ", json::excerpt(mode), " is not supported"));
}

// Those of leaves say nothing. Most forests have one comparison.
void set_comparisons(Trees& trees, const std::vector<std::string>& modes) {
  std::vector<BranchComparison> all;
  bool is_first = true, differ = false;
  for (const std::string& mode : modes) {
    const bool is_leaf = mode == "LEAF";
    all.push_back(is_leaf ? trees.comparison : comparison_of(mode));
    if (is_leaf) continue;
    if (is_first) trees.comparison = all.back();
    is_first = false;
    differ = differ || all.back() != trees.comparison;
  }
  if (differ) trees.comparisons = std::move(all);
}

Trees trees_of(const Call& call) {
  Trees trees;
  const Shape tree = call.integers("nodes_treeids"), node = call.integers("nodes_nodeids"),
              feature = call.integers("nodes_featureids"),
              if_true = call.integers("nodes_truenodeids"),
              if_false = call.integers("nodes_falsenodeids");
  const std::vector<double> values = call.numbers("nodes_values");
  const std::vector<std::string> modes = call.texts("nodes_modes");
  call.has("nodes_hitrates");
  const Shape tracks = call.integers("nodes_missing_value_tracks_true", Shape{});
  require(tracks.empty() || tracks.size() == tree.size(),
          "[onnx] the attribute "
          "\"nodes_missing_value_tracks_true\" has ",
          tracks.size(), " entries for ", tree.size(), " nodes");
  if (std::ranges::any_of(tracks, [](std::int64_t each) { return each != 0; }))
    trees.if_missing.assign(tracks.begin(), tracks.end());
  const std::size_t count = tree.size();
  require(count > 0 && node.size() == count && feature.size() == count && if_true.size() == count &&
              if_false.size() == count && values.size() == count && modes.size() == count,
          "[onnx] lists of a forest have ", tree.size(), ", ", node.size(), ", ", feature.size(),
          ", ", if_true.size(), ", ", if_false.size(), ", ", values.size(), " and ", modes.size(),
          " entries; all must have one for each node");
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_new =
        trees.places.emplace(std::pair{tree[static_cast<int>(i)], node[static_cast<int>(i)]}, i)
            .second;
    require(is_new, "[onnx] tree ", tree[static_cast<int>(i)], " has two nodes ",
            node[static_cast<int>(i)]);
  }
  auto place = [&](std::int64_t of_tree, std::int64_t id) {
    auto found = trees.places.find({of_tree, id});
    require(found != trees.places.end(), "[onnx] tree ", of_tree, " has no node ", id,
            ", to which one of its branches goes");
    return found->second;
  };
  std::vector<bool> is_leaf(count), is_child(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int at = static_cast<int>(i);
    is_leaf[i] = modes[i] == "LEAF";
    trees.features.push_back(is_leaf[i] ? 0 : feature[at]);
    trees.values.push_back(static_cast<float>(values[i]));
    const auto self = static_cast<std::int64_t>(i);
    trees.if_true.push_back(is_leaf[i] ? self : place(tree[at], if_true[at]));
    trees.if_false.push_back(is_leaf[i] ? self : place(tree[at], if_false[at]));
    if (is_leaf[i]) continue;
    is_child[static_cast<std::size_t>(trees.if_true[i])] = true;
    is_child[static_cast<std::size_t>(trees.if_false[i])] = true;
  }
  set_comparisons(trees, modes);
  for (std::size_t i = 0; i < count; ++i)
    if (!is_child[i]) trees.roots.push_back(static_cast<std::int64_t>(i));
  std::set<std::int64_t> numbers(tree.begin(), tree.end());
  require(trees.roots.size() == numbers.size(), "[onnx] a forest of ", numbers.size(),
          " trees has ", trees.roots.size(), " nodes to which no branch goes; a tree has one");
  trees.levels = levels_of(trees, is_leaf);
  return trees;
}

}  // namespace

Tensor forest_weights(const Call& call, const std::string& weights, std::int64_t columns) {
  const Tensor x = call.tensor(0).to(f32);
  require(x.rank() == 2, "[onnx] samples [", x.shape(), "]; [samples, features] is wanted");
  Trees trees = trees_of(call);
  for (std::int64_t feature : trees.features)
    require(feature >= 0 && feature < x.size(1), "[onnx] a forest asks for feature ", feature,
            " of samples that have ", x.size(1));

  const Shape tree = call.integers(weights + "_treeids"),
              node = call.integers(weights + "_nodeids"), column = call.integers(weights + "_ids");
  const std::vector<double> given = call.numbers(weights + "_weights");
  require(
      tree.size() == given.size() && node.size() == given.size() && column.size() == given.size(),
      "[onnx] weights of a forest are in lists of ", tree.size(), ", ", node.size(), ", ",
      column.size(), " and ", given.size(), " entries; all must have one for each weight");
  const auto count = std::ssize(trees.values);
  require(columns >= 1 && columns <= 65536 && count * columns <= (std::int64_t{1} << 28),
          "[onnx] a forest of ", count, " nodes for ", columns, " results");
  std::vector<float> of_leaves(static_cast<std::size_t>(count * columns));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const int at = static_cast<int>(i);
    auto found = trees.places.find({tree[at], node[at]});
    require(found != trees.places.end() && column[at] >= 0 && column[at] < columns,
            "[onnx] a weight of node ", node[at], " of tree ", tree[at], " for result ", column[at],
            "; there is no such node, or no such result");
    of_leaves[static_cast<std::size_t>(found->second * columns + column[at])] +=
        static_cast<float>(given[i]);
  }

  return tilewright::forest_weights(x, trees, of_leaves, columns);
}

}  // namespace tilewright::onnx
