// Operators that read and write elements by numbers that are themselves tensors, and those that
// pick elements by a rule: diagonals, windows, strides.
#include "graph/functions/derivatives/indexing.h"
#include "graph/functions/convolving/folding.h"
#include "graph/functions/convolving/windows.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/embedding_bag.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/indexing/strided_parts.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace indexing_rows {
namespace {

Tensor put_by_index(const Call& call) {
  return index_put(call.tensor("self"), call.tensors("indices"), call.tensor("values"),
                   call.flag("accumulate", false));
}

Tensor scattered(const Call& call) {
  Tensor x = call.tensor("self"), index = call.tensor("index");
  int axis = call.axis("dim");
  if (call.has("value")) return scatter(x, axis, index, call.operand("value"));
  return scatter(x, axis, index, call.tensor("src"));
}

std::optional<std::int64_t> bound(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.integer(name)) : std::nullopt;
}

Tensor searched(const Call& call) {
  const std::string side = call.text("side", "left");
  if (side != "left" && side != "right") call.refuse("side", "is neither left nor right");
  return searchsorted(call.tensor("sorted_sequence"), call.operand("self"),
                      {.right = call.flag("right", false) || side == "right",
                       .out_int32 = call.flag("out_int32", false),
                       .sorter = call.optional_tensor("sorter")});
}
Tensor bucketized(const Call& call) {
  return bucketize(call.operand("self"), call.tensor("boundaries"), call.flag("right", false),
                   call.flag("out_int32", false));
}

// Each number as often as it says, read on the host.
Tensor numbers_repeated(const Tensor& times, std::int64_t wanted) {
  std::vector<std::int64_t> repeats = times.to(i64).to_vector<std::int64_t>();
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    require(repeats[i] >= 0 && repeats[i] < INT32_MAX, "[exported] a number is repeated ",
            repeats[i], " times");
    numbers.insert(numbers.end(), static_cast<std::size_t>(repeats[i]),
                   static_cast<std::int64_t>(i));
  }
  require(wanted < 0 || wanted == std::ssize(numbers), "[exported] repeats give ", numbers.size(),
          " elements; the program says ", wanted);
  return Tensor::from(numbers, {std::ssize(numbers)});
}

Tensor elements_repeated(const Call& call) {
  Tensor x = call.tensor("self");
  if (!call.has("dim")) x = x.reshape({x.count()});
  const int axis = call.axis("dim", 0);
  Tensor repeats = call.tensor("repeats");
  if (repeats.count() == 1) repeats = repeats.reshape({1}).expand({x.size(axis)});
  return index_select(x, axis, numbers_repeated(repeats, call.integer("output_size", -1)));
}

// What im2col and col2im say of a kernel of two axes.
FoldOptions patches_of(const Call& call) {
  return {.stride = positive(call, "stride", 2, {1, 1}),
          .padding = not_negative(call, "padding", 2),
          .dilation = positive(call, "dilation", 2, {1, 1})};
}
Tensor columns_of_windows(const Call& call) {
  return unfold(call.tensor("self"), positive(call, "kernel_size", 2, {}), patches_of(call));
}
Tensor sum_of_windows(const Call& call) {
  return fold(call.tensor("self"), positive(call, "output_size", 2, {}),
              positive(call, "kernel_size", 2, {}), patches_of(call));
}

Tensor some_coordinates(const Call& call) {
  const std::int64_t wanted = call.integer("size");
  if (wanted < 0 || wanted > INT32_MAX) call.refuse("size", concat("is ", wanted));
  return nonzero_static(call.tensor("self"), wanted, call.integer("fill_value", -1));
}

