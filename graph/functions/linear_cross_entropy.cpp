#include "graph/functions/linear_cross_entropy.h"

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/creation.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/functions/named/named_function.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::DerivativeCall;
using graph::FunctionCall;
using std::source_location;

namespace {

// Logits, and gradients of as many, are in memory for this share of the rows at a time, and for so
// many rows at least, since each turn goes through the whole table, packed from so many on.
constexpr std::int64_t shares_of_rows = 22, least_rows = 48, block_of_rows = 8;

// The operands of both functions, in this order; the gradient's last one is its cotangent.
struct Site {
  enum Place : std::size_t { rows, table, targets, bias, weight, cotangent };

  explicit Site(const FunctionCall& call)
      : call(call),
        where(call.where),
        carried(accumulator(call[rows].dtype())),
        classes(call[table].size(0)),
        share(call.settings.number("label_smoothing")),
        ignored(call.settings.integer("ignore_index")) {
    if (!call[weight].defined()) return;
    weights = call[weight].to(carried, where);
    sum_of_weights = sum({weights, where});
  }

  const FunctionCall& call;
  source_location where;
  DType carried;
  std::int64_t classes;
  double share;
  std::int64_t ignored;
  Tensor weights, sum_of_weights;
};

// Some rows, their targets, and, for gradients, their cotangents.
class Rows {
 public:
  Rows(const Site& site, const Tensor& x, const Tensor& targets) : site_(site), x_(x) {
    const source_location w = site.where;
    logits_ = matmul({x, w}, site.call[Site::table].permute({1, 0}, w), site.carried);
    if (site.call[Site::bias].defined())
      logits_ = logits_ + site.call[Site::bias].to(site.carried, w);
    const Tensor top = amax({logits_, w}, {1}, true);
    normaliser_ = top + log({sum({exp({logits_ - top, w}), w}, {1}, true), w});
    const Tensor counts = (targets != site.ignored).unsqueeze(1, w);
    is_target_ = targets.unsqueeze(1, w) == arange(0, site.classes, 1, targets.dtype(), w);
    const double own = 1 - site.share, each = site.share / static_cast<double>(site.classes);
    if (site.weights.defined()) {
      const Tensor of_target =
          sum({where({is_target_, w}, site.weights.unsqueeze(0, w), 0.0), w}, {1}, true);
      of_target_ = where({counts, w}, of_target * own, 0.0);
      of_all_ = where({counts, w}, of_target * own + site.sum_of_weights * each, 0.0);
    } else {
      of_target_ = where({counts, w}, full_like(normaliser_, own), 0.0);
      of_all_ = where({counts, w}, full_like(normaliser_, 1.0), 0.0);
    }
    of_each_ = where({counts, w}, full_like(normaliser_, each), 0.0);
  }

  // [rows]
  Tensor losses() const {
    const source_location w = site_.where;
    const Tensor own = sum({where({is_target_, w}, logits_, 0.0), w}, {1}, true);
    Tensor loss = normaliser_ * of_all_ - own * of_target_;
    if (site_.share != 0) {
      const Tensor weighed = site_.weights.defined() ? logits_ * site_.weights : logits_;
      loss = loss - sum({weighed, w}, {1}, true) * of_each_;
    }
    // An ignored row counts nothing, whatever its logits are.
    return where({of_all_ != 0.0, w}, loss, 0.0).squeeze(1, w);
  }

  // The gradients of the logits, in the dtype of products.
  Tensor gradients(const Tensor& cotangents) const {
    const source_location w = site_.where;
    const Tensor of_row = cotangents.to(site_.carried, w).unsqueeze(1, w);
    Tensor gradient = exp({logits_ - normaliser_, w}) * (of_all_ * of_row) -
                      where({is_target_, w}, of_target_ * of_row, 0.0);
    if (site_.share != 0) {
      Tensor spread = of_each_ * of_row;
      gradient = gradient - (site_.weights.defined() ? spread * site_.weights : spread);
    }
    // That of an ignored row is 0, also where its cotangent is not finite.
    return where({of_all_ != 0.0, w}, gradient, 0.0).to(x_.dtype(), w);
  }

