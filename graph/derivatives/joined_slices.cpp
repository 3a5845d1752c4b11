#include "graph/derivatives/joined_slices.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {
namespace {

struct Slice {
  std::int64_t begin, end;
  Term value;
};
// Slices along an axis, by their places.
struct Slices {
  int axis;
  std::vector<Slice> all;

  bool add(const Slices& one) {
    const Slice& slice = one.all[0];
    if (one.axis != axis || slice.value.dtype() != all[0].value.dtype()) return false;
    const auto next =
        std::ranges::find_if(all, [&](const Slice& other) { return other.begin >= slice.end; });
    if (next != all.begin() && std::prev(next)->end > slice.begin) return false;
    all.insert(next, slice);
    return true;
  }
};

bool is_zero(const Node& node) { return node.op == Op::full && node.attributes.number == 0; }

// A value joined of one part and zeros around it.
std::optional<Slices> slice_in_zeros(const Term& x) {
  const Node& node = x.builder->node(x.id);
  if (node.op != Op::cat) return std::nullopt;
  const int axis = node.attributes.axes[0];
  std::optional<Slice> found;
  std::int64_t begin = 0;
  for (NodeId id : node.operands) {
    const Node& part = x.builder->node(id);
    const std::int64_t end = begin + part.shape[axis];
    if (!is_zero(part)) {
      if (found) return std::nullopt;
      found = {begin, end, {x.builder, id}};
    }
    begin = end;
  }
  if (!found) return std::nullopt;
  return Slices{axis, {*found}};
}

Term joined_in_zeros(const Slices& slices, const Shape& whole) {
  std::vector<Term> parts;
  Shape gap = whole;
  auto fill = [&](std::int64_t begin, std::int64_t end) {
    gap[slices.axis] = end - begin;
    if (begin < end) parts.push_back(zeros_of(slices.all[0].value, gap));
  };
  std::int64_t at = 0;
  for (const Slice& slice : slices.all) {
    fill(at, slice.begin);
    parts.push_back(slice.value);
    at = slice.end;
  }
  fill(at, whole[slices.axis]);
  return joined(parts, slices.axis);
}

}  // namespace

std::vector<Term> joined_slices(const std::vector<Term>& cotangents) {
  std::vector<std::optional<Slices>> groups;
  std::vector<Term> firsts;
  for (const Term& cotangent : cotangents) {
    const std::optional<Slices> one = slice_in_zeros(cotangent);
    const bool is_added = one && std::ranges::any_of(groups, [&](std::optional<Slices>& group) {
                            return group && group->add(*one);
                          });
    if (is_added) continue;
    groups.push_back(one);
    firsts.push_back(cotangent);
  }
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] && groups[i]->all.size() > 1)
      firsts[i] = joined_in_zeros(*groups[i], firsts[i].shape());
  return firsts;
}

}  // namespace tilewright::graph
