#include "models/onnx/control/loops.h"

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/tensor/guarded.h"
#include "models/files/reader.h"
#include "models/onnx/control/running.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

using Values = std::vector<Value>;

constexpr std::int64_t few_turns = 16;              // that are recorded one by one
constexpr std::int64_t most_recorded_turns = 1024;  // of a loop and those inside of it, multiplied
constexpr std::int64_t most_unrolled = 64;          // the same of those that are recorded by choice
constexpr std::int64_t most_recordings = 1 << 14;   // of bodies, in a loop that is in no other
constexpr std::int64_t most_turns = 1 << 18;        // of the host; a loop that never ends has more

Number number_of(const Value& value, std::string_view what) {
  require(element_count(value.shape()) == 1, "[onnx] ", what, " of a loop is [", value.shape(),
          "]; one element is wanted");
  if (const Known* known = value.known()) return known->elements[0];
  return known_of(value.tensor()).elements[0];
}
bool is_true(const Value& condition) {
  require(is_boolean(condition.dtype()), "[onnx] the condition of a loop is ", condition.dtype(),
          "; bool is wanted");
  return number_of(condition, "the condition").as_integer() != 0;
}
Value turn_number(std::int64_t turn) { return Known{i64, {}, {Number(turn)}}; }
Value always() { return Known{DType::boolean, {}, {Number(1)}}; }

Tensors tensors_of(const Values& values) {
  Tensors tensors;
  for (const Value& value : values) tensors.push_back(value.tensor());
  return tensors;
}

// The loops that a thread records, one inside another. A body is recorded for each turn of all
// loops around it that are recorded turn by turn.
struct Recording {
  std::int64_t turns_around = 1;
  std::int64_t bodies = 0;  // recorded since the outermost loop began
  int depth = 0;
};
thread_local Recording recording;

// Lives while a loop is recorded; `turns` of one that is recorded turn by turn.
class RecordedLoop {
 public:
  explicit RecordedLoop(std::int64_t turns = 1) : turns_before_(recording.turns_around) {
    recording.turns_around *= std::max<std::int64_t>(turns, 1);
    ++recording.depth;
  }
  RecordedLoop(const RecordedLoop&) = delete;
  RecordedLoop& operator=(const RecordedLoop&) = delete;
  ~RecordedLoop() {
    recording.turns_around = turns_before_;
    if (--recording.depth == 0) recording.bodies = 0;
  }

 private:
  std::int64_t turns_before_;
};

class Loop {
 public:
  explicit Loop(const Call& call)
      : call_(call), body_(call.graph("body")), initial_(call.values_from(2)) {
    if (call.has(0)) count_ = call.value(0);
    if (call.has(1)) condition_ = call.value(1);
    require(body_.inputs.size() == initial_.size() + 2, "[onnx] the body \"",
            json::excerpt(body_.name), "\" takes ", body_.inputs.size(), " values; the loop has ",
            initial_.size(), " that are carried, and hands over these, the turn and the condition");
    require(body_.outputs.size() > initial_.size(), "[onnx] the body \"", json::excerpt(body_.name),
            "\" gives ", body_.outputs.size(), " values; the condition and the ", initial_.size(),
            " that are carried are wanted, and may be followed by others");
  }

  // Runs the loop on the host. `may_read`: conditions that it does not know are read. Nothing where
  // that is needed and must not be, or where there are more turns than `most`.
  std::optional<Results> turn_by_turn(bool may_read, std::int64_t most,
                                      std::string_view reason = {}) const;
  // As one of the graph; raises `Error` where it can be none.
  Results of_graph() const;

  // As far as the host knows.
  bool is_short(std::int64_t most) const {
    return (!count_.defined() || count_.known() != nullptr) &&
           (!condition_.defined() || condition_.known() != nullptr) &&
           (!count_.defined() || number_of(count_, "the count").as_integer() <= most);
  }

 private:
  std::size_t stacked_count() const { return body_.outputs.size() - 1 - initial_.size(); }
  Value as_body_takes(std::size_t input, Value one) const;
  Values turn(Value number, const Values& state) const;
  Results with_stacked(Values state, std::vector<Values> given) const;
  std::optional<Results> as_scan(bool& depends_on_data) const;
  Results as_while() const;

  const Call& call_;
  const Graph& body_;
  Values initial_;
  Value count_, condition_;  // undefined where they are left out
};

// The number of a turn and the condition have one element, without axes unless the body declares
// them [1].
Value Loop::as_body_takes(std::size_t input, Value one) const {
  const Declared* declared = call_.execution().program.declared_of(body_.inputs[input]);
  if (declared == nullptr || !declared->sizes || declared->sizes->size() != 1) return one;
  if (const Known* known = one.known()) return Known{known->dtype, {1}, known->elements};
  return one.tensor().reshape({1});
}

// The results of an iteration; it begins where the condition is true.
Values Loop::turn(Value number, const Values& state) const {
  if (graph::is_capturing())
    require(++recording.bodies <= most_recordings,
            "[onnx] bodies of nested loops would be recorded more than ", most_recordings,
            " times; give the loops fewer turns, or counts that are data");
  Values inputs = {as_body_takes(0, std::move(number)), as_body_takes(1, always())};
  inputs.insert(inputs.end(), state.begin(), state.end());
  return run(body_, std::move(inputs), call_.execution());
}