 private:
  const Site& site_;
  const Tensor& x_;
  Tensor logits_, normaliser_, is_target_;
  Tensor of_target_, of_all_, of_each_;  // factors of a row's loss: [rows, 1]
};

// How many rows a turn has: whole blocks of the products.
std::int64_t rows_at_once(std::int64_t rows) {
  const std::int64_t share = std::max(least_rows, rows / shares_of_rows);
  return std::min(rows, share - share % block_of_rows);
}

// Goes through all rows, so many in each turn; the last turn may have more than are left, which are
// filled up.
struct Course {
  std::int64_t rows, each, turns;
  explicit Course(std::int64_t rows)
      : rows(rows), each(rows_at_once(rows)), turns(each == 0 ? 0 : divide_up(rows, each)) {}

  Tensor parts(const Tensor& x, double filling, source_location w) const {
    Shape missing = x.shape(), sizes = x.shape();
    missing[0] = turns * each - rows;
    sizes[0] = each;
    sizes.insert(sizes.begin(), turns);
    const Tensor all = missing[0] == 0 ? x : cat({x, full(missing, filling, x.dtype(), w)}, 0, w);
    return all.reshape(sizes, w);
  }
  Tensor joined(const Tensor& parts, source_location w) const {
    Shape sizes = parts.shape();
    sizes.erase(sizes.begin());
    sizes[0] = turns * each;
    return parts.reshape(sizes, w).slice(0, 0, rows, 1, w);
  }
};

std::vector<Tensor> losses_of(const FunctionCall& call) {
  const Site site(call);
  const source_location w = call.where;
  const Tensor &x = call[Site::rows], &targets = call[Site::targets];
  const auto ignored = static_cast<double>(site.ignored);
  const Course course(x.size(0));
  if (course.turns <= 1) return {Rows(site, x, targets).losses()};
  const auto [state, of_turns] = scan(
      [&](const Tensors& carried, const Tensors& part) -> Turn {
        return {carried, {Rows(site, part[0], part[1]).losses()}};
      },
      {}, {course.parts(x, 0, w), course.parts(targets, ignored, w)}, {}, w);
  return {course.joined(of_turns[0], w)};
}

// The losses, and the gradients of rows, table and bias.
std::vector<Tensor> gradients_of(const FunctionCall& call) {
  const Site site(call);
  const source_location w = call.where;
  const Tensor &x = call[Site::rows], &table = call[Site::table];
  const bool has_bias = call[Site::bias].defined();
  if (x.size(0) == 0) {
    std::vector<Tensor> none = {zeros({0}, site.carried, w)};
    for (Site::Place place : {Site::rows, Site::table, Site::bias})
      if (call[place].defined()) none.push_back(zeros(call[place].shape(), call[place].dtype(), w));
    return none;
  }
  const Course course(x.size(0));
  auto turn = [&](const Tensors& sums, const Tensors& part) -> Turn {
    const Rows rows(site, part[0], part[1]);
    const Tensor gradient = rows.gradients(part[2]);
    Turn result;
    result.carried = {sums[0] + matmul({gradient.permute({1, 0}, w), w}, part[0], site.carried)};
    if (has_bias) result.carried.push_back(sums[1] + sum({gradient.to(site.carried, w), w}, {0}));
    result.given = {rows.losses(), matmul({gradient, w}, table, site.carried).to(x.dtype(), w)};
    return result;
  };
  Tensors sums = {zeros(table.shape(), site.carried, w)};
  if (has_bias) sums.push_back(zeros({site.classes}, site.carried, w));
  const Tensor targets = course.parts(call[Site::targets], static_cast<double>(site.ignored), w),
               cotangents = course.parts(call[Site::cotangent], 0, w);
  const auto [carried, given] =
      scan(turn, sums, {course.parts(x, 0, w), targets, cotangents}, {}, w);
  std::vector<Tensor> results = {course.joined(given[0], w), course.joined(given[1], w),
                                 carried[0].to(table.dtype(), w)};
  if (has_bias) results.push_back(carried[1].to(call[Site::bias].dtype(), w));
  return results;
}

std::vector<Tensor> derivative_of_losses(const DerivativeCall& call);

}  // namespace

namespace graph::named {
extern const NamedFunction linear_cross_entropy_function, linear_cross_entropy_gradient_function;
const NamedFunction linear_cross_entropy_function("linear_cross_entropy", losses_of,
                                                  derivative_of_losses);
const NamedFunction linear_cross_entropy_gradient_function("linear_cross_entropy_gradient",
                                                           gradients_of);
}  // namespace graph::named

