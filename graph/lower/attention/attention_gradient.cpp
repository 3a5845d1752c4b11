// The gradients of an attention. Scores are computed again, block by block, and weights from the
// logarithms of the sums of rows that the attention left (Dao, "FlashAttention-2", 2023). Each sum
// is made by one program in one order: nothing is added up atomically. Memory is linear in rows and
// keys. There are two ways:
//
//   apart      a program for a block of rows has the gradient of these; another one, for a block of
//              keys, has those of its keys and values, and goes through all heads of the group that
//              share them. Scores are computed twice.
//   together   a host's program has all keys of a head of these, and adds to the gradients of rows
//              in memory, which stay in its cache: five products in place of seven. For as many
//              heads as there are threads.
#include <algorithm>
#include <limits>

#include "graph/lower/attention/attention_blocks.h"
#include "graph/lower/attention/attention_scores.h"
#include "graph/lower/attention/attention_shape.h"
#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

// The score of a key that a row does not see.
constexpr double hidden = -std::numeric_limits<double>::infinity();
// The rows or keys that a program has, and those that it goes through at a time: multiples of the
// blocks of accumulators of a host's packed products.
constexpr std::int64_t host_own = 192, host_passing = 64;
constexpr std::int64_t gpu_own = 32, gpu_passing = 32, gpu_function_passing = 16;
// Wide heads have accumulators of many registers.
constexpr std::int64_t gpu_wide_depth = 128;

// The largest divisor in reach, so that no block has an edge; else `most`.
std::int64_t passing_block(std::int64_t count, std::int64_t most) {
  if (count <= most) return count;
  for (std::int64_t size = most; size >= most / 2; --size)
    if (count % size == 0) return size;
  return most;
}

struct GradientBlocks {
  std::int64_t own, passing;
};

struct GradientShape {
  explicit GradientShape(const Task& task)
      : given(task.operands.size()),
        q(task.operands[0].view),
        k(task.operands[1].view),
        v(task.operands[2].view),
        gradient(task.operands[given.gradient].view),
        sums(task.operands[given.sums].view),
        products(task.operands[given.products].view),
        batch(q.shape[0]),
        heads(q.shape[1]),
        rows(q.shape[2]),
        key_heads(k.shape[1]),
        keys(k.shape[2]),
        depth(q.shape[3]),
        group(heads / key_heads) {}

  GradientOperands given;
  StridedView q, k, v, gradient, sums, products;
  std::int64_t batch, heads, rows, key_heads, keys, depth;
  std::int64_t group;  // heads that share keys
};

enum class GradientsOf : std::uint8_t { rows, keys, both };

const char* name_of(GradientsOf results) {
  switch (results) {
    case GradientsOf::rows: return "attention_gradient_of_rows";
    case GradientsOf::keys: return "attention_gradient_of_keys";
    case GradientsOf::both: return "attention_gradient";
  }
  __builtin_unreachable();
}

