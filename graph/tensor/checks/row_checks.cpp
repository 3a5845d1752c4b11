#include "graph/tensor/checks/row_checks.h"

#include <iterator>
#include <utility>

#include "graph/tensor/index_ranges.h"

namespace tilewright::graph {
namespace {

FindInput on_the_host(const std::vector<bool>& lies_on_host) {
  return [&](std::size_t input, const StridedView& elements) -> std::optional<InputElements> {
    if (!lies_on_host[input]) return std::nullopt;
    return InputElements{input, offsets_of(elements), element_count(elements.shape)};
  };
}

}  // namespace

RowChecks::RowChecks(Graph& captured, IndexChecks wanted, std::vector<bool> lies_on_host,
                     const dsl::Target& target)
    : wanted_(wanted), lies_on_host_(std::move(lies_on_host)) {
  for (const IndexCheck& check : captured.index_checks) noted_.push_back(check.range.where);
  if (wanted == IndexChecks::none)
    captured.index_checks.clear();
  else
    take(captured, sites_of_captured(captured, on_the_host(lies_on_host_),
                                     wanted == IndexChecks::all, target));
}

void RowChecks::add_primitive(Graph& graph) {
  if (wanted_ != IndexChecks::none)
    take(graph, sites_of_primitive(graph, on_the_host(lies_on_host_), wanted_ == IndexChecks::all,
                                   noted_));
}

void RowChecks::take(Graph& graph, IndexSites sites) {
  std::ranges::move(sites.known, std::back_inserter(known_));
  for (Extrema& extrema : sites.computed) {
    graph.outputs.push_back(extrema.least);
    graph.outputs.push_back(extrema.greatest);
    computed_.push_back(std::move(extrema.range));
  }
}

void RowChecks::before(const std::function<const Tensor&(std::size_t)>& input) const {
  for (const auto& [range, elements] : known_)
    require_inside_at(range, *input(elements.input).body(), elements.offsets, elements.count);
}

void RowChecks::after(std::vector<Tensor>& outputs) const {
  if (computed_.empty()) [[likely]]
    return;
  const std::size_t own = outputs.size() - 2 * computed_.size();
  auto number = [&](std::size_t output) {
    return outputs[own + output].to(Device::cpu()).reshape({}).item<std::int64_t>();
  };
  for (std::size_t i = 0; i < computed_.size(); ++i) {
    const std::int64_t least = number(2 * i), greatest = number(2 * i + 1);
    if (least > greatest) continue;  // in no turn and no branch
    if (!is_inside(computed_[i], least)) raise_outside(computed_[i], least);
    if (!is_inside(computed_[i], greatest)) raise_outside(computed_[i], greatest);
  }
  outputs.resize(own);
}

}  // namespace tilewright::graph
