#include "runtime/cuda/graph.h"

#include "runtime/base/error.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/error.h"

namespace tilewright::cuda {

KernelGraph::KernelGraph(Context& context, const std::vector<PreparedLaunch>& launches)
    : context_(context), launches_(launches) {
  context_.make_current();
  must(driver().cuGraphCreate(&graph_, 0), "cuGraphCreate");
  try {
    add_nodes();
    must(driver().cuGraphInstantiateWithFlags(&executable_, graph_, 0),
         "cuGraphInstantiateWithFlags", concat("a graph of ", launches.size(), " kernels"));
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
  must(driver().cuGraphExecKernelNodeSetParams(executable_, nodes_[i], &params),
       "cuGraphExecKernelNodeSetParams", launches_[i].kernel().name);
}

void KernelGraph::start() {
  if (nodes_.empty()) return;
  if (runs_one_by_one()) {
    for (const PreparedLaunch& launch : launches_) launch.start();
    return;
  }
  context_.make_current();
  const unsigned grid[3] = {1, 1, 1};
  note_launch(launches_.back().kernel().name.c_str(), grid, 0);
  must(driver().cuGraphLaunch(executable_, context_.stream()), "cuGraphLaunch",
       concat("a graph of ", nodes_.size(), " kernels, the last ", launches_.back().kernel().name));
}

}  // namespace tilewright::cuda
