#include "graph/compile/segments/segment_table.h"

#include <algorithm>
#include <utility>

#include "graph/compile/bindings/frozen_values.h"
#include "graph/compile/bindings/weight_copies.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/segments/segment_numbers.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

constexpr std::size_t most_segments = 64;    // of a function
constexpr std::size_t most_sightings = 256;  // of segments that are not in a full table
constexpr int sightings_to_compile = 3;

// A hash of everything but numbers.
Hash key_of(Graph graph, const Signature& inputs, const std::vector<bool>& weights,
            bool sizes_vary) {
  for (Node& node : graph.nodes)
    if (node.op == Op::full) node.attributes.number = 0, node.attributes.start = 0;
  Hasher hasher;
  hasher.add(content_hash(graph)).add(sizes_vary);
  for (const ArgumentType& input : inputs)
    hasher.add(input.is_aligned).add(reinterpret_cast<std::uintptr_t>(input.memory));
  for (bool is_weight : weights) hasher.add(is_weight);
  return hasher.finish();
}

}  // namespace

// True if the stance allows one more plan.
static bool may_compile(const std::string& end) {
  const Stance now = stance();
  require(now != Stance::fail_on_recompile,
          "[compile] the stance is fail_on_recompile, and the function comes to a segment that was "
          "not compiled before, the one to ",
          end, "; make calls that go this way before the stance is set");
  return now != Stance::eager_on_recompile;
}

bool SegmentTable::has_place(const Hash& key) {
  if (segments_.size() < most_segments) return true;
  if (sightings_.size() >= most_sightings) sightings_.clear();
  if (++sightings_[key] < sightings_to_compile) return false;
  sightings_.erase(key);
  auto least = std::ranges::min_element(segments_, {}, [](const auto& s) { return s->used; });
  for (const auto& segment : segments_) segment->followers.remove(**least);
  (*least)->followers.clear();
  segments_.erase(least);
  return true;
}

std::shared_ptr<Segment> SegmentTable::find(const Graph& graph, const std::vector<Tensor>& inputs,
                                            const std::vector<bool>& weights,
                                            const ResolvedOptions& options,
                                            const std::string& end) {
  auto segment = std::make_shared<Segment>();
  segment->inputs = signature_of(inputs, options.plan.device);
  segment->weights = weights;
  segment->key = key_of(graph, segment->inputs, weights, options.plan.sizes_vary);
  auto known = std::ranges::find(segments_, segment->key, [](const auto& s) { return s->key; });
  if (known != segments_.end()) return *known;
  if (!may_compile(end)) return nullptr;
  if (!has_place(segment->key)) {
    add(unkept_, {{"backend", concat("the function has more than ", most_segments,
                                     " segments, and those that come next run op by op until one "
                                     "has come three times, as the one to ",
                                     end)}});
    return nullptr;
  }
  segment->graph = graph;
  segment->graph.input_strides.resize(segment->graph.inputs.size());
  segment->numbers = numbers_of(segment->graph);
  segment->end = end;
  segment->used = runs_;
  compile(*segment, std::vector<bool>(segment->numbers.size()), inputs, options);
  segments_.push_back(segment);
  return segment;
}

void SegmentTable::compile(Segment& segment, std::vector<bool> varies,
                           const std::vector<Tensor>& inputs, const ResolvedOptions& options) {
  std::vector<Tensor> varying = tensors_of_numbers(segment.graph, varies), all = inputs;
  all.insert(all.end(), varying.begin(), varying.end());
  Graph graph = segment.graph;
  set_numbers(graph, segment.numbers);
  if (!graph.outputs.empty() || !graph.mutations.empty()) {
    TraceSpan span("compile", "plan");
    UnkeptOptions found;
    segment.plan = std::make_unique<SegmentPlan>(with_inputs(std::move(graph), varies), all,
                                                 segment.weights, options, arenas_);
    segment.unkept = found.take();
    add(unkept_, segment.unkept);
  }
  segment.varies = std::move(varies);
  segment.varying = std::move(varying);
  if (segment.plan == nullptr) return;
  if (is_logged(LogTopic::fusion)) log_line(concat("[compile] ", explain(segment.plan->report())));
}

bool SegmentTable::admit(Segment& segment, const std::vector<RecordedNumber>& numbers,
                         const std::vector<Tensor>& inputs, const ResolvedOptions& options) {
  bool is_new = false;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!segment.varies[i] && numbers[i] != segment.numbers[i]) is_new = true;
  if (!is_new) [[likely]]
    return true;
  if (segment.plan != nullptr && !may_compile(segment.end)) return false;
  std::vector<bool> varies = segment.varies;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != segment.numbers[i]) varies[i] = true;
  compile(segment, std::move(varies), inputs, options);
  return true;
}

void SegmentTable::run(Segment& segment, const std::vector<RecordedNumber>& numbers,
                       std::vector<Tensor>& inputs, bool is_measured,
                       std::vector<std::shared_ptr<Buffer>>& results) {
  segment.used = ++runs_;
  results.clear();
  if (segment.plan == nullptr) return;
  for (std::size_t i = 0, at = 0; i < numbers.size(); ++i) {
    if (!segment.varies[i]) continue;
    write_number(segment.varying[at], numbers[i]);
    inputs.push_back(segment.varying[at++]);
  }
  segment.plan->run(inputs, is_measured, results);
  const std::vector<PlanOutput>& outputs = segment.plan->outputs();
  for (std::size_t i = 0; i < segment.graph.outputs.size(); ++i) {
    std::shared_ptr<Buffer>& own = results[i];
    const auto before = results.begin() + static_cast<std::ptrdiff_t>(i);
    if (outputs[i].input)
      own = copy_row_major(inputs[static_cast<std::size_t>(*outputs[i].input)]).body()->buffer;
    else if (std::find(results.begin(), before, own) != before)  // equal values
      own = copy_row_major(make_tensor(outputs[i].dtype, row_major(outputs[i].shape), own))
                .body()
                ->buffer;
  }
}

void SegmentTable::unfreeze(const std::shared_ptr<Buffer>& written) {
  weights_.note_written(written);
  if (!written->is_read_only()) return;
  for (const auto& segment : segments_)
    if (segment->plan != nullptr) segment->plan->forget(*written);
  if (!has_packed_copy(*written) && !has_values_of(*written)) written->allow_writes();
}

// Segments follow each other in circles.
void SegmentTable::clear() {
  for (const auto& segment : segments_) segment->followers.clear();
  segments_.clear();
  sightings_.clear();
}

std::vector<PlanReport> SegmentTable::report() const {
  std::vector<PlanReport> result;
  for (const auto& segment : segments_) {
    if (segment->plan == nullptr) continue;
    result.push_back(segment->plan->report());
    result.back().segment = segment->end;
    result.back().unkept = segment->unkept;
  }
  return result;
}

std::string SegmentTable::dump() const {
  std::string text;
  for (const auto& segment : segments_)
    if (segment->plan != nullptr)
      text += concat("# segment to ", segment->end, "\n", segment->plan->dump());
  return text;
}

std::vector<std::shared_ptr<const BackgroundPlan>> SegmentTable::tunings() const {
  std::vector<std::shared_ptr<const BackgroundPlan>> result;
  for (const auto& segment : segments_)
    if (segment->plan != nullptr)
      if (auto tuning = segment->plan->tuning()) result.push_back(std::move(tuning));
  return result;
}

}  // namespace tilewright::graph
