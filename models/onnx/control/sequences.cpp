// Sequences, whose lengths the host knows, and values that may be absent.
#include <algorithm>

#include "models/onnx/control/running.h"
#include "models/onnx/operators/sizes.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace sequence_rows {
namespace {

Value short_enough(Sequence sequence) {
  require(std::ssize(sequence) <= most_in_a_sequence, "[onnx] a sequence of ", sequence.size(),
          " values; at most ", most_in_a_sequence, " are supported");
  for (const Value& each : sequence)
    require(each.is_tensor(), "[onnx] a sequence of sequences; its elements must be tensors");
  return sequence;
}

// A place that the input names, from the end where it is negative.
std::size_t place_in(const Call& call, std::size_t input, std::int64_t places) {
  const std::int64_t given = call.scalar(input).as_integer();
  const std::int64_t place = given < 0 ? given + places : given;
  require(place >= 0 && place < places, "[onnx] place ", given, " of a sequence where ", places,
          " are possible");
  return static_cast<std::size_t>(place);
}

Value element(const Call& call) {
  const Sequence& sequence = call.value(0).sequence();
  return sequence[place_in(call, 1, std::ssize(sequence))];
}
Value inserted(const Call& call) {
  Sequence sequence = call.value(0).sequence();
  const std::int64_t count = std::ssize(sequence);
  std::size_t place = sequence.size();
  if (call.has(2) && call.scalar(2).as_integer() != count) place = place_in(call, 2, count);
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(place), call.value(1));
  return short_enough(std::move(sequence));
}
Value erased(const Call& call) {
  Sequence sequence = call.value(0).sequence();
  const std::int64_t count = std::ssize(sequence);
  require(count > 0, "[onnx] an empty sequence has no element to erase");
  const std::size_t place = call.has(1) ? place_in(call, 1, count) : sequence.size() - 1;
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(place));
  return sequence;
}

Value joined(const Call& call) {
  const Sequence& parts = call.value(0).sequence();
  require(!parts.empty(), "[onnx] an empty sequence has nothing to join");
  const bool is_new = call.flag("new_axis", false);
  const int axis = call.axis_within("axis", {}, parts[0].shape().rank() + is_new);
  if (is_new && axis == 0) return stacked(parts);
  std::vector<Tensor> tensors;
  for (const Value& part : parts)
    tensors.push_back(is_new ? part.tensor().unsqueeze(axis) : part.tensor());
  return cat(tensors, axis);
}

// Into parts of one size, the last one of what is left, or of the sizes of a list; without either,
// of single elements, whose axis may go.
Value split(const Call& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis_within("axis", 0, x.rank());
  const std::int64_t size = x.size(axis);
  const bool keeps = call.flag("keepdims", true) || call.has(1);
  Shape sizes;
  if (call.has(1) && call.rank(1) == 1) {
    sizes = parts_of(size, call.integers(1));
  } else {
    const std::int64_t each = call.has(1) ? call.scalar(1).as_integer() : 1;
    require(each > 0, "[onnx] parts of size ", each, "; a size above 0 is wanted");
    require(size / each < most_in_a_sequence, "[onnx] an axis of ", size, " in parts of ", each,
            "; a sequence has at most ", most_in_a_sequence);
    for (std::int64_t at = 0; at < size; at += each) sizes.push_back(std::min(each, size - at));
  }
  Sequence parts;
  std::int64_t start = 0;
  for (std::int64_t each : sizes) {
    parts.emplace_back(keeps ? x.slice(axis, start, start + each) : x.select(axis, start));
    start += each;
  }
  return short_enough(std::move(parts));
}

// The body for the elements of sequences, the same tensors in each turn besides.
Results mapped(const Call& call) {
  const Graph& body = call.graph("body");
  const std::vector<Value> operands = call.values_from(0);
  const std::size_t turns = call.value(0).sequence().size();
  std::vector<Sequence> given(body.outputs.size());
  for (std::size_t i = 0; i < turns; ++i) {
    std::vector<Value> inputs;
    for (const Value& operand : operands) {
      if (operand.is_tensor()) {
        inputs.push_back(operand);
        continue;
      }
      require(operand.sequence().size() == turns, "[onnx] sequences of ", turns, " and ",
              operand.sequence().size(), " values; all must be as long");
      inputs.push_back(operand.sequence()[i]);
    }
    std::vector<Value> results = run(body, std::move(inputs), call.execution());
    for (std::size_t k = 0; k < results.size(); ++k) given[k].push_back(std::move(results[k]));
  }
  Results results;
  for (Sequence& each : given) results.push_back(short_enough(std::move(each)));
  return results;
}

Value number_of_elements(const Call& call) {
  return Known{i64, {}, {Number(std::ssize(call.value(0).sequence()))}};
}

Value optional(const Call& call) {
  call.has("type");
  return call.has(0) ? call.value(0) : Value::absent();
}
Value is_there(const Call& call) {
  const bool is_there = call.has(0) && !call.value(0).is_absent();
  return Known{DType::boolean, {}, {Number(is_there ? 1 : 0)}};
}
Value what_is_there(const Call& call) {
  require(!call.value(0).is_absent(),
          "[onnx] the optional value is absent; OptionalHasElement "
          "says whether it is there");
  return call.value(0);
}

constexpr Operator rows[] = {
    {"ConcatFromSequence", 11, by<joined>},
    {"Optional", 15, by<optional>},
    {"OptionalGetElement", 15, by<what_is_there>},
    {"OptionalHasElement", 15, by<is_there>},
    {"SequenceAt", 11, by<element>},
    {"SequenceConstruct", 11, [](const Call& c) { return short_enough(c.values_from(0)); }},
    {"SequenceEmpty", 11,
     [](const Call& c) {
       c.dtype("dtype", f32);
       return Value(Sequence());
     }},
    {"SequenceErase", 11, by<erased>},
    {"SequenceInsert", 11, by<inserted>},
    {"SequenceLength", 11, by<number_of_elements>},
    {"SequenceMap", 17, by<mapped>},
    {"SplitToSequence", 11, by<split>},
};

}  // namespace
}  // namespace sequence_rows

std::span<const Operator> sequence_operators() { return sequence_rows::rows; }

}  // namespace tilewright::onnx
