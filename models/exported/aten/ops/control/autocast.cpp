#include "models/exported/aten/ops/control/autocast.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// The lists of PyTorch's documentation ("CPU Op-Specific Behavior"), of what is supported, with
// operators that are made of such ones.
constexpr auto in_few_bits = std::to_array<std::string_view>({"_convolution",
                                                              "addbmm",
                                                              "addmm",
                                                              "baddbmm",
                                                              "bmm",
                                                              "chain_matmul",
                                                              "conv1d",
                                                              "conv2d",
                                                              "conv3d",
                                                              "conv_tbc",
                                                              "conv_transpose1d",
                                                              "conv_transpose2d",
                                                              "conv_transpose3d",
                                                              "einsum",
                                                              "inner",
                                                              "linalg_multi_dot",
                                                              "linalg_vecdot",
                                                              "linear",
                                                              "matmul",
                                                              "mm",
                                                              "prelu",
                                                              "scaled_dot_product_attention",
                                                              "tensordot"});
constexpr auto in_f32 = std::to_array<std::string_view>({"_lu_with_info",
                                                         "adaptive_avg_pool3d",
                                                         "adaptive_max_pool3d",
                                                         "avg_pool3d",
                                                         "binary_cross_entropy",
                                                         "binary_cross_entropy_with_logits",
                                                         "cdist",
                                                         "cholesky",
                                                         "cholesky_inverse",
                                                         "cholesky_solve",
                                                         "cosine_embedding_loss",
                                                         "cross_entropy_loss",
                                                         "ctc_loss",
                                                         "fractional_max_pool2d",
                                                         "fractional_max_pool3d",
                                                         "geqrf",
                                                         "grid_sampler",
                                                         "hinge_embedding_loss",
                                                         "huber_loss",
                                                         "inverse",
                                                         "kl_div",
                                                         "l1_loss",
                                                         "linalg_cholesky",
                                                         "linalg_cholesky_ex",
                                                         "linalg_householder_product",
                                                         "linalg_inv",
                                                         "linalg_inv_ex",
                                                         "linalg_qr",
                                                         "linalg_solve",
                                                         "linalg_tensorinv",
                                                         "linalg_tensorsolve",
                                                         "lu_solve",
                                                         "margin_ranking_loss",
                                                         "max_pool3d",
                                                         "max_unpool2d",
                                                         "max_unpool3d",
                                                         "mse_loss",
                                                         "multi_margin_loss",
                                                         "multilabel_margin_loss",
                                                         "nanquantile",
                                                         "nll_loss",
                                                         "nll_loss2d",
                                                         "nll_loss_nd",
                                                         "ormqr",
                                                         "poisson_nll_loss",
                                                         "prod",
                                                         "quantile",
                                                         "reflection_pad1d",
                                                         "reflection_pad2d",
                                                         "replication_pad1d",
                                                         "replication_pad2d",
                                                         "replication_pad3d",
                                                         "smooth_l1_loss",
                                                         "soft_margin_loss",
                                                         "trace",
                                                         "triangular_solve",
                                                         "triplet_margin_loss"});
constexpr auto in_the_widest = std::to_array<std::string_view>({"cat", "index_copy", "stack"});
// Which are made of operators of several kinds.
constexpr auto mixed = std::to_array<std::string_view>({"gru", "lstm", "rnn_relu", "rnn_tanh"});

bool has(auto names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Between the dots: "linear" of "aten.linear.default".
std::string_view function_of(std::string_view target) {
  const std::size_t first = target.find('.');
  if (first == target.npos) return target;
  target.remove_prefix(first + 1);
  return target.substr(0, target.find('.'));
}

// With elements of its own at the borders, by one of several operators.
bool is_pad_by_elements(const Node& node) {
  if (function_of(node.target) != "pad") return false;
  for (const Argument& argument : node.arguments)
    if (auto* mode = std::get_if<std::string>(&argument.value)) return *mode != "constant";
  return false;
}

bool is_cast(DType dtype) { return is_floating(dtype) && size_bytes(dtype) <= 4; }

}  // namespace

std::vector<std::pair<ValueId, Value>> autocast(const Node& node, std::span<const Value> values,
                                                DType dtype) {
  const std::string_view function = function_of(node.target);
  const bool is_graph =
      node.target.starts_with("higher_order.") && function != "wrap_with_autocast";
  require(!is_graph && !has(mixed, function) && !is_pad_by_elements(node), "[exported] ",
          json::excerpt(node.target),
          " within torch.autocast is not supported; export the program without one of them");
  const bool is_widest = has(in_the_widest, function);
  DType wanted = has(in_few_bits, function) ? dtype : f32;
  if (!is_widest && !has(in_few_bits, function) && !has(in_f32, function)) return {};
  std::map<ValueId, Tensor> tensors;
  for_each_used(node, [&](ValueId id) {
    auto* tensor = std::get_if<Tensor>(&values[static_cast<std::size_t>(id)]);
    if (tensor != nullptr && tensor->defined() && is_cast(tensor->dtype()))
      tensors.emplace(id, *tensor);
  });
  // Few bits of one kind stay where no tensor has more.
  if (is_widest &&
      std::ranges::none_of(tensors, [](const auto& x) { return x.second.dtype() == f32; }))
    return {};
  std::vector<std::pair<ValueId, Value>> cast;
  for (const auto& [id, tensor] : tensors) cast.emplace_back(id, tensor.to(wanted));
  return cast;
}

}  // namespace tilewright::exported
