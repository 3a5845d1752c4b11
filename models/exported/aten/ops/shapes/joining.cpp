// Operators that put tensors beside each other, cut them into several, and bring several to one
// shape; and those that repeat or rearrange what is in one, by its sizes alone.
#include <algorithm>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/shaping/axes.h"
#include "graph/functions/shaping/joining.h"
#include "graph/functions/shaping/parts.h"
#include "graph/functions/shaping/pixels.h"
#include "graph/functions/shaping/repeating.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace joining_rows {
namespace {

using Tensors = std::vector<Tensor>;

template <Tensor (*widened)(const Tensor&, std::source_location)>
Tensor widened_one(const Call& call) {
  return widened(call.tensor("self"), std::source_location::current());
}
template <Tensor (*widened)(const Tensor&, std::source_location)>
Tensors all_widened(const Call& call) {
  Tensors all = call.tensors("tensors");
  for (Tensor& x : all) x = widened(x, std::source_location::current());
  return all;
}

using Join = Tensor (*)(const Tensors&, std::source_location);
template <Join join>
Tensor joined(const Call& call) {
  return join(call.tensors("tensors"), std::source_location::current());
}
Tensor stacked(const Call& call) { return stack(call.tensors("tensors"), call.axis("dim", 0)); }

Tensors split(const Call& call) {
  return tilewright::split(call.tensor("self"), call.integer("split_size"), call.axis("dim", 0));
}
Tensors chunked(const Call& call) {
  return chunk(call.tensor("self"), call.integer("chunks"), call.axis("dim", 0));
}
Tensors at_indices(const Tensor& x, int axis, const Shape& indices) {
  return tensor_split(x, std::vector<std::int64_t>(indices.begin(), indices.end()), axis);
}
// By a tensor, which is read on the host: one number of sections, or the indices.
Tensors split_by_tensor(const Call& call) {
  constexpr std::string_view name = "tensor_indices_or_sections";
  Tensor where = call.tensor(name).to(i64);
  if (where.rank() > 1) call.refuse(name, "has more than one axis");
  const int axis = call.axis("dim", 0);
  if (where.rank() == 0) return tensor_split(call.tensor("self"), where.item<std::int64_t>(), axis);
  return tensor_split(call.tensor("self"), where.to_vector<std::int64_t>(), axis);
}
Tensors split_anywhere(const Call& call) {
  Tensor x = call.tensor("self");
  const int axis = call.axis("dim", 0);
  if (call.has("sections")) return tensor_split(x, call.integer("sections"), axis);
  return at_indices(x, axis, call.integers("indices"));
}
// Along the axis that a letter names: rows, columns, depth.
template <int axis>
Tensors split_along(const Call& call) {
  Tensor x = call.tensor("self");
  const int own = axis == 1 && x.rank() == 1 ? 0 : axis;
  if (call.has("sections")) return tensor_split(x, call.integer("sections"), own);
  return at_indices(x, own, call.integers("indices"));
}

Tensors broadcast(const Call& call) { return broadcast_tensors(call.tensors("tensors")); }

Tensors mesh(const Call& call) {
  const std::string indexing = call.text("indexing", "ij");
  if (indexing != "ij" && indexing != "xy") call.refuse("indexing", "is neither ij nor xy");
  return meshgrid(call.tensors("tensors"), indexing == "xy" ? GridOrder::xy : GridOrder::ij);
}

// Sequences beside each other, along their first axis all as long as the longest.
Tensor padded_to_longest(const Call& call) {
  Tensors sequences = call.tensors("sequences");
  const std::string side = call.text("padding_side", "right");
  if (side != "right" && side != "left") call.refuse("padding_side", "is neither right nor left");
  const int axis = call.flag("batch_first", false) ? 0 : 1;
  std::int64_t longest = 0;
  for (const Tensor& x : sequences) {
    if (!x.defined() || x.rank() == 0) call.refuse("sequences", "has one without axes");
    longest = std::max(longest, x.size(0));
  }
  for (Tensor& x : sequences) {
    Shape more(static_cast<std::size_t>(2 * x.rank()), 0);  // of the last axis first
    more[side == "left" ? more.rank() - 2 : more.rank() - 1] = longest - x.size(0);
    x = pad(x, more, PadMode::constant, call.scalar("padding_value", 0)).unsqueeze(axis);
  }
  return cat(sequences, axis);
}

Tensor padded(const Call& call) {
  const std::string mode = call.text("mode", "constant");
  for (const auto& [name, of_edges] : {std::pair{"constant", PadMode::constant},
                                       {"reflect", PadMode::reflect},
                                       {"replicate", PadMode::replicate},
                                       {"circular", PadMode::circular}})
    if (mode == name)
      return pad(call.tensor("self"), call.integers("pad"), of_edges, call.scalar("value", 0));
  call.refuse("mode", "is none of constant, reflect, replicate and circular");
}

template <PadMode mode>
Tensor padded_by(const Call& call) {
  return pad(call.tensor("self"), call.integers("padding"), mode, 0);
}

Tensor repeated(const Call& call) { return repeat(call.tensor("self"), call.integers("repeats")); }
// Each element several times, one after the other.
Tensor repeated_each(const Call& call) {
  call.has("output_size");
  std::optional<int> axis;
  if (call.has("dim")) axis = call.axis("dim");
  return repeat_interleave(call.tensor("self"), call.integer("repeats"), axis);
}

Tensor turned(const Call& call) {
  Tensor x = call.tensor("self");
  const std::vector<int> axes = call.has("dims") ? call.axes("dims") : std::vector<int>{0, 1};
  if (axes.size() != 2) call.refuse("dims", "does not name two axes");
  return rot90(x, call.integer("k", 1), axes[0], axes[1]);
}

Tensor diagonal_or_matrix(const Call& call) {
  Tensor x = call.tensor("self");
  const std::int64_t offset = call.integer("diagonal", 0);
  return x.rank() == 1 ? diag_embed(x, offset, 0, 1) : diagonal(x, offset);
}

// By half of each axis; back by what is left of it.
template <bool is_back>
Tensor halves_exchanged(const Call& call) {
  Tensor x = call.tensor("self");
  std::vector<int> axes = call.axes("dim");
  if (!call.has("dim"))
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  Shape shifts;
  for (int axis : axes) shifts.push_back((x.size(axis) + (is_back ? 1 : 0)) / 2);
  return roll(x, shifts, axes);
}

// Of each tensor equal parts along an axis, filled up with zeros, and then those of one number side
// by side.
Tensor chunks_joined(const Call& call) {
  const std::int64_t count = call.integer("num_chunks");
  if (count < 1) call.refuse("num_chunks", concat("is ", count, "; at least 1 is wanted"));
  const Tensors all = call.tensors("tensors");
  if (all.empty()) call.refuse("tensors", "is empty");
  const int named = call.axis("dim"), axis = normalise_axis(named, all[0].rank()).value_or(-1);
  Tensors parts;
  for (const Tensor& x : all) {
    if (axis < 0 || axis >= x.rank())
      call.refuse("dim", concat("is ", named, "; a tensor is [", x.shape(), "]"));
    const std::int64_t missing = (count - x.size(axis) % count) % count;
    Shape none = x.shape(), sizes(x.shape().begin(), x.shape().begin() + axis);
    none[axis] = missing;
    sizes.insert(sizes.end(), {count, -1});
    parts.push_back(missing == 0 ? x.reshape(sizes)
                                 : cat({x, zeros(none, x.dtype())}, axis).reshape(sizes));
  }
  return cat(parts, axis + 1);
}

// The coordinates of elements that are not zero, a tensor an axis; read on the host.
Tensors coordinates(const Call& call) {
  Tensor x = call.tensor(call.has("condition") ? "condition" : "self");
  Tensor all = nonzero(x.rank() == 0 ? x.reshape({1}) : x);
  Tensors columns;
  for (int axis = 0; axis < std::max(x.rank(), 1); ++axis) columns.push_back(all.select(1, axis));
  return columns;
}

constexpr Operator rows[] = {
    {"aten.stack.default", by<stacked>},
    {"aten.hstack.default", by<joined<hstack>>},
    {"aten.vstack.default", by<joined<vstack>>},
    {"aten.dstack.default", by<joined<dstack>>},
    {"aten.column_stack.default", by<joined<column_stack>>},
    {"aten.split.Tensor", by<split>},
    {"aten.chunk.default", by<chunked>},
    {"aten.tensor_split.sections", by<split_anywhere>},
    {"aten.tensor_split.indices", by<split_anywhere>},
    {"aten.tensor_split.tensor_indices_or_sections", by<split_by_tensor>},
    {"aten._chunk_cat.default", by<chunks_joined>},
    {"aten.vsplit.int", by<split_along<0>>},
    {"aten.vsplit.array", by<split_along<0>>},
    {"aten.hsplit.int", by<split_along<1>>},
    {"aten.hsplit.array", by<split_along<1>>},
    {"aten.dsplit.int", by<split_along<2>>},
    {"aten.dsplit.array", by<split_along<2>>},
    {"aten.atleast_1d.default", by<widened_one<atleast_1d>>},
    {"aten.atleast_2d.default", by<widened_one<atleast_2d>>},
    {"aten.atleast_3d.default", by<widened_one<atleast_3d>>},
    {"aten.atleast_1d.Sequence", by<all_widened<atleast_1d>>},
    {"aten.atleast_2d.Sequence", by<all_widened<atleast_2d>>},
    {"aten.atleast_3d.Sequence", by<all_widened<atleast_3d>>},
    {"aten.broadcast_tensors.default", by<broadcast>},
    {"aten.meshgrid.default", by<mesh>},
    {"aten.meshgrid.indexing", by<mesh>},
    {"aten.cartesian_prod.default", by<joined<cartesian_prod>>},
    {"aten.block_diag.default", by<joined<block_diag>>},
    {"aten.pad.default", by<padded>},
    {"aten.pad_sequence.default", by<padded_to_longest>},
    {"aten.reflection_pad1d.default", by<padded_by<PadMode::reflect>>},
    {"aten.reflection_pad2d.default", by<padded_by<PadMode::reflect>>},
    {"aten.reflection_pad3d.default", by<padded_by<PadMode::reflect>>},
    {"aten.replication_pad1d.default", by<padded_by<PadMode::replicate>>},
    {"aten.replication_pad2d.default", by<padded_by<PadMode::replicate>>},
    {"aten.replication_pad3d.default", by<padded_by<PadMode::replicate>>},
    {"aten.tile.default", [](const Call& c) { return tile(c.tensor("self"), c.integers("dims")); }},
    {"aten.repeat.default", by<repeated>},
    {"aten.repeat_interleave.self_int", by<repeated_each>},
    {"aten.rot90.default", by<turned>},
    {"aten.diag.default", by<diagonal_or_matrix>},
    {"aten.diagflat.default",
     [](const Call& c) {
       return diag_embed(c.tensor("self").reshape({-1}), c.integer("offset", 0), 0, 1);
     }},
    {"aten.linalg_diagonal.default",
     [](const Call& c) {
       return diagonal(c.tensor("A"), c.integer("offset", 0), c.axis("dim1", -2),
                       c.axis("dim2", -1));
     }},
    {"aten.pixel_shuffle.default",
     [](const Call& c) { return pixel_shuffle(c.tensor("self"), c.integer("upscale_factor")); }},
    {"aten.pixel_unshuffle.default",
     [](const Call& c) {
       return pixel_unshuffle(c.tensor("self"), c.integer("downscale_factor"));
     }},
    {"aten.channel_shuffle.default",
     [](const Call& c) { return channel_shuffle(c.tensor("self"), c.integer("groups")); }},
    {"aten.native_channel_shuffle.default",
     [](const Call& c) { return channel_shuffle(c.tensor("self"), c.integer("groups")); }},
    {"aten.fft_fftshift.default", by<halves_exchanged<false>>},
    {"aten.fft_ifftshift.default", by<halves_exchanged<true>>},
    {"aten.argwhere.default", [](const Call& c) { return nonzero(c.tensor("self")); }},
    {"aten.nonzero_numpy.default", by<coordinates>},
    {"aten.where.default", by<coordinates>},
};

}  // namespace
}  // namespace joining_rows

std::span<const Operator> joining_operators() { return joining_rows::rows; }

}  // namespace tilewright::exported
