// The meaning of operators with a complex argument: a function of their own (the rows of this
// folder), or their meaning for real tensors, applied to the parts that the lists below say. These
// have names without the library, and without overloads, "sum" for "aten.sum.default", where all of
// them are meant.
#include <span>
#include <string_view>
#include <unordered_map>

#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace {

using How = ComplexMeaning::How;

// Linear in all arguments that are complex, or where elements lie alone.
constexpr std::string_view of_parts[] = {
    "_chunk_cat",
    "_unsafe_index",
    "_unsafe_index_put",
    "_unsafe_view",
    "add",
    "alias",
    "as_strided",
    "as_strided_scatter",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "broadcast_to",
    "cartesian_prod",
    "cat",
    "channel_shuffle",
    "chunk",
    "clone",
    "column_stack",
    "combinations",
    "constant_pad_nd",
    "contiguous",
    "copy",
    "cumsum",
    "cumulative_trapezoid.dx",
    "detach",
    "detach_",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "dsplit",
    "dstack",
    "embedding",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "expand",
    "expand_as",
    "fft_fftshift",
    "fft_ifftshift",
    "fill",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "full",
    "full_like",
    "gather",
    "gradient.array",
    "gradient.scalararray",
    "gradient.scalarint",
    "gradient.scalarrayarray",
    "gradient.scalarrayint",
    "hsplit",
    "hstack",
    "im2col",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "lift_fresh",
    "lift_fresh_copy",
    "linalg_diagonal",
    "mT",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "mean",
    "meshgrid",
    "movedim",
    "nan_to_num",
    "narrow",
    "narrow_copy",
    "neg",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_zeros",
    "numpy_T",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "positive",
    "put",
    "ravel",
    "reflection_pad1d",
    "reflection_pad2d",
    "repeat",
    "repeat_interleave",
    "replication_pad1d",
    "replication_pad2d",
    "reshape",
    "reshape_as",
    "resize",
    "resize_as",
    "resolve_conj",
    "resolve_neg",
    "roll",
    "rot90",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "select",
    "select_scatter",
    "slice",
    "slice_scatter",
    "split",
    "split_with_sizes",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "sum_to_size",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tensor_split",
    "tile",
    "trace",
    "transpose",
    "trapezoid.dx",
    "tril",
    "triu",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "view",
    "view_as",
    "vsplit",
    "vstack",
    "where",
    "zero",
    "zeros",
    "zeros_like",
};
constexpr std::string_view of_real_parts[] = {
    "numel", "real", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride"};
constexpr std::string_view without_imaginary[] = {"eye", "new_ones", "ones", "ones_like"};
constexpr std::string_view of_magnitudes[] = {"frobenius_norm", "linalg_vector_norm", "norm"};
constexpr std::string_view of_truth[] = {
    "all",        "any",         "argwhere", "count_nonzero", "logical_and",
    "logical_or", "logical_xor", "nonzero",  "nonzero_numpy", "nonzero_static"};
constexpr std::string_view same[] = {"higher_order.wrap_with_autocast",
                                     "higher_order.wrap_with_set_grad_enabled"};

struct SameMeaning {
  How how;
  std::span<const std::string_view> names;
};
constexpr SameMeaning same_meanings[] = {
    {How::of_parts, of_parts},
    {How::of_real_parts, of_real_parts},
    {How::of_real_part_without_imaginary, without_imaginary},
    {How::of_magnitudes, of_magnitudes},
    {How::of_truth, of_truth},
    {How::same, same},
};

// By the name of a row, or by what is left of it without the library, or without an overload, too.
using Meanings = std::unordered_map<std::string_view, ComplexMeaning>;
const Meanings& meanings_by_name() {
  static const Meanings by_name = [] {
    Meanings meanings;
    for (auto family :
         {complex_operators(), complex_function_operators(), complex_product_operators(),
          complex_convolution_operators(), fourier_operators(), short_time_operators(),
          complex_factor_operators(), spectrum_operators(), matrix_norm_operators()})
      for (const Operator& row : family) meanings.emplace(row.name, ComplexMeaning{How::row, &row});
    for (const SameMeaning& each : same_meanings)
      for (std::string_view name : each.names) meanings.emplace(name, ComplexMeaning{each.how});
    return meanings;
  }();
  return by_name;
}

// "sum.default" of "aten.sum.default".
std::string_view without_library(std::string_view row) {
  constexpr std::string_view library = "aten.";
  return row.starts_with(library) ? row.substr(library.size()) : std::string_view();
}

}  // namespace

ComplexMeaning complex_meaning(std::string_view row, bool is_known_of_reals) {
  const std::string_view overload = without_library(row);
  for (std::string_view name : {row, overload, overload.substr(0, overload.find('.'))}) {
    const auto found = meanings_by_name().find(name);
    if (found == meanings_by_name().end()) continue;
    const ComplexMeaning& meaning = found->second;
    if (meaning.how == How::row || is_known_of_reals) return meaning;
  }
  return {};
}

}  // namespace tilewright::exported
