#include <algorithm>
#include <limits>
#include <numbers>

#include "graph/lower/attention/attention_blocks.h"
#include "graph/lower/attention/attention_panels.h"
#include "graph/lower/attention/attention_scores.h"
#include "graph/lower/attention/attention_shape.h"
#include "graph/lower/attention/attention_tuning.h"
#include "graph/lower/attention/key_blocks.h"
#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr double infinity = std::numeric_limits<double>::infinity();

// softmax(q k^T * scale, masked) v, key block by key block with a running maximum and sum (Milakov
// and Gimelshein, "Online normalizer calculation for softmax", 2018): scores never reach memory.
// Where programs share keys, each has a run of whole blocks of those that any of its rows sees.
class AttentionProgram {
 public:
  AttentionProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                   const BlockSizes& asked)
      : list_(list),
        region_(region),
        target_(target),
        task_(list.tasks[region.tasks[0]]),
        attributes_(task_.attributes),
        shape_(task_),
        tracer_("attention"),
        parameters_(tracer_, list, region),
        sizes_(tracer_, region.sizes_vary && !target.is_gpu()),
        takes_rows_(takes_rows(task_, region, target)),
        takes_keys_(takes_keys(task_, region, target)),
        block_(blocks_of_attention(list, region, target, asked)),
        panels_(region.sizes_vary ? std::nullopt
                                  : AttentionPanels::of(list, task_, target, block_)) {}

  LoweredRegion emit() {
    AttentionPartials partials(shape_, block_.splits, carried());
    LoweredRegion result;
    result.kind = "attention";
    result.blocks = block_;
    result.decided = decided_by(shape_, block_);
    bool shares = block_.splits > 1;
    for (std::size_t i = 0; i < task_.operands.size(); ++i)
      if (!panels_ || (i != 1 && i != 2)) parameters_.add(task_.operands[i].storage);
    if (panels_) {
      panels_->add_to(parameters_);
      result.scratch = panels_->scratch();
      result.programs.push_back(panels_->pack(list_, region_, target_));
    }
    if (shares) {
      partials.add_to(parameters_);
    } else {
      parameters_.add(task_.storage);
      for (const TaskResult& sums : task_.others) parameters_.add(sums.storage);
    }
    if (block_.cluster > 1) tracer_.set_cluster(static_cast<int>(block_.cluster));
    open_grid();
    program(partials);
    result.programs.push_back({tracer_.finish(), grid_, parameters_.memory(), sizes_.sizes()});
    if (shares) {
      result.scratch = partials.scratch();
      result.programs.push_back(combine_attention(list_, region_, target_, partials));
    }
    return result;
  }

  // The facts that decide the program, besides the form of the region.
  static Hash decided_by(const AttentionShape& shape, const BlockSizes& block) {
    Hasher hasher;
    for (const BlockSize& one : all_block_sizes()) hasher.add(block.*one.size);
    hasher.add(shape.packs_heads).add(shape.heads == 1).add(shape.batch() == 1);
    if (shape.pages) hasher.add(*shape.pages).add(shape.run_of_keys());
    return hasher.finish();
  }

 private:
  DType carried() const { return accumulator(task_.dtype); }
  bool is_causal() const { return attributes_.causal; }
  DType dtype_of_products() const { return graph::dtype_of_products(task_, block_.rows, target_); }

  void open_grid() {
    std::int64_t row_blocks = divide_up(shape_.rows, block_.rows);
    const Grid own = grid_of_attention(shape_, block_);
    // A program for any number asks which one is its own, also where there is one.
    const std::int64_t least = takes_rows_ ? 2 : 1;
    ProgramGrid programs = graph::open_grid(
        {std::max(own.size[0], least), own.size[1], std::max(own.size[2], least)}, target_);
    grid_ = takes_rows_ ? own : programs.grid;
    head_ = programs.index[1];
    batch_ = programs.index[2];
    Tile block = programs.index[0];
    if (block_.splits > 1) {
      split_ = row_blocks == 1 ? block : block % block_.splits;
      block = row_blocks == 1 ? Tile() : block / block_.splits;
    }
    // The rows that see most come first, and those that see least fill what is left of the time.
    if (block.defined() && is_causal() && target_.is_gpu()) block = row_blocks - 1 - block;
    if (block.defined()) row_ = first_row(block);
    if (takes_rows_) {
      Tile left = sizes_.add(shape_.rows) - row_;
      block_rows_ = dsl::maximum(dsl::minimum(left, block_.rows), 1);
    }
    if (takes_keys_) keys_ = sizes_.add(shape_.keys());
    if (head_.defined())
      key_head_ = shape_.packs_heads || shape_.group == 1 ? head_ : head_ / shape_.group;
  }

  // The last block is moved back to end with the rows, so that none needs a mask: some rows are
  // made twice. The rest of a share of the keys may not overlap, since the shares are those of a
  // block: there the last one is masked. If the number of rows is an argument, the last block has
  // the rest.
  Tile first_row(const Tile& block) const {
    Tile row = block * block_.rows;
    return split_.defined() || takes_rows_ ? row
                                           : Tile(dsl::minimum(row, shape_.rows - block_.rows));
  }

  Offset offset(const StridedView& place, bool of_keys) {
    Offset offset;
    sizes_.add_to(offset, place.offset);
    if (batch_.defined() && !(of_keys && shape_.pages))
      sizes_.add_to(offset, batch_, place.strides[0]);
    if (of_keys && key_head_.defined()) sizes_.add_to(offset, key_head_, place.strides[1]);
    if (!of_keys && head_.defined())
      sizes_.add_to(offset, head_,
                    shape_.packs_heads ? place.strides[1] * shape_.group : place.strides[1]);
    return offset;
  }
  // The number of this program's head of keys, of all in the batch.
  Offset key_head() const {
    Offset head;
    if (key_head_.defined()) head.add(key_head_, 1);
    if (batch_.defined()) head.add(batch_, shape_.k.shape[1]);
    return head;
  }
  Matrix row_matrix(StorageId storage, const StridedView& place) {
    std::int64_t stride = shape_.packs_heads ? place.strides[1] : place.strides[2];
    Offset first = offset(place, false);
    if (takes_rows_) first.add(row_, stride);
    return {parameters_.pointer(storage) + first,
            takes_rows_ ? Operand(block_rows_) : shape_.rows,
            place.shape[3],
            stride,
            place.strides[3],
            target_.is_gpu()};
  }
  // An operand with an element for each score.
  ScoreOperand score_operand(const TaskOperand& operand) {
    const StridedView& place = operand.view;
    const std::int64_t by_row = shape_.packs_heads ? place.strides[1] : place.strides[2],
                       by_key = place.strides[3];
    Offset first = offset(place, false);
    if (takes_rows_) sizes_.add_to(first, row_, by_row);
    return {{parameters_.pointer(operand.storage) + first,
             takes_rows_ ? Operand(block_rows_) : shape_.rows, all_keys(),
             Stride(sizes_.number(by_row)), by_key == 1 ? Stride(1) : Stride(sizes_.number(by_key)),
             target_.is_gpu()},
            by_row != 0,
            by_key != 0};
  }
  // The elements of keys or values, operand 1 or 2, where they are no panels, and their scales.
  KeyBlocks::Rows rows_of_keys(std::size_t operand) {
    const AttentionOperands given = operands_of_attention(task_);
    const bool is_key = operand == 1;
    auto pointer = [&](std::size_t i, const StridedView& place) {
      return parameters_.pointer(task_.operands[i].storage) + offset(place, true);
    };
    KeyBlocks::Rows rows;
    if (!panels_) {
      const StridedView& place = task_.operands[operand].view;
      const std::int64_t by_key = place.strides[2], by_element = place.strides[3];
      const Tile first = pointer(operand, place);
      const Operand keys = all_keys(), depth = shape_.depth();
      rows.page_of_elements = place.strides[0];
      rows.elements = Matrix{first,
                             is_key ? depth : keys,
                             is_key ? keys : depth,
                             is_key ? by_element : by_key,
                             is_key ? by_key : by_element,
                             target_.is_gpu()};
    }
    if (!given.are_codes()) return rows;
    const std::size_t scales = is_key ? given.key_scales : given.value_scales;
    const StridedView& place = task_.operands[scales].view;
    const bool by_rows = !is_key && scales_values(task_, dtype_of_products());
    const std::int64_t step = place.strides[2];
    rows.page_of_scales = place.strides[0];
    rows.scales = Matrix{pointer(scales, place),
                         by_rows ? Operand(all_keys()) : Operand(1),
                         by_rows ? Operand(1) : Operand(all_keys()),
                         by_rows ? step : std::int64_t{0},
                         by_rows ? std::int64_t{0} : step,
                         target_.is_gpu()};
    return rows;
  }
  KeyBlocks key_blocks() {
    KeyBlocks::Rows keys = rows_of_keys(1), values = rows_of_keys(2);
    const KeyBlocks given(task_, dtype_of_products(), block_.columns, std::move(keys),
                          std::move(values));
    const KeyBlocks blocks =
        shape_.pages ? given.in_pages(page_table_of(task_, parameters_, batch_)) : given;
    return panels_ ? blocks.in_panels(*panels_, key_head()) : blocks;
  }
  AttentionScores scores() {
    const AttentionOperands given = operands_of_attention(task_);
    std::vector<ScoreOperand> operands;
    const std::size_t first = given.mask != 0 ? given.mask : given.of_scores;
    for (std::size_t i = first; i < task_.operands.size(); ++i)
      operands.push_back(score_operand(task_.operands[i]));
    return {task_, std::move(operands),
            has_function(task_) ? std::optional(places()) : std::nullopt};
  }
  AttentionScores::Places places() const {
    auto known = [](const Tile& place) {
      return place.defined() ? dsl::cast(place, DType::i32)
                             : dsl::constant(ir::Scalar::of_integer(DType::i32, 0));
    };
    Tile row = dsl::reshape(dsl::arange(0, block_.rows), {block_.rows, 1}) + known(row_);
    if (!shape_.packs_heads) return {known(batch_), known(head_), row};
    return {known(batch_), known(head_) * shape_.group + row, known({})};
  }
  // The block's first row, where a matrix of rows does not begin with it.
  Operand row() const { return row_.defined() && !takes_rows_ ? Operand(row_) : Operand(0); }
  // The place of row 0, where no number in memory says it.
  Tile start() {
    const std::int64_t n = attributes_.start;
    return takes_keys_ && n != 0 ? sizes_.add(n) : number(n);
  }
  static Tile number(std::int64_t n) {
    return dsl::constant(ir::Scalar::of_integer(DType::i64, n));
  }
  Tile all_keys() const { return takes_keys_ ? keys_ : number(shape_.keys()); }

  // The columns that this program goes through. With causal rows, the last sees up to its own, and
  // the first from the beginning of its window on.
  struct Range {
    Tile begin, end;
  };
  Range columns(const Tile& first) const {
    const std::int64_t step = block_.columns;
    Range range{number(0), all_keys()};
    if (is_causal()) {
      Tile start = row_.defined() && !shape_.packs_heads ? first + row_ : first;
      std::int64_t rows = shape_.packs_heads ? 1 : std::min(shape_.rows, block_.rows);
      range.end = dsl::minimum(start + (takes_rows_ ? Operand(block_rows_) : rows), range.end);
      if (attributes_.window != 0)
        range.begin = dsl::maximum(start - (attributes_.window - 1), 0) / step * step;
    }
    if (!split_.defined()) return range;
    Tile blocks = (range.end - range.begin + (step - 1)) / step;
    Tile share = (blocks + (block_.splits - 1)) / block_.splits * step;
    range.begin = range.begin + split_ * share;
    range.end = dsl::minimum(range.begin + share, range.end);
    return range;
  }

  void program(const AttentionPartials& partials) {
    std::int64_t depth = shape_.depth();
    Tile q = row_matrix(task_.operands[0].storage, shape_.q).load(row(), 0, {block_.rows, depth});
    const KeyBlocks keys = key_blocks();
    if (q.dtype() != keys.dtype()) q = dsl::cast(q, keys.dtype());
    const AttentionScores all_scores = scores();
    auto changed = [&](const Tile& products, const Tile& column, bool is_inside = false) {
      return all_scores.of(scaled(products), row(), column, is_inside);
    };
    Tile first;
    if (is_causal())
      first = has_position(task_) ? position_of(task_, parameters_, batch_) : Tile(start());
    Range range = columns(first);
    Var highest = dsl::full({block_.rows, 1}, -infinity, carried());
    Var total = dsl::zeros({block_.rows, 1}, carried());
    Var mixed = dsl::zeros({block_.rows, depth}, carried());
    // The weights of a block of keys, as products with their values take them.
    auto weigh = [&](const Tile& scores, const KeyBlocks& block, const Operand& column) {
      Tile top = dsl::maximum(highest, dsl::max(scores, 1, true));
      Weighed weighed = relative(scores, highest, top);
      total = total * weighed.decay + dsl::sum(weighed.weights, 1, true);
      highest = top;
      weighed.weights = block.weights(weighed.weights, column);
      return weighed;
    };
    ir::InputPrecision precision = list_.precision_of(task_.dtype);
    if (has_warpgroups(target_, task_, shape_)) {
      // The values of a block are mixed in behind the scores of the next one, so that two products
      // are under way while weights are computed (Shah et al., "FlashAttention-3", 2024). Most
      // blocks are seen by all rows, and no score of theirs is looked at for its place.
      Var pending = dsl::zeros({block_.rows, block_.columns}, task_.dtype), at = range.begin;
      auto go_through = [&](const Tile& begin, const Tile& end, bool masks) {
        for (Tile column : dsl::range(begin, end, block_.columns)) {
          Tile scores = dsl::dot(q, keys.keys(column));
          mixed = dsl::dot(pending, keys.values(at), mixed);
          scores = changed(scores, column);
          Weighed next = weigh(masks ? masked(scores, column, first) : scores, keys, column);
          mixed = mixed * next.decay;
          pending = next.weights;
          at = column;
        }
      };
      Tile whole = end_of_whole_blocks(first, range);
      if (whole.defined()) go_through(range.begin, whole, false);
      if (needs_mask()) go_through(whole.defined() ? whole : range.begin, range.end, true);
      mixed = dsl::dot(pending, keys.values(at), mixed);
    } else {
      // The keys from `column` on are those of `block` from `at` on.
      auto mix = [&](const KeyBlocks& block, const Operand& at, const Tile& column,
                     bool is_inside) {
        const Tile values = block.values(at);
        Tile products = dsl::dot(q, block.keys(at), 0, precision);
        Tile scores = changed(block.with_scales(products, at), column, is_inside);
        Weighed here = weigh(masked(scores, column, first), block, at);
        mixed = dsl::dot(here.weights, values, mixed * here.decay, precision);
      };
      Tile begin = range.begin;
      if (takes_keys_) {
        // Blocks that lie inside whole are read where they are.
        begin = keys_ / block_.columns * block_.columns;
        is_at_edge_ = false;
        for (Tile column : dsl::range(range.begin, dsl::minimum(range.end, begin), block_.columns))
          mix(keys.from(column), 0, column, true);
        is_at_edge_ = true;
      }
      for (Tile column : dsl::range(begin, range.end, block_.columns))
        if (keys.are_in_pages())
          mix(keys.from(column), 0, column, true);
        else
          mix(keys, column, column, false);
    }
    if (folds_scale()) highest = highest * attributes_.number;
    if (split_.defined()) {
      Offset first_of_head;
      if (head_.defined()) first_of_head.add(head_, shape_.rows);
      if (batch_.defined()) first_of_head.add(batch_, shape_.heads * shape_.rows);
      return partials.store(first_of_head, row(), split_, highest, total, mixed);
    }
    // A row that saw no key has mixed nothing. One division a row, where rounding to the type hides
    // that the quotient is rounded twice.
    const bool is_zero = may_see_none() && !attributes_.nan_unseen;
    Tile weight = is_zero ? dsl::where(total == 0.0, 1, total) : Tile(total);
    Tile result = folds_scale() ? mixed * (1.0 / weight) : mixed / weight;
    if (result.dtype() != task_.dtype) result = dsl::cast(result, task_.dtype);
    row_matrix(task_.storage, task_.place).store(row(), 0, result);
    for (const TaskResult& sums : task_.others)
      row_matrix(sums.storage, place_of_sums(sums)).store(row(), 0, logarithm_of(highest, total));
  }

  // On GPUs the scale is folded into the exponential, which costs one instruction less an element.
  bool folds_scale() const {
    return target_.is_gpu() && bit_width(task_.dtype) == 16 && attributes_.number > 0 &&
           attributes_.cap == 0 && !has_mask(task_) && !has_function(task_);
  }
  Tile scaled(const Tile& product) const {
    if (folds_scale()) return product;
    const double cap = attributes_.cap;
    if (cap == 0) return product * attributes_.number;
    return dsl::tanh(product * (attributes_.number / cap)) * cap;
  }
  struct Weighed {
    Tile weights, decay;
  };
  // exp(scale * (scores - top)), and what that does to what is relative to `before`.
  Weighed relative(const Tile& scores, const Tile& before, const Tile& top) const {
    Tile reference = may_see_none() ? dsl::where(top == -infinity, 0, top) : top;
    if (!folds_scale()) return {dsl::exp(scores - reference), dsl::exp(before - reference)};
    Tile scale = dsl::full({1, 1}, attributes_.number * std::numbers::log2e, carried());
    Tile shift = -(reference * scale);
    return {dsl::exp2(dsl::fma(scores, scale, shift)), dsl::exp2(dsl::fma(before, scale, shift))};
  }

  // A row may see none of a block's columns, or of this program's.
  bool may_see_none() const {
    return split_.defined() || attributes_.window != 0 || attributes_.start < 0 ||
           has_mask(task_) || has_function(task_);
  }
  bool has_edge() const { return takes_keys_ ? is_at_edge_ : shape_.keys() % block_.columns != 0; }
  bool needs_mask() const { return is_causal() || has_edge(); }
  // Up to where every row sees every column; undefined where that is nowhere known.
  Tile end_of_whole_blocks(const Tile& first, const Range& range) const {
    if (attributes_.window != 0) return {};
    const std::int64_t step = block_.columns;
    Tile end = number(shape_.keys() / step * step);
    if (is_causal()) {
      Tile start = row_.defined() && !shape_.packs_heads ? first + row_ : first;
      end = dsl::minimum((start + 1) / step * step, end);
      if (attributes_.start < 0) end = dsl::maximum(end, 0);
    }
    return split_.defined() ? Tile(dsl::maximum(dsl::minimum(end, range.end), range.begin)) : end;
  }

  // Scores with those of columns that a row does not see at minus infinity.
  Tile masked(const Tile& scores, const Tile& column, const Tile& first) const {
    if (!needs_mask()) return scores;
    // Columns are counted from the block's first, in 32 bits, which is all that differs in a row.
    Tile at = dsl::reshape(dsl::arange(0, block_.columns), {1, block_.columns});
    auto from_here = [&](const Tile& limit) { return dsl::cast(limit - column, DType::i32); };
    Tile visible;
    auto see = [&](const Tile& also) { visible = visible.defined() ? visible & also : also; };
    if (has_edge()) see(at < from_here(all_keys()));
    if (first.defined()) {
      Tile last = from_here(!shape_.packs_heads && row_.defined() ? first + row_ : first);
      if (!shape_.packs_heads && block_.rows > 1)
        last = dsl::reshape(dsl::arange(0, block_.rows), {block_.rows, 1}) + last;
      see(at <= last);
      if (attributes_.window != 0) see(at > last - attributes_.window);
    }
    return dsl::where(visible, scores, dsl::full({1, 1}, -infinity, carried()));
  }

  const TaskList& list_;
  const Region& region_;
  const dsl::Target& target_;
  const Task& task_;
  const Attributes& attributes_;
  AttentionShape shape_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  SizeArguments sizes_;
  bool takes_rows_, takes_keys_;  // as arguments: how many there are
  BlockSizes block_;
  Grid grid_;
  std::optional<AttentionPanels> panels_;
  Tile split_, head_, batch_, row_, key_head_;  // of this program; undefined: 0
  Tile block_rows_, keys_;                      // where they are arguments: of this block, and all
  bool is_at_edge_ = false;  // the block of keys that is gone through may lie beyond the last one
};

bool is_attention(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::attention;
}

LoweredRegion lower_attention(const TaskList& list, const Region& region, const dsl::Target& target,
                              const BlockSizes& blocks) {
  return AttentionProgram(list, region, target, blocks).emit();
}

std::optional<Relaunch> relaunch_attention(const TaskList& list, const Region& region,
                                           const dsl::Target& target, const BlockSizes& asked,
                                           const Hash& decided) {
  const AttentionShape shape(list.tasks[region.tasks[0]]);
  const BlockSizes block = blocks_of_attention(list, region, target, asked);
  const bool is_same = !target.is_gpu() && block.splits <= 1 &&
                       AttentionProgram::decided_by(shape, block) == decided;
  return is_same ? std::optional(Relaunch{grid_of_attention(shape, block), {}}) : std::nullopt;
}

}  // namespace

constinit const Lowering lowerings::attention = {.name = "attention",
                                                 .matches = is_attention,
                                                 .lower = lower_attention,
                                                 .choice = choice_of_attention,
                                                 .work = work_of_attention,
                                                 .describe = describe_attention,
                                                 .elements = position_of_attention,
                                                 .relaunch = relaunch_attention};

}  // namespace tilewright::graph