// All choices of r elements in the order in which they stand, with or without repeats.
Tensor choices(const Call& call) {
  Tensor x = call.tensor("self");
  const std::int64_t r = call.integer("r", 2);
  const bool repeats = call.flag("with_replacement", false);
  if (x.rank() != 1) call.refuse("self", concat("is [", x.shape(), "]; one axis is wanted"));
  constexpr std::int64_t most = 1 << 26;
  std::vector<std::int64_t> all, chosen;
  auto choose = [&](auto&& self, std::int64_t from) -> void {
    if (std::ssize(chosen) == r) {
      require(std::ssize(all) + r <= most, "[exported] there are more than ", most / r,
              " choices of ", r, " from ", x.count(), " elements");
      all.insert(all.end(), chosen.begin(), chosen.end());
      return;
    }
    for (std::int64_t i = from; i < x.count(); ++i) {
      chosen.push_back(i);
      self(self, repeats ? i : i + 1);
      chosen.pop_back();
    }
  };
  if (r < 0 || r > 64) call.refuse("r", concat("is ", r, "; 0 to 64 is wanted"));
  if (r == 0) return zeros({0}, x.dtype());
  choose(choose, 0);
  const std::int64_t count = std::ssize(all);
  if (count == 0) return zeros({0, r}, x.dtype());
  return index_select(x, 0, Tensor::from(all, {count})).reshape({count / r, r});
}

Tensor diagonal_filled(const Call& call) {
  const Tensor x = call.tensor("self");
  if (x.rank() < 2) call.refuse("self", concat("is [", x.shape(), "]; two axes are wanted"));
  return fill_diagonal(x, call.operand("fill_value"), call.flag("wrap", false));
}

// What replaces a part of `self` is copied to it, in its type.
Tensor source_of(const Call& c) { return c.tensor("src").to(c.tensor("self").dtype()); }

// Arguments of as_strided that use_storage_bases adds.
Tensor storage_of(const Call& c) {
  Tensor x = c.tensor("self");
  return c.has("storage_axes") ? x.permute(c.axes("storage_axes")) : x;
}
Tensor scattered_by_strides(const Call& c) {
  Tensor storage = as_strided_scatter(storage_of(c), source_of(c), c.integers("size"),
                                      c.integers("stride"), c.integer("storage_offset", 0));
  if (!c.has("view_size")) return storage;
  return as_strided(storage, c.integers("view_size"), c.integers("view_stride"),
                    c.integer("view_offset"));
}

