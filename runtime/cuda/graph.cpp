#include "runtime/cuda/graph.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/trace.h"

namespace tilewright::cuda {
namespace {

// "a graph of 7 kernels (a 4 times, b, c 2 times)", in the order in which they come first.
std::string describe_graph(const std::vector<PreparedLaunch>& launches, std::int64_t times) {
  constexpr std::size_t most = 12;
  std::vector<std::pair<const LoadedKernel*, std::int64_t>> kernels;
  for (const PreparedLaunch& launch : launches) {
    auto same = [&](const auto& known) { return known.first == &launch.kernel(); };
    auto found = std::ranges::find_if(kernels, same);
    if (found == kernels.end()) found = kernels.insert(found, {&launch.kernel(), 0});
    found->second += times;
  }
  std::string text = concat("a graph of ", std::ssize(launches) * times, " kernels (");
  for (std::size_t i = 0; i < std::min(kernels.size(), most); ++i) {
    text += concat(i == 0 ? "" : ", ", kernels[i].first->name);
    if (kernels[i].second > 1) text += concat(" ", kernels[i].second, " times");
  }
  if (kernels.size() > most) text += concat(" and ", kernels.size() - most, " others");
  return text + ")";
}

}  // namespace

KernelGraph::KernelGraph(Context& context, const std::vector<PreparedLaunch>& launches,
                         std::int64_t times)
    : context_(context),
      launches_(launches),
      times_(times),
      text_(std::make_shared<const std::string>(describe_graph(launches, times))) {
  context_.make_current();
  must(driver().cuGraphCreate(&graph_, 0), "cuGraphCreate");
  try {
    for (std::int64_t i = 0; i < times; ++i) add_nodes();
    must(driver().cuGraphInstantiateWithFlags(&executable_, graph_, 0),
         "cuGraphInstantiateWithFlags", *text_);
    must(driver().cuGraphUpload(executable_, context_.stream()), "cuGraphUpload");
  } catch (...) {
    if (executable_ != nullptr) driver().cuGraphExecDestroy(executable_);
    driver().cuGraphDestroy(graph_);
    throw;
  }
}

void KernelGraph::add_nodes() {
  for (const PreparedLaunch& launch : launches_) {
    KernelNodeParams params = launch.node_params();
    bool early = launch.kernel().waits_by_itself && driver().cuGraphAddDependencies != nullptr;
    GraphNodeHandle node = nullptr;
    const GraphNodeHandle* before = nodes_.empty() ? nullptr : &nodes_.back();
    std::size_t plain = before == nullptr || early ? 0 : 1;
    must(driver().cuGraphAddKernelNode(&node, graph_, before, plain, &params),
         "cuGraphAddKernelNode", launch.kernel().name);
    if (launch.kernel().cluster > 1) {
      LaunchAttributeValue value{};
      value.cluster = {static_cast<unsigned>(launch.kernel().cluster), 1, 1};
      must(driver().cuGraphKernelNodeSetAttribute(node, LaunchAttributeId::cluster, &value),
           "cuGraphKernelNodeSetAttribute", launch.kernel().name);
    }
    if (early && before != nullptr) {
      GraphEdge edge{.from_port = GraphEdge::programmatic, .type = GraphEdge::programmatic};
      must(driver().cuGraphAddDependencies(graph_, before, &node, &edge, 1),
           "cuGraphAddDependencies", launch.kernel().name);
    }
    nodes_.push_back(node);
  }
}

KernelGraph::~KernelGraph() {
  const Driver& table = driver();
  table.cuCtxSetCurrent(context_.handle());
  table.cuGraphExecDestroy(executable_);
  table.cuGraphDestroy(graph_);
}

void KernelGraph::update(std::size_t i) {
  context_.make_current();
  KernelNodeParams params = launches_[i].node_params();
  const std::string& name = launches_[i].kernel().name;
  for (; i < nodes_.size(); i += launches_.size())
    must(driver().cuGraphExecKernelNodeSetParams(executable_, nodes_[i], &params),
         "cuGraphExecKernelNodeSetParams", name);
}

void KernelGraph::start() {
  if (nodes_.empty()) return;
  if (runs_one_by_one()) {
    for (std::int64_t i = 0; i < times_; ++i)
      for (const PreparedLaunch& launch : launches_) launch.start();
    return;
  }
  TraceSpan span("launch", *text_);
  context_.make_current();
  note_graph(text_);
  must(driver().cuGraphLaunch(executable_, context_.stream()), "cuGraphLaunch", *text_);
}

}  // namespace tilewright::cuda
