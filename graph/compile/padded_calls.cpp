#include "graph/compile/padded_calls.h"

#include <algorithm>
#include <cstring>
#include <range/v3/view/zip.hpp>
#include <utility>

#include "graph/compile/captures/verify_capture.h"
#include "graph/ops/padding_proof.h"
#include "graph/passes/passes.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/precision/autocast.h"
#include "graph/tensor/recording/graph_break.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// Sizes by the buckets that were declared.
std::vector<Shape> padded_shapes(const Call& call, const DeclaredSizes& declared,
                                 const std::vector<std::string>& names) {
  std::vector<Shape> shapes;
  for (auto&& [argument, name] : ranges::views::zip(call.arguments, names)) {
    Shape shape = argument.shape();
    for (const auto& [axis, sizes] : declared.of(name).axes)
      if (sizes && axis < shape.rank()) shape[axis] = bucket_of(*sizes, shape[axis]);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

bool is_same_place(const Tensor& a, const Tensor& b) {
  return memory_of(a) == memory_of(b) && address_of(*a.body()) == address_of(*b.body());
}

// An imported model's node says more than the line of the code that runs it. The function is
// captured once more, since what it records then has the same numbers.
void name_foreign_node(PaddingProof& proof, const Call& call, const Signature& given) {
  const RecorderOf recorder(*proof.node);
  run_over_symbols(call.function, given);
  if (!recorder.text().empty())
    proof.obstacle = concat(proof.operation, " in ", recorder.text(), ": ", proof.reason);
}

PaddingProof prove(const Call& call, const Signature& given, const Signature& padded,
                   const Device& device) {
  SymbolicRun here = run_over_symbols(call.function, given),
              there = run_over_symbols(call.function, padded);
  if (!here.captured.logs.empty()) return {"it prints or logs a value", {}};
  for (const ResultOrigin& origin : here.origins)
    if (origin.input) return {"it returns an argument or a view of one", {}};
  const std::vector<Tensor>&a = here.captured.captured, &b = there.captured.captured;
  if (a.size() != b.size() || here.returned.form != there.returned.form)
    return {"the function computes something else for the padded sizes", {}};
  const std::size_t arguments = given.size();
  PaddingProof proof = prove_padding(
      decompose(here.captured.graph, device.target()),
      decompose(there.captured.graph, device.target()), arguments,
      [&](std::size_t i) { return is_same_place(a[i - arguments], b[i - arguments]); });
  if (proof.node) name_foreign_node(proof, call, given);
  return proof;
}

Hash key_of(const Call& call) {
  Hasher hasher;
  hasher.add(call.form);
  if (const auto autocast = autocast_state())
    hasher.add(autocast->dtype).add(static_cast<int>(autocast->lists));
  for (const Tensor& argument : call.arguments) hasher.add(argument.dtype()).add(argument.shape());
  return hasher.finish();
}

}  // namespace

PaddedCalls::Known* PaddedCalls::find(const Hash& key, const Call& call,
                                      const DeclaredSizes& declared) {
  const auto [first, end] = known_.equal_range(key);
  for (auto each = first; each != end; ++each) {
    Known& known = each->second;
    if (known.form == call.form && matches(known.given, call.arguments) &&
        declared.knows(call.arguments, known.sizes) && known.changes == handle_changes().count() &&
        known.guarded_changes == guarded_changes())
      return &known;
  }
  return nullptr;
}

PaddedCalls::Known PaddedCalls::look_at(const Call& call, DeclaredSizes& declared,
                                        const Device& device) {
  const std::vector<std::string> names = names_of(call.describe());
  declared.take_all(names, call.arguments);
  Known result{signature_of(call.arguments, device), call.form,
               declared.looked_at(names, call.arguments), handle_changes().count(),
               guarded_changes()};
  std::vector<Shape> shapes = padded_shapes(call, declared, names);
  Signature longer = result.given;
  for (auto&& [argument, shape] : ranges::views::zip(longer, shapes)) {
    if (argument.shape == shape) continue;
    argument.strides = row_major_strides(shape);
    argument.shape = shape;
  }
  if (longer == result.given) return result;
  try {
    PaddingProof proof = prove(call, result.given, longer, device);
    result.obstacle = std::move(proof.obstacle);
    result.results = std::move(proof.results);
  } catch (const std::exception& error) {
    result.obstacle = error.what();
  }
  if (result.obstacle.empty()) result.arguments = std::move(shapes);
  return result;
}

const PaddedCalls::Known* PaddedCalls::known(const Call& call, DeclaredSizes& declared,
                                             const Device& device, std::size_t most) {
  if (!declared.has_buckets() && !has_buckets(call.arguments)) [[likely]]
    return nullptr;
  const Hash key = key_of(call);
  Known* found = find(key, call, declared);
  if (found == nullptr) {
    Known made = look_at(call, declared, device);
    for (auto [each, end] = known_.equal_range(key); each != end;) {
      const Known& old = each->second;
      each =
          old.form == made.form && old.given == made.given ? known_.erase(each) : std::next(each);
    }
    if (known_.size() >= most)
      known_.erase(std::ranges::min_element(known_, {},
                                            [](const auto& entry) { return entry.second.used; }));
    if (!made.obstacle.empty() && !std::exchange(has_told_, true))
      untold_ = concat("(", to_string(made.given), "): ", made.obstacle);
    found = &known_.emplace(key, std::move(made))->second;
  }
  found->used = ++calls_;
  return found->arguments.empty() ? nullptr : found;
}

std::string PaddedCalls::text(const Signature& signature) const {
  for (const auto& [key, known] : known_)
    if (!known.obstacle.empty() && known.given == signature)
      return concat("not padded: ", known.obstacle);
  return {};
}

std::vector<Tensor> padded(const std::vector<Tensor>& tensors, const std::vector<Shape>& shapes) {
  std::vector<Tensor> result = tensors;
  for (auto&& [tensor, shape] : ranges::views::zip(result, shapes)) {
    if (tensor.shape() == shape) continue;
    Tensor longer = zeros(shape, tensor.dtype()).to(tensor.device());
    StridedView front = longer.body()->view;
    front.shape = tensor.shape();
    copy_elements(make_tensor(tensor.dtype(), front, longer.body()->buffer), tensor);
    tensor = longer;
  }
  return result;
}

void cut(std::vector<Tensor>& results, const std::vector<Shape>& shapes) {
  for (auto&& [result, shape] : ranges::views::zip(results, shapes)) {
    if (result.shape() == shape) continue;
    const TensorBody& whole = *result.body();
    StridedView front = whole.view;
    front.shape = shape;
    Tensor part = make_tensor(whole.dtype, front, whole.buffer);
    part.body()->token = whole.token;
    result = is_row_major(front.shape, front.strides) ? part : copy_to(part, part.device());
  }
}

}  // namespace tilewright::graph
