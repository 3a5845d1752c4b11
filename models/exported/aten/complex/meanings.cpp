// The meaning of operators with a complex argument: by rows of their own (operators.cpp), or by
// their rows for real tensors. These are named without overloads, "sum" of "aten.sum.default",
// where all of them are meant.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace {

// Linear in all arguments that are complex, or where elements lie alone.
constexpr auto of_parts = std::to_array<std::string_view>({
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
    "hsplit",
    "hstack",
    "gradient.array",
    "gradient.scalararray",
    "gradient.scalarint",
    "gradient.scalarrayarray",
    "gradient.scalarrayint",
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
});
constexpr auto same = std::to_array<std::string_view>(
    {"higher_order.wrap_with_autocast", "higher_order.wrap_with_set_grad_enabled"});
constexpr auto of_real_parts = std::to_array<std::string_view>(
    {"numel", "real", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride"});
constexpr auto without_imaginary =
    std::to_array<std::string_view>({"eye", "new_ones", "ones", "ones_like"});
constexpr auto of_magnitudes =
    std::to_array<std::string_view>({"frobenius_norm", "linalg_vector_norm", "norm"});

constexpr auto of_truth = std::to_array<std::string_view>(
    {"all", "any", "argwhere", "count_nonzero", "logical_and", "logical_or", "logical_xor",
     "nonzero", "nonzero_numpy", "nonzero_static"});

template <std::size_t count>
bool has(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Behind the first dot.
std::string_view without_library(std::string_view row) {
  constexpr std::string_view library = "aten.";
  return row.starts_with(library) ? row.substr(library.size()) : std::string_view();
}
// Between the dots.
std::string_view function_of(std::string_view row) {
  row = without_library(row);
  return row.substr(0, row.find('.'));
}

using Table = std::unordered_map<std::string_view, const Operator*>;
const Table& own_rows() {
  static const Table table = [] {
    Table rows;
    for (auto family :
         {complex_operators(), complex_function_operators(), complex_product_operators(),
          complex_convolution_operators(), fourier_operators(), short_time_operators(),
          complex_factor_operators(), spectrum_operators(), matrix_norm_operators()})
      for (const Operator& row : family) rows.emplace(row.name, &row);
    return rows;
  }();
  return table;
}

}  // namespace

ComplexMeaning complex_meaning(std::string_view row, bool is_known_of_reals) {
  using How = ComplexMeaning::How;
  if (auto found = own_rows().find(row); found != own_rows().end())
    return {How::row, found->second};
  const std::string_view function = function_of(row);
  if (!is_known_of_reals) return {};
  if (has(same, row)) return {How::same};
  if (has(of_parts, function) || has(of_parts, without_library(row))) return {How::of_parts};
  if (has(of_truth, function)) return {How::of_truth};
  if (has(of_real_parts, function)) return {How::of_real_parts};
  if (has(without_imaginary, function)) return {How::of_real_part_without_imaginary};
  return has(of_magnitudes, function) ? ComplexMeaning{How::of_magnitudes} : ComplexMeaning{};
}

}  // namespace tilewright::exported
