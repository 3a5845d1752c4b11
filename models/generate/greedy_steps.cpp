#include "models/generate/greedy_steps.h"

#include "runtime/base/error.h"

namespace tilewright {
namespace {

Tensor filled(const Shape& shape, std::int64_t value, const Device& device) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(shape)), value);
  return Tensor::from(values, shape).to(device);
}

void set(Tensor& tensor, const std::vector<std::int64_t>& values) {
  tensor.copy_from(Tensor::from(values, tensor.shape()));
}

}  // namespace

GreedySteps::GreedySteps(const LanguageModel& model, DecodingState& state, std::int64_t tokens,
                         std::int64_t steps, Options options)
    : model_(model),
      state_(state),
      tokens_(tokens),
      steps_(steps),
      device_(model.device()),
      ids_(filled({state.batch(), 1}, 0, device_)),
      position_(filled({state.batch()}, 0, device_)),
      has_ended_(filled({state.batch()}, 1, device_)),
      chosen_(filled({steps, state.batch()}, nothing, device_)),
      step_(filled({1}, 0, device_)),
      limit_(filled({state.batch()}, 0, device_)),
      is_stop_(
          Tensor::from(std::vector<std::int32_t>(static_cast<std::size_t>(tokens), 0), {tokens, 1})
              .to(device_)),
      compiled_(compile([this] { return step(); }, options)) {
  require(tokens >= 1 && tokens <= model.vocabulary(), "[greedy_steps] ", tokens,
          " tokens to choose from; the model knows ", model.vocabulary());
  require(steps >= 1, "[greedy_steps] a round of ", steps, " steps; it must have at least 1");
}

// The results are written in place.
Tensor GreedySteps::step() {
  std::int64_t batch = state_.batch();
  Tensor logits = model_.decode_last(ids_, position_, state_).slice(1, 0, tokens_);
  Tensor greatest = amax(logits, {1});
  Tensor best = where(greatest == greatest, argmax(logits, 1), not_a_number);
  Tensor stops = embedding(maximum(best, 0), is_stop_).reshape({batch});
  Tensor is_last = (position_ + 2 >= limit_).to(i64);
  Tensor ends = maximum(maximum(stops.to(i64), (best < 0).to(i64)), is_last);
  Tensor ended = maximum(has_ended_, ends);
  Tensor chosen = where(has_ended_ == 0, best, nothing);
  chosen_.index_copy_(0, step_, chosen.reshape({1, batch}));
  ids_.copy_from(where(ended.reshape({batch, 1}) == 0, best.reshape({batch, 1}), ids_));
  position_.copy_from(position_ + 1 - ended);
  has_ended_.copy_from(ended);
  step_.copy_from(remainder(step_ + 1, steps_));
  return chosen_;
}

void GreedySteps::start(const std::vector<std::int64_t>& ids,
                        const std::vector<std::int64_t>& positions,
                        const std::vector<std::int64_t>& limits,
                        const std::vector<std::int64_t>& stops) {
  require(std::ssize(ids) == state_.batch() && positions.size() == ids.size() &&
              limits.size() == ids.size(),
          "[greedy_steps] ", ids.size(), " ids, ", positions.size(), " positions and ",
          limits.size(), " limits; the state is for a batch of ", state_.batch());
  for (std::size_t i = 0; i < ids.size(); ++i)
    require(
        positions[i] >= 0 && positions[i] + 1 < limits[i] && limits[i] <= model_.max_positions(),
        "[greedy_steps] tokens from position ", positions[i] + 1, " up to ", limits[i],
        "; the model has ", model_.max_positions(), " positions");
  for (std::size_t i = 0; i < ids.size(); ++i)
    state_.prepare(static_cast<std::int64_t>(i), positions[i], limits[i] - positions[i]);
  set(ids_, ids);
  set(position_, positions);
  set(has_ended_, std::vector<std::int64_t>(ids.size(), 0));
  set(step_, {0});
  set(limit_, limits);
  if (stops == stops_) return;
  std::vector<std::int32_t> table(static_cast<std::size_t>(tokens_), 0);
  for (std::int64_t stop : stops)
    if (stop >= 0 && stop < tokens_) table[static_cast<std::size_t>(stop)] = 1;
  is_stop_.copy_from(Tensor::from(table, {tokens_, 1}));
  stops_ = stops;
}

std::vector<std::int64_t> GreedySteps::run() {
  DecodingState::Use use(state_, "greedy_steps");
  const auto reading = state_.reading_adapters();
  compiled_.repeat(steps_, {});
  return chosen_.to_vector<std::int64_t>();
}

void GreedySteps::warm_up() {
  // Row 0 is written, which another text may share.
  for (std::int64_t text = 0; text < state_.batch(); ++text) state_.rest(text);
  set(ids_, std::vector<std::int64_t>(static_cast<std::size_t>(state_.batch()), 0));
  set(position_, std::vector<std::int64_t>(static_cast<std::size_t>(state_.batch()), 0));
  set(has_ended_, std::vector<std::int64_t>(static_cast<std::size_t>(state_.batch()), 1));
  run();
}

}  // namespace tilewright
