#include "graph/functions/recurrent/ctc_loss.h"

#include <limits>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/creation.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/shaping/joining.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::IndexRange;
using std::source_location;

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

// The logarithm of the sum of exponentials. Terms that are all minus infinity have the gradient 0.
Tensor log_of_sum(const Tensors& terms) {
  Tensor top = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) top = maximum(top, terms[i]);
  const Tensor is_never = top == never, safe = where(is_never, 0.0, top);
  Tensor total = exp(terms[0] - safe);
  for (std::size_t i = 1; i < terms.size(); ++i) total = total + exp(terms[i] - safe);
  return where(is_never, never, safe + log(where(is_never, 1.0, total)));
}

// The columns of x, moved to the right by so many.
Tensor moved(const Tensor& x, std::int64_t by) {
  const Tensor front = full({x.size(0), by}, never, x.dtype());
  return cat({front, x.slice(1, 0, x.size(1) - by)}, 1);
}

// A batch of label sequences and their lengths, checked.
struct Batch {
  Tensor scores;         // [T, N, C], f32 or f64
  Tensor targets;        // [N, S], blank behind each target's end
  Tensor steps, labels;  // [N], i64
};

Tensor lengths_of(const Tensor& lengths, std::int64_t rows, std::int64_t most, const char* which,
                  source_location w) {
  const Tensor given = graph::tensor_of({lengths, w}, "ctc_loss");
  require(!is_floating(given.dtype()) && given.count() == rows && given.rank() <= 1, "[ctc_loss] ",
          which, " are ", given.dtype(), " ", given.shape(), " (at ", At{w}, "); integers [", rows,
          "] are wanted, a length for each sequence");
  const Tensor all = given.to(DType::i64, w).reshape({rows}, w);
  graph::require_inside(all, {"ctc_loss", IndexRange::Noun::length, 0, most + 1, w});
  return all;
}

Batch checked(const TensorOperand& log_probs, const Tensor& targets, const Tensor& input_lengths,
              const Tensor& target_lengths, std::int64_t blank) {
  const source_location w = log_probs.where;
  const Tensor given = graph::tensor_of(log_probs, "ctc_loss");
  const Tensor labels = graph::tensor_of({targets, w}, "ctc_loss");
  require(
      is_floating(given.dtype()) && (given.rank() == 2 || given.rank() == 3) && given.size(0) > 0,
      "[ctc_loss] log_probs are ", given.dtype(), " ", given.shape(), " (at ", At{w},
      "); floats [T, N, C] or [T, C] are wanted, of one step or more");
  const bool has_batch = given.rank() == 3;
  const Tensor scores = has_batch ? given : given.unsqueeze(1, w);
  const std::int64_t rows = scores.size(1), classes = scores.size(2);
  require(!is_floating(labels.dtype()) && labels.rank() == (has_batch ? 2 : 1) &&
              (!has_batch || labels.size(0) == rows),
          "[ctc_loss] targets are ", labels.dtype(), " ", labels.shape(), " (at ", At{w},
          "); integers ", has_batch ? concat("[", rows, ", S]") : std::string("[S]"),
          " are wanted: sequences one behind the other must be padded to one length");
  require(blank >= 0 && blank < classes, "[ctc_loss] blank is ", blank, " (at ", At{w},
          "); it must be one of the ", classes, " classes");
  Batch batch;
  batch.scores = scores.to(accumulator(scores.dtype()), w);
  const Tensor ids = (has_batch ? labels : labels.unsqueeze(0, w)).to(DType::i64, w);
  batch.steps = lengths_of(input_lengths, rows, scores.size(0), "input_lengths", w);
  batch.labels = lengths_of(target_lengths, rows, ids.size(1), "target_lengths", w);
  const Tensor counts = arange(0, ids.size(1)).unsqueeze(0) < batch.labels.unsqueeze(1);
  batch.targets = where(counts, ids, blank);
  graph::require_inside(batch.targets, {"ctc_loss", IndexRange::Noun::target, 0, classes, w});
  return batch;
}

// The labels with a blank before, between and behind them, [N, 2 S + 1].
Tensor with_blanks(const Tensor& targets, std::int64_t blank) {
  const std::int64_t rows = targets.size(0), count = targets.size(1);
  const Tensor blanks = full({rows, count}, blank, DType::i64);
  const Tensor pairs = stack({blanks, targets}, 2).reshape({rows, 2 * count});
  return cat({pairs, full({rows, 1}, blank, DType::i64)}, 1);
}

// The logarithm of the probability of each row's labels. That of all alignments of the first steps
// that end at a place of the labels with blanks goes from step to step: an alignment stays where it
// is, goes on to the next place, or passes over a blank between two labels that differ.
Tensor log_likelihood(const Batch& batch, std::int64_t blank) {
  const Tensor places = with_blanks(batch.targets, blank);
  const std::int64_t steps = batch.scores.size(0), rows = places.size(0), count = places.size(1);
  const Tensor emitted = gather(batch.scores, 2, places.unsqueeze(0).expand({steps, rows, count}));
  const Tensor number = arange(0, count).unsqueeze(0);
  const Tensor two_before =
      count < 2 ? places
                : cat({full({rows, 2}, blank, DType::i64), places.slice(1, 0, count - 2)}, 1);
  const Tensor may_skip = (places != blank) & (places != two_before) & (number > 1);
  const Tensor first = where(number < 2, emitted.select(0, 0), never);
  auto turn = [&](const Tensors& before, const Tensors& now) -> Turn {
    const Tensor& ends = before[0];
    Tensors ways = {ends};
    if (count > 1) ways.push_back(moved(ends, 1));
    if (count > 2) ways.push_back(where(may_skip, moved(ends, 2), never));
    const Tensor next = log_of_sum(ways) + now[0];
    return {{where((now[1] < batch.steps).unsqueeze(1), next, ends)}, {}};
  };
  Tensor ends = first;
  if (steps > 1)
    ends = scan(turn, {first}, {emitted.slice(0, 1, steps), arange(1, steps)}).first[0];
  const Tensor last = batch.labels.unsqueeze(1) * 2;
  const Tensor on_blank = where(number == last, ends, never),
               on_label = where(number == last - 1, ends, never);
  const Tensor total = log_of_sum({amax(on_blank, {1}), amax(on_label, {1})});
  const Tensor of_no_steps = where(batch.labels == 0, full({}, 0.0, total.dtype()), never);
  return where(batch.steps == 0, of_no_steps, total);
}

}  // namespace

Tensor ctc_loss(const TensorOperand& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options) {
  return graph::of_user_call("ctc_loss", log_probs.where, [&] {
    const Batch batch = checked(log_probs, targets, input_lengths, target_lengths, options.blank);
    const DType dtype = log_probs.tensor.dtype();
    Tensor loss = -log_likelihood(batch, options.blank);
    if (options.zero_infinity) loss = where(loss == -never, 0.0, loss);
    switch (options.reduction) {
      case LossReduction::none: break;
      case LossReduction::sum: loss = sum(loss); break;
      case LossReduction::mean:
        loss = mean(loss / maximum(batch.labels, 1).to(loss.dtype()));
        break;
    }
    const bool is_alone = options.reduction == LossReduction::none && log_probs.tensor.rank() == 2;
    return (is_alone ? loss.reshape({}) : loss).to(dtype);
  });
}

}  // namespace tilewright