constexpr Operator rows[] = {
    {"aten.nonzero_static.default", by<some_coordinates>},
    {"aten._unsafe_masked_index.default",
     [](const Call& c) {
       return masked_index(c.tensor("self"), c.tensor("mask"), c.tensors("indices"),
                           c.operand("fill"));
     }},
    {"aten._unsafe_masked_index_put_accumulate.default",
     [](const Call& c) {
       return masked_index_add(c.tensor("self"), c.tensor("mask"), c.tensors("indices"),
                               c.tensor("values"));
     }},
    {"aten.combinations.default", by<choices>},
    {"aten.fill_diagonal.default", by<diagonal_filled>},
    {"aten.embedding.default",
     [](const Call& c) {
       const std::int64_t padding = c.integer("padding_idx", -1);
       return embedding(c.tensor("indices"), c.tensor("weight"),
                        {.padding_row = padding < 0 ? std::nullopt : std::optional(padding),
                         .scale_by_frequency = c.flag("scale_grad_by_freq", false)});
     }},
    {"aten.gather.default",
     [](const Call& c) {
       c.flag("sparse_grad", false);
       return gather(c.tensor("self"), c.axis("dim"), c.tensor("index"));
     }},
    {"aten.index.Tensor",
     [](const Call& c) { return index(c.tensor("self"), c.tensors("indices")); }},
    {"aten.index_select.default",
     [](const Call& c) {
       return index_select(c.tensor("self"), c.axis("dim"), c.tensor("index"));
     }},
    {"aten.take.default", [](const Call& c) { return take(c.tensor("self"), c.tensor("index")); }},
    {"aten.index_put.default", by<put_by_index>},
    {"aten.index_copy.default",
     [](const Call& c) {
       return index_copy(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.tensor("source"));
     }},
    {"aten.index_fill.int_Scalar",
     [](const Call& c) {
       return index_fill(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.operand("value"));
     }},
    {"aten.scatter.src", by<scattered>},
    {"aten.scatter.value", by<scattered>},
    {"aten.nonzero.default", [](const Call& c) { return nonzero(c.tensor("self")); }},
    {"aten.masked_select.default",
     [](const Call& c) { return masked_select(c.tensor("self"), c.tensor("mask")); }},
    {"aten.masked_scatter.default",
     [](const Call& c) {
       return masked_scatter(c.tensor("self"), c.tensor("mask"), c.tensor("source"));
     }},
    {"aten.diagonal.default",
     [](const Call& c) {
       return diagonal(c.tensor("self"), c.integer("offset", 0), c.axis("dim1", 0),
                       c.axis("dim2", 1));
     }},
    {"aten.diagonal_scatter.default",
     [](const Call& c) {
       return diagonal_scatter(c.tensor("self"), source_of(c), c.integer("offset", 0),
                               c.axis("dim1", 0), c.axis("dim2", 1));
     }},
    {"aten.diag_embed.default",
     [](const Call& c) {
       return diag_embed(c.tensor("self"), c.integer("offset", 0), c.axis("dim1", -2),
                         c.axis("dim2", -1));
     }},
    {"aten.as_strided.default",
     [](const Call& c) {
       return as_strided(storage_of(c), c.integers("size"), c.integers("stride"),
                         c.integer("storage_offset", 0));
     }},
    {"aten.as_strided_scatter.default", by<scattered_by_strides>},
    {"aten.flip.default", [](const Call& c) { return flip(c.tensor("self"), c.axes("dims")); }},
    {"aten.roll.default",
     [](const Call& c) { return roll(c.tensor("self"), c.integers("shifts"), c.axes("dims")); }},
    {"aten.tril.default",
     [](const Call& c) { return tril(c.tensor("self"), c.integer("diagonal", 0)); }},
    {"aten.triu.default",
     [](const Call& c) { return triu(c.tensor("self"), c.integer("diagonal", 0)); }},
    {"aten.unfold.default",
     [](const Call& c) {
       return unfold(c.tensor("self"), c.axis("dimension"), c.integer("size"), c.integer("step"));
     }},
    {"aten.slice_scatter.default",
     [](const Call& c) {
       return slice_scatter(c.tensor("self"), source_of(c), c.axis("dim", 0), bound(c, "start"),
                            bound(c, "end"), c.integer("step", 1));
     }},
    {"aten.select_scatter.default",
     [](const Call& c) {
       return select_scatter(c.tensor("self"), source_of(c), c.axis("dim"), c.integer("index"));
     }},
    {"aten.constant_pad_nd.default",
     [](const Call& c) {
       return graph::padded(c.tensor("self"), c.integers("pad"), c.scalar("value", 0));
     }},
    {"aten.searchsorted.Tensor", by<searched>},
    {"aten.searchsorted.Scalar", by<searched>},
    {"aten.bucketize.Tensor", by<bucketized>},
    {"aten.bucketize.Scalar", by<bucketized>},
    {"aten.embedding_renorm.default",
     [](const Call& c) {
       return embedding_renorm(c.tensor("self"), c.tensor("indices"), c.number("max_norm"),
                               c.number("norm_type"));
     }},
    {"aten.repeat_interleave.Tensor",
     [](const Call& c) {
       return numbers_repeated(c.tensor("repeats"), c.integer("output_size", -1));
     }},
    {"aten.repeat_interleave.self_Tensor", by<elements_repeated>},
    {"aten.im2col.default", by<columns_of_windows>},
    {"aten.col2im.default", by<sum_of_windows>},
};

}  // namespace
}  // namespace indexing_rows

std::span<const Operator> indexing_operators() { return indexing_rows::rows; }

}  // namespace tilewright::exported
