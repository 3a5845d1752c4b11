// Choices and loops, whose bodies are graphs of the program.
#include "graph/functions/control/control_flow.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/tensor/guarded.h"
#include "models/files/reader.h"
#include "models/onnx/control/choice.h"
#include "models/onnx/control/loops.h"
#include "models/onnx/control/running.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace control_rows {
namespace {

Tensors tensors_of(const std::vector<Value>& values) {
  Tensors tensors;
  for (const Value& value : values) tensors.push_back(value.tensor());
  return tensors;
}

// The axes and directions of slicing and stacking, if not along the first axis from the first
// element on.
struct Sides {
  std::vector<std::int64_t> axes, reversed;
};
Sides sides_of(const Call& call, std::string_view axes, std::string_view directions,
               std::size_t count) {
  Sides sides;
  for (auto [name, list] : {std::pair{axes, &sides.axes}, {directions, &sides.reversed}}) {
    const Shape given = call.integers(name, Shape{});
    list->assign(given.begin(), given.end());
    require(list->empty() || list->size() == count, "[onnx] the attribute \"", name, "\" has ",
            list->size(), " entries; ", count, " are wanted");
    list->resize(count);
  }
  return sides;
}
Tensor turned(const Tensor& x, std::int64_t is_reversed) {
  return is_reversed != 0 ? flip(x, {0}) : x;
}

// With an axis in another place, the others in their order.
Tensor moved(const Tensor& x, int from, int to) {
  std::vector<int> order;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(order.begin() + to, from);
  return x.permute(order);
}

// The body for each element of the sliced tensors, along first axes.
std::pair<Tensors, Tensors> scanned(const Call& call, const Tensors& carried,
                                    const Tensors& sliced) {
  const Graph& body = call.graph("body");
  const auto count = std::ssize(carried);
  require(std::ssize(body.outputs) >= count, "[onnx] the body \"", json::excerpt(body.name),
          "\" gives ", body.outputs.size(), " values; ", count, " are carried");
  auto turn = [&](const Tensors& state, const Tensors& elements) -> Turn {
    std::vector<Value> inputs(state.begin(), state.end());
    inputs.insert(inputs.end(), elements.begin(), elements.end());
    Tensors all = tensors_of(run(body, std::move(inputs), call.execution()));
    return {Tensors(all.begin(), all.begin() + count), Tensors(all.begin() + count, all.end())};
  };
  for (const Tensor& each : sliced)
    require(each.rank() > 0 && each.size(0) == sliced[0].size(0), "[onnx] a scan of tensors [",
            sliced[0].shape(), "] and [", each.shape(),
            "], sliced along first axes; these must have one size");
  const std::int64_t turns = sliced[0].size(0);
  if (turns == 0) {
    Tensors elements, given;
    for (const Tensor& each : sliced)
      elements.push_back(zeros(Shape(each.shape().begin() + 1, each.shape().end()), each.dtype()));
    for (const Tensor& each : turn(carried, elements).given) {
      Shape shape = {0};
      shape.insert(shape.end(), each.shape().begin(), each.shape().end());
      given.push_back(zeros(shape, each.dtype()));
    }
    return {carried, given};
  }
  constexpr std::int64_t few_turns = 16;  // that are no loop of the graph
  try {
    return scan(turn, carried, sliced, {.few_turns = few_turns});
  } catch (const Error&) {
    constexpr std::int64_t most_recorded_turns = 1024;
    if (!graph::is_capturing() || turns <= few_turns || turns > most_recorded_turns) throw;
  }
  return scan(turn, carried, sliced, {.few_turns = turns});
}

std::size_t sliced_count(const Call& call, std::size_t given) {
  const std::int64_t count = call.integer("num_scan_inputs");
  if (count < 1 || count > static_cast<std::int64_t>(given))
    call.refuse("num_scan_inputs", concat("is ", count, "; 1 to ", given, " are given"));
  return static_cast<std::size_t>(count);
}

// Since operator set 9: carried values, then what is sliced.
Results scan_along(const Call& call) {
  Tensors carried = tensors_of(call.values_from(0)), sliced;
  const std::size_t count = sliced_count(call, carried.size()), first = carried.size() - count;
  const Sides in = sides_of(call, "scan_input_axes", "scan_input_directions", count);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& x = carried[first + i];
    sliced.push_back(turned(moved(x, call.within(in.axes[i], x.rank()), 0), in.reversed[i]));
  }
  carried.resize(first);
  const Graph& body = call.graph("body");
  require(body.outputs.size() >= first, "[onnx] the body \"", json::excerpt(body.name), "\" gives ",
          body.outputs.size(), " values; ", first, " are carried");
  const Sides out =
      sides_of(call, "scan_output_axes", "scan_output_directions", body.outputs.size() - first);
  auto [last, all] = scanned(call, carried, sliced);
  Results results(last.begin(), last.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Tensor stack = turned(all[i], out.reversed[i]);
    results.emplace_back(moved(stack, 0, call.within(out.axes[i], stack.rank())));
  }
  return results;
}

// For operator set 8, where all have a batch first, and the lengths of sequences may be given.
Results scan_batches(const Call& call) {
  require(!call.has(0), "[onnx] the lengths of sequences are not supported; leave them out");
  Tensors carried = tensors_of(call.values_from(1)), sliced;
  const std::size_t count = sliced_count(call, carried.size()), first = carried.size() - count;
  const Sides in = sides_of(call, "", "directions", count);
  std::vector<Tensors> results;
  for (const Tensor& each : carried)
    require(each.rank() > 0 && each.size(0) == carried[0].size(0) && each.size(0) > 0,
            "[onnx] a scan of tensors [", carried[0].shape(), "] and [", each.shape(),
            "]; the first axis is the batch, of one size, not empty");
  for (std::int64_t batch = 0; batch < carried[0].size(0); ++batch) {
    Tensors state, elements;
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (i < first)
        state.push_back(carried[i].select(0, batch));
      else
        elements.push_back(turned(carried[i].select(0, batch), in.reversed[i - first]));
    auto [last, all] = scanned(call, state, elements);
    last.insert(last.end(), all.begin(), all.end());
    results.resize(last.size());
    for (std::size_t i = 0; i < last.size(); ++i) results[i].push_back(last[i].unsqueeze(0));
  }
  Results joined;
  for (const Tensors& each : results) joined.emplace_back(cat(each, 0));
  return joined;
}

constexpr Operator rows[] = {
    {"If", 1, by<chosen>},
    {"Loop", 1, by<looped>},
    {"Scan", 8, by<scan_batches>},
    {"Scan", 9, by<scan_along>},
};

}  // namespace
}  // namespace control_rows

std::span<const Operator> control_operators() { return control_rows::rows; }

}  // namespace tilewright::onnx