// Where there was no turn, one for the initial state says what elements it would have given.
Results Loop::with_stacked(Values state, std::vector<Values> given) const {
  Results results = std::move(state);
  const std::size_t count = stacked_count();
  if (count > 0 && given[0].empty()) {
    const Values like = turn(turn_number(0), initial_);
    for (std::size_t i = 0; i < count; ++i) {
      const Value& element = like[1 + initial_.size() + i];
      Shape shape = {0};
      shape.insert(shape.end(), element.shape().begin(), element.shape().end());
      results.emplace_back(zeros(shape, element.dtype()));
    }
    return results;
  }
  for (const Values& elements : given) results.push_back(stacked(elements));
  return results;
}

std::optional<Results> Loop::turn_by_turn(bool may_read, std::int64_t most,
                                          std::string_view reason) const {
  const std::int64_t count =
      count_.defined() ? number_of(count_, "the count").as_integer() : INT64_MAX;
  const RecordedLoop turns(graph::is_capturing() ? std::min(count, most) : 1);
  Value condition = condition_.defined() ? condition_ : always();
  Values state = initial_;
  std::vector<Values> given(stacked_count());
  std::int64_t unread = 0;
  const LoopStop stop("onnx Loop");
  for (std::int64_t i = 0; i < count; ++i) {
    stop.look(i);
    unread = condition.known() != nullptr ? unread + 1 : 0;
    if (!may_read && condition.known() == nullptr) return std::nullopt;
    if (!is_true(condition)) break;
    if (!may_read && i >= most) return std::nullopt;
    require(unread <= most && i < most_turns, "[onnx] a loop of more than ",
            std::min(most, most_turns), " turns",
            reason.empty() ? "" : ", which cannot be one of a graph: ", reason, "; its count is ",
            count_.defined() ? std::to_string(count) : std::string("left out"),
            ", and its condition must become false before");
    Values results = turn(turn_number(i), state);
    condition = std::move(results[0]);
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = std::move(results[1 + k]);
    for (std::size_t k = 0; k < given.size(); ++k)
      given[k].push_back(std::move(results[1 + state.size() + k]));
  }
  return with_stacked(std::move(state), std::move(given));
}

// For a count that the host knows, unless the condition depends on the data.
std::optional<Results> Loop::as_scan(bool& depends_on_data) const {
  const std::int64_t count = number_of(count_, "the count").as_integer();
  require(count <= most_turns, "[onnx] a loop of ", count, " turns; at most ", most_turns,
          " are supported");
  auto each = [&](const Tensors& state, const Tensors& elements) -> Turn {
    Values results = turn(elements[0], Values(state.begin(), state.end()));
    depends_on_data = results[0].known() == nullptr;
    require(!depends_on_data && is_true(results[0]), "[onnx] its condition ends it early");
    Tensors all = tensors_of({results.begin() + 1, results.end()});
    const auto carried = all.begin() + std::ssize(initial_);
    return {Tensors(all.begin(), carried), Tensors(carried, all.end())};
  };
  try {
    auto [last, all] = scan(each, tensors_of(initial_), {arange(0, count)});
    Results results(last.begin(), last.end());
    results.insert(results.end(), all.begin(), all.end());
    return results;
  } catch (const Error&) {
    if (!depends_on_data) throw;
    return std::nullopt;
  }
}

Results Loop::as_while() const {
  for (std::size_t i = 0; i < stacked_count(); ++i)
    require(!call_.wants(initial_.size() + i),
            "[onnx] it stacks an element of each turn, and its "
            "data decides how many there are");
  const Tensor count = count_.defined() && count_.known() == nullptr
                           ? count_.tensor().reshape({}).to(i64)
                           : Tensor();
  auto goes_on = [&](const Tensors& state) {
    if (count.defined()) return logical_and(state[0] < count, state[1]);
    if (!count_.defined()) return state[1];
    return logical_and(state[0] < number_of(count_, "the count").as_integer(), state[1]);
  };
  auto next = [&](const Tensors& state) {
    Values results = turn(state[0], Values(state.begin() + 2, state.end()));
    const Value& condition = results[0];
    require(count.defined() || condition.known() == nullptr, "[onnx] it never ends by its data");
    Tensors all = {state[0] + 1, condition.tensor().reshape({})};
    for (std::size_t i = 0; i < initial_.size(); ++i) all.push_back(results[1 + i].tensor());
    return all;
  };
  const Value condition = condition_.defined() ? condition_ : always();
  Tensors carried = {zeros({}, i64), condition.tensor().reshape({})};
  for (const Value& value : initial_) carried.push_back(value.tensor());
  Tensors last = while_loop(goes_on, next, carried);
  return {last.begin() + 2, last.end()};
}

Results Loop::of_graph() const {
  bool depends_on_data = false;
  const bool begins = !condition_.defined() || condition_.known() != nullptr;
  if (begins && count_.known() != nullptr)
    if (auto results = as_scan(depends_on_data)) return *results;
  Results results = as_while();
  // Nothing reads the results that it would stack.
  for (std::size_t i = initial_.size(); i < call_.node().outputs.size(); ++i)
    results.push_back(Value::absent());
  return results;
}

}  // namespace

Results looped(const Call& call) {
  const Loop loop(call);
  if (!graph::is_capturing()) return *loop.turn_by_turn(true, most_turns);
  const RecordedLoop recorded;
  const std::int64_t around = recording.turns_around,
                     few = std::min(few_turns, most_unrolled / around);
  if (loop.is_short(few))
    if (auto results = loop.turn_by_turn(false, few)) return *results;
  std::string reason;
  try {
    return loop.of_graph();
  } catch (const Error& error) {
    reason = error.what();
  }
  return *loop.turn_by_turn(true, most_recorded_turns / around, reason);
}

}  // namespace tilewright::onnx