class GradientProgram {
 public:
  GradientProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                  GradientsOf results)
      : list_(list),
        target_(target),
        task_(list.tasks[region.tasks[0]]),
        attributes_(task_.attributes),
        shape_(task_),
        results_(results),
        has_keys_(results != GradientsOf::rows),
        block_(blocks()),
        tracer_(name_of(results)),
        parameters_(tracer_, list, region) {}

  LoweredProgram emit() {
    for (const TaskOperand& operand : task_.operands) parameters_.add(operand.storage);
    if (has_keys_)
      for (const TaskResult& result : task_.others) parameters_.add(result.storage);
    if (results_ != GradientsOf::keys) parameters_.add(task_.storage);
    if (has_row_sums()) row_sums_ = parameters_.add_scratch(0, scratch()[0]);
    const std::int64_t own = has_keys_ ? shape_.keys : shape_.rows;
    const std::int64_t blocks = has_all() ? 1 : divide_up(own, block_.own);
    ProgramGrid programs =
        open_grid({blocks, has_keys_ ? shape_.key_heads : shape_.heads, shape_.batch}, target_);
    batch_ = programs.index[2];
    if (is_causal()) position_ = position_of(task_, parameters_, batch_);
    // The last block is moved back to end with the others: rows that it shares are made twice.
    const Tile& block = programs.index[0];
    first_ =
        block.defined() ? Tile(dsl::minimum(block * block_.own, own - block_.own)) : integer(0);
    const Tile& head = programs.index[1];
    if (has_all())
      of_all(head);
    else if (has_keys_)
      of_keys(head);
    else
      of_rows(head);
    return {tracer_.finish(), programs.grid, parameters_.memory()};
  }

  // The sums of rows, where these have more bits than the result.
  std::vector<Scratch> scratch() const {
    if (!has_row_sums()) return {};
    return {{carried(), shape_.batch * shape_.heads * shape_.rows * shape_.depth}};
  }

 private:
  DType carried() const { return accumulator(task_.dtype); }
  bool is_causal() const { return attributes_.causal; }
  bool has_all() const { return results_ == GradientsOf::both; }
  bool has_row_sums() const { return has_all() && carried() != task_.dtype; }

  GradientBlocks blocks() const {
    const std::int64_t own = has_keys_ ? shape_.keys : shape_.rows,
                       passing = has_keys_ ? shape_.rows : shape_.keys;
    if (!target_.is_gpu()) return {std::min(own, host_own), passing_block(passing, host_passing)};
    std::int64_t most = gpu_passing;
    if (has_function(task_) || bit_width(task_.dtype) == 64 || shape_.depth >= gpu_wide_depth)
      most = gpu_function_passing;
    if (!list_.on_tensor_cores(task_.dtype))
      return {std::min(own, gpu_own), passing_block(passing, most)};
    // Fewer are filled up, for tensor cores.
    return {std::clamp(own, few_rows, gpu_own), std::max(few_rows, passing_block(passing, most))};
  }

  // Where the batch's and a head's part of a value begins.
  Tile begin(std::size_t operand, const StridedView& place, const Tile& head) const {
    return parameters_.pointer(task_.operands[operand].storage) + offset(place, head);
  }
  Offset offset(const StridedView& place, const Tile& head) const {
    Offset offset(place.offset);
    if (batch_.defined()) offset.add(batch_, place.strides[0]);
    if (head.defined()) offset.add(head, place.strides[1]);
    return offset;
  }
  // The elements of a head, [rows, depth], or [depth, rows] where they are turned.
  Matrix matrix(std::size_t operand, const StridedView& place, const Tile& head,
                bool turned = false) const {
    const std::int64_t count = place.shape[2], by_row = place.strides[2],
                       by_column = place.strides[3];
    Tile base = begin(operand, place, head);
    if (turned) return {base, shape_.depth, count, by_column, by_row, target_.is_gpu()};
    return {base, count, shape_.depth, by_row, by_column, target_.is_gpu()};
  }
  // The numbers of a block of rows, as a column, or as a row where keys come first.
  Tile numbers(std::size_t operand, const StridedView& place, const Tile& head, const Tile& row,
               std::int64_t count) const {
    Tile base = begin(operand, place, head);
    if (has_keys_)
      return Matrix{base, 1, shape_.rows, 1, place.strides[2]}.load(0, row, {1, count});
    return Matrix{base, shape_.rows, 1, place.strides[2], 1}.load(row, 0, {count, 1});
  }

  AttentionScores scores(const Tile& head, const Tile& row) const {
    const AttentionOperands given = operands_of_attention(task_);
    std::vector<ScoreOperand> operands;
    for (std::size_t i = given.mask != 0 ? given.mask : given.of_scores; i < shape_.given.gradient;
         ++i) {
      const StridedView& place = task_.operands[i].view;
      const std::int64_t by_row = place.strides[2], by_key = place.strides[3];
      Tile base = begin(i, place, head);
      if (has_keys_)
        operands.push_back({{base, shape_.keys, shape_.rows, by_key, by_row, target_.is_gpu()},
                            by_key != 0,
                            by_row != 0});
      else
        operands.push_back({{base, shape_.rows, shape_.keys, by_row, by_key, target_.is_gpu()},
                            by_row != 0,
                            by_key != 0});
    }
    if (!has_function(task_)) return {task_, std::move(operands), std::nullopt, has_keys_};
    auto known = [](const Tile& place) {
      return place.defined() ? dsl::cast(place, DType::i32)
                             : dsl::constant(ir::Scalar::of_integer(DType::i32, 0));
    };
    return {task_, std::move(operands),
            AttentionScores::Places{known(batch_), known(head), rows_of_block() + known(row)},
            has_keys_};
  }

  std::int64_t row_count() const { return has_keys_ ? block_.passing : block_.own; }
  std::int64_t key_count() const { return has_keys_ ? block_.own : block_.passing; }
  Tile rows_of_block() const {
    const std::int64_t n = row_count();
    return dsl::reshape(dsl::arange(0, n), has_keys_ ? Shape{1, n} : Shape{n, 1});
  }
  Tile keys_of_block() const {
    const std::int64_t n = key_count();
    return dsl::reshape(dsl::arange(0, n), has_keys_ ? Shape{n, 1} : Shape{1, n});
  }

  // The scores that exist and are seen, as bools; undefined if all are.
  Tile visible(const Tile& row, const Tile& column) const {
    Tile result;
    auto see = [&](const Tile& also) { result = result.defined() ? result & also : also; };
    auto narrow = [](const Tile& x) { return dsl::cast(x, DType::i32); };
    const std::int64_t passing = has_keys_ ? shape_.rows : shape_.keys;
    if (passing % block_.passing != 0)
      see(has_keys_ ? rows_of_block() < narrow(shape_.rows - row)
                    : keys_of_block() < narrow(shape_.keys - column));
    if (!is_causal()) return result;
    const Tile last = rows_of_block() + narrow(row + position_ - column), key = keys_of_block();
    see(key <= last);
    if (attributes_.window != 0) see(key > last - attributes_.window);
    return result;
  }

  struct Weighed {
    Tile weights, gradient;  // of the products of q and k, before the scale
  };
  // The weights and their gradients, from the products of q and k and those of gradient and v.
  Weighed weighed(const Tile& products, const Tile& mixed, const Tile& head, const Tile& row,
                  const Tile& column) const {
    const double cap = attributes_.cap;
    Tile bent, scaled;
    if (cap == 0) {
      scaled = products * attributes_.number;
    } else {
      bent = dsl::tanh(products * (attributes_.number / cap));
      scaled = bent * cap;
    }
    const AttentionScores all = scores(head, row);
    Tile seen = all.of(scaled, row, column, false);
    const Tile inside = visible(row, column);
    if (inside.defined()) seen = dsl::where(inside, seen, dsl::full({1, 1}, hidden, carried()));
    const GradientOperands& given = shape_.given;
    Tile sums = numbers(given.sums, shape_.sums, head, row, row_count());
    Tile total = numbers(given.products, shape_.products, head, row, row_count());
    Tile weights = dsl::exp(seen - sums);
    Tile gradient = weights * (mixed - total);
    if (has_function(task_)) {
      gradient = all.gradient(scaled, gradient, row, column);
      // Its slope may be infinite beyond the last row or key, where operands are read as 0.
      if (inside.defined()) gradient = dsl::where(inside, gradient, 0);
    }
    if (cap != 0) gradient = gradient * (1.0 - bent * bent);
    return {to_operand(weights), to_operand(gradient)};
  }
  Tile to_operand(const Tile& x) const {
    return x.dtype() == task_.dtype ? x : dsl::cast(x, task_.dtype);
  }
  void store(const Matrix& to, const Tile& sum) const { to.store(first_, 0, to_operand(sum)); }
  Tile product(const Tile& a, const Tile& b) const {
    return dsl::dot(a, b, 0, list_.precision_of(task_.dtype));
  }
  Tile product(const Tile& a, const Tile& b, const Tile& sum) const {
    return dsl::dot(a, b, sum, list_.precision_of(task_.dtype));
  }

  void of_rows(const Tile& head) {
    const std::int64_t depth = shape_.depth, step = block_.passing;
    const Tile key_head = head.defined() && shape_.group > 1
                              ? (shape_.key_heads > 1 ? Tile(head / shape_.group) : Tile())
                              : head;
    const Matrix keys = matrix(1, shape_.k, key_head), turned = matrix(1, shape_.k, key_head, true),
                 values = matrix(2, shape_.v, key_head, true);
    const Tile q = matrix(0, shape_.q, head).load(first_, 0, {block_.own, depth});
    const Tile gradient =
        matrix(shape_.given.gradient, shape_.gradient, head).load(first_, 0, {block_.own, depth});
    Tile begin = integer(0), end = integer(shape_.keys);
    if (is_causal()) {
      const Tile next = first_ + position_ + std::min(shape_.rows, block_.own);
      end = dsl::minimum(next, end);
      if (attributes_.window != 0)
        begin = dsl::maximum(first_ + position_ - (attributes_.window - 1), 0) / step * step;
    }
    Var sum = dsl::zeros({block_.own, depth}, carried());
    for (Tile column : dsl::range(begin, end, step)) {
      Tile products = product(q, turned.load(0, column, {depth, step}));
      Tile mixed = product(gradient, values.load(0, column, {depth, step}));
      const Weighed here = weighed(products, mixed, head, first_, column);
      sum = product(here.gradient, keys.load(column, 0, {step, depth}), sum);
    }
    Matrix result = rows_result(head);
    result.coalesces = target_.is_gpu();
    store(result, sum * attributes_.number);
  }

  // Calls `visit` for each head of the group that shares `key_head`.
  template <typename Visit>
  void for_group(const Tile& key_head, Visit visit) {
    if (shape_.group == 1) return visit(key_head);
    for (Tile member : dsl::range(0, shape_.group, 1))
      visit(key_head.defined() ? key_head * shape_.group + member : member);
  }

  // The memory of the gradients of a head's rows, and that in which they are added up.
  Matrix rows_result(const Tile& head) const {
    const StridedView& place = task_.place;
    return {parameters_.pointer(task_.storage) + offset(place, head), shape_.rows, shape_.depth,
            place.strides[2], place.strides[3]};
  }
  Matrix row_sums(const Tile& head) const {
    if (!has_row_sums()) return rows_result(head);
    const StridedView place = row_major({shape_.batch, shape_.heads, shape_.rows, shape_.depth});
    return {row_sums_ + offset(place, head), shape_.rows, shape_.depth, shape_.depth, 1};
  }

  void of_all(const Tile& key_head) {
    const std::int64_t step = block_.passing, depth = shape_.depth, all = shape_.keys;
    for_group(key_head, [&](const Tile& head) {
      for (Tile row : dsl::range(0, shape_.rows, step))
        row_sums(head).store(row, 0, dsl::zeros({step, depth}, carried()));
    });
    // The rest of the keys has a block of its own, since each of them adds to rows once.
    const std::int64_t whole = all / block_.own * block_.own;
    for (Tile key : dsl::range(0, whole, block_.own)) {
      first_ = key;
      of_keys(key_head);
    }
    if (whole < all) {
      block_.own = all - whole;
      first_ = integer(whole);
      of_keys(key_head);
    }
    if (!has_row_sums()) return;
    for_group(key_head, [&](const Tile& head) {
      for (Tile row : dsl::range(0, shape_.rows, step))
        rows_result(head).store(
            row, 0, to_operand(row_sums(head).load(row, 0, {step, depth}) * attributes_.number));
    });
  }

  void of_keys(const Tile& key_head) {
    const std::int64_t depth = shape_.depth, step = block_.passing;
    const Tile keys = matrix(1, shape_.k, key_head).load(first_, 0, {block_.own, depth});
    const Tile values = matrix(2, shape_.v, key_head).load(first_, 0, {block_.own, depth});
    Tile scaled_keys;
    if (has_all()) scaled_keys = has_row_sums() ? keys : keys * attributes_.number;
    Tile begin = integer(0), end = integer(shape_.rows);
    if (is_causal()) {
      begin = dsl::maximum(first_ - position_, 0) / step * step;
      if (attributes_.window != 0) {
        const std::int64_t last = std::min(shape_.keys, block_.own) + attributes_.window - 1;
        end = dsl::minimum(first_ - position_ + last, end);
      }
    }
    Var of_keys = dsl::zeros({block_.own, depth}, carried());
    Var of_values = dsl::zeros({block_.own, depth}, carried());
    auto go_through = [&](const Tile& head) {
      const std::size_t of_result = shape_.given.gradient;
      const Matrix q = matrix(0, shape_.q, head), turned = matrix(0, shape_.q, head, true),
                   gradient = matrix(of_result, shape_.gradient, head),
                   turned_gradient = matrix(of_result, shape_.gradient, head, true);
      for (Tile row : dsl::range(begin, end, step)) {
        Tile products = product(keys, turned.load(0, row, {depth, step}));
        Tile mixed = product(values, turned_gradient.load(0, row, {depth, step}));
        const Weighed here = weighed(products, mixed, head, row, first_);
        of_values = product(here.weights, gradient.load(row, 0, {step, depth}), of_values);
        of_keys = product(here.gradient, q.load(row, 0, {step, depth}), of_keys);
        if (!has_all()) continue;
        const Matrix sums = row_sums(head);
        sums.store(
            row, 0,
            product(dsl::trans(here.gradient), scaled_keys, sums.load(row, 0, {step, depth})));
      }
    };
    for_group(key_head, go_through);
    auto result = [&](const TaskResult& to) {
      return Matrix{parameters_.pointer(to.storage) + offset(row_major(to.shape), key_head),
                    shape_.keys,
                    depth,
                    depth,
                    1,
                    target_.is_gpu()};
    };
    store(result(task_.others[0]), of_keys * attributes_.number);
    store(result(task_.others[1]), of_values);
  }

  const TaskList& list_;
  const dsl::Target& target_;
  const Task& task_;
  const Attributes& attributes_;
  GradientShape shape_;
  GradientsOf results_;
  bool has_keys_;  // and goes through rows; if false, it has rows and goes through keys
  GradientBlocks block_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  Tile batch_, first_, position_;  // of this program; the first row or key that it has
  Tile row_sums_;
};

bool is_gradient(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::attention_gradient;
}

LoweredRegion lower_gradient(const TaskList& list, const Region& region, const dsl::Target& target,
                             const BlockSizes&) {
  LoweredRegion result;
  result.kind = "attention gradient";
  const GradientShape shape(list.tasks[region.tasks[0]]);
  if (!target.is_gpu() && shape.batch * shape.key_heads >= planned_threads()) {
    GradientProgram program(list, region, target, GradientsOf::both);
    result.scratch = program.scratch();
    result.programs.push_back(program.emit());
    return result;
  }
  for (GradientsOf results : {GradientsOf::rows, GradientsOf::keys})
    result.programs.push_back(GradientProgram(list, region, target, results).emit());
  return result;
}

}  // namespace

constinit const Lowering lowerings::attention_gradient = {
    .name = "attention_gradient", .matches = is_gradient, .lower = lower_gradient};

}  // namespace tilewright::graph