namespace {

std::vector<Tensor> derivative_of_losses(const DerivativeCall& call) {
  std::vector<Tensor> operands(call.operands.begin(), call.operands.end());
  operands.push_back(call.cotangents[0]);
  const std::vector<Tensor> found = graph::named::linear_cross_entropy_gradient_function(
      std::span<const Tensor>(operands),
      {{"label_smoothing", call.settings.number("label_smoothing")},
       {"ignore_index", call.settings.integer("ignore_index")}},
      call.where);
  std::vector<Tensor> result(call.operands.size());
  result[Site::rows] = found[1];
  result[Site::table] = found[2];
  if (call[Site::bias].defined()) result[Site::bias] = found[3];
  return result;
}

void require_fitting(const Tensor& x, const Tensor& table, const Tensor& targets,
                     const LinearCrossEntropyOptions& options, source_location w) {
  constexpr const char* name = "[linear_cross_entropy] ";
  require(is_floating(x.dtype()) && x.dtype() == table.dtype(), name, "x is ", x.dtype(),
          ", the table ", table.dtype(), " (at ", At{w}, "); both must be of one floating type");
  require(x.rank() == 2 && table.rank() == 2 && x.size(1) == table.size(1), name, "x is ",
          x.shape(), ", the table ", table.shape(), " (at ", At{w},
          "); they must be [rows, columns] and [classes, columns]");
  require(targets.dtype() == DType::i32 || targets.dtype() == DType::i64, name, "targets are ",
          targets.dtype(), " (at ", At{w}, "); they must be i32, i64 or u8");
  require(targets.shape() == Shape{x.size(0)}, name, "targets are ", targets.shape(), " (at ",
          At{w}, "); there must be one a row, [", x.size(0), "]");
  for (const Tensor& each : {options.bias, options.weight})
    require(!each.defined() || (each.shape() == Shape{table.size(0)} && is_floating(each.dtype())),
            name, "a bias or weight is ", each.defined() ? each.dtype() : x.dtype(), " ",
            each.defined() ? each.shape() : Shape{}, " (at ", At{w}, "); it must be floating, [",
            table.size(0), "]");
  require(options.label_smoothing >= 0 && options.label_smoothing <= 1, name, "label_smoothing is ",
          options.label_smoothing, " (at ", At{w}, "); it must be in [0, 1]");
}

// In the dtype that it is computed in.
Tensor loss_of(const TensorOperand& x, const Tensor& table, const Tensor& targets,
               const LinearCrossEntropyOptions& options) {
  const source_location w = x.where;
  const Tensor& rows = graph::tensor_of(x, "linear_cross_entropy");
  Tensor named = graph::tensor_of({targets, w}, "linear_cross_entropy");
  if (named.dtype() == DType::u8) named = named.to(DType::i64, w);
  require_fitting(rows, graph::tensor_of({table, w}, "linear_cross_entropy"), named, options, w);
  const std::int64_t classes = table.size(0), ignored = options.ignore_index;
  graph::require_inside(
      named, {"linear_cross_entropy", graph::IndexRange::Noun::target, 0, classes, w, ignored});
  Tensor loss = graph::named::linear_cross_entropy_function(
      {rows, table, named, options.bias, options.weight},
      {{"label_smoothing", options.label_smoothing}, {"ignore_index", ignored}}, w)[0];
  if (options.reduction == LossReduction::none) return loss;
  loss = sum({loss, w});
  if (options.reduction == LossReduction::mean) {
    const Tensor counts = named != ignored;
    Tensor divisor = counts.to(loss.dtype(), w);
    if (options.weight.defined()) {
      const Tensor row = where({counts, w}, named, 0);
      const Tensor of_row = embedding({row, w}, options.weight.reshape({classes, 1}, w));
      divisor = divisor * of_row.reshape({rows.size(0)}, w).to(loss.dtype(), w);
    }
    loss = loss / sum({divisor, w});
  }
  return loss;
}

}  // namespace

Tensor linear_cross_entropy(const TensorOperand& x, const Tensor& table, const Tensor& targets,
                            const LinearCrossEntropyOptions& options) {
  const source_location w = x.where;
  LinearCrossEntropyOptions settings = options;
  if (options.weight.defined()) {
    graph::Attributes constant;
    constant.custom = graph::stop_gradient_op();
    settings.weight = graph::apply(graph::Op::custom_formula, {options.weight}, constant, w);
  }
  // The linear layer is listed, and the loss is not: it stays as wide as it is computed.
  if (const graph::AutocastCall cast("linear", w); cast.is_listed()) {
    if (options.bias.defined()) settings.bias = cast(options.bias);
    return loss_of(cast(x), cast(table), targets, settings);
  }
  return loss_of(x, table, targets, settings).to(x.tensor.dtype(), w);
}

}  // namespace tilewright
