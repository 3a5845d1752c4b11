// The fake driver's graphs of kernels.
#include <algorithm>
#include <set>

#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

using Edge = std::pair<GraphNodeHandle, GraphNodeHandle>;

bool has_node(const Graph& graph, GraphNodeHandle node) {
  return std::find(graph.nodes.begin(), graph.nodes.end(), node) != graph.nodes.end();
}

Result prepare_node(State& s, int device, const KernelNodeParams& params, PreparedLaunch* launch) {
  if (params.kernel != nullptr) return Result::not_supported;
  if (params.context != nullptr) {
    std::optional<int> named = s.device_of(params.context);
    if (!named) return invalid_context;
    device = *named;
  }
  return prepare(s, device, params.function, params.grid, params.block, params.shared_bytes,
                 params.arguments, params.extra, launch);
}

// Of those that may run, the one that was added last comes first. Fewer than all where there is a
// cycle.
std::vector<GraphNodeHandle> late_order(const Graph& graph) {
  std::map<GraphNodeHandle, std::size_t> place, waits_for;
  std::map<GraphNodeHandle, std::vector<GraphNodeHandle>> successors;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) place[graph.nodes[i]] = i;
  for (const auto& [from, to] : graph.edges) {
    ++waits_for[to];
    successors[from].push_back(to);
  }
  std::set<std::size_t> may_run;
  for (GraphNodeHandle node : graph.nodes)
    if (waits_for[node] == 0) may_run.insert(place[node]);
  std::vector<GraphNodeHandle> order;
  while (!may_run.empty()) {
    GraphNodeHandle node = graph.nodes[*may_run.rbegin()];
    may_run.erase(std::prev(may_run.end()));
    order.push_back(node);
    for (GraphNodeHandle next : successors[node])
      if (--waits_for[next] == 0) may_run.insert(place[next]);
  }
  return order;
}

}  // namespace

Result cuGraphCreate(GraphHandle* graph, unsigned flags) {
  if (flags != 0) return Result::invalid_value;
  *graph = state().graphs.add(std::make_shared<Graph>());
  return Result::success;
}

Result cuGraphDestroy(GraphHandle handle) {
  State& s = state();
  std::shared_ptr<Graph> graph = s.graphs.find(handle);
  if (graph == nullptr) return invalid_handle;
  for (GraphNodeHandle node : graph->nodes) s.nodes.remove(node);
  s.graphs.remove(handle);
  return Result::success;
}

Result cuGraphAddKernelNode(GraphNodeHandle* node, GraphHandle handle, const GraphNodeHandle* after,
                            std::size_t count, const KernelNodeParams* params) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Graph> graph = s.graphs.find(handle);
  if (graph == nullptr) return invalid_handle;
  std::set<GraphNodeHandle> befores(after, after + count);
  if (befores.size() != count) return Result::invalid_value;
  for (GraphNodeHandle before : befores)
    if (!has_node(*graph, before)) return Result::invalid_value;
  auto made = std::make_shared<GraphNode>();
  if (Result result = prepare_node(s, device, *params, &made->launch); result != Result::success)
    return result;
  *node = s.nodes.add(std::move(made));
  graph->nodes.push_back(*node);
  for (GraphNodeHandle before : befores) graph->edges.emplace_back(before, *node);
  return Result::success;
}

Result cuGraphKernelNodeSetAttribute(GraphNodeHandle handle, LaunchAttributeId id,
                                     const LaunchAttributeValue* value) {
  std::shared_ptr<GraphNode> node = state().nodes.find(handle);
  if (node == nullptr) return invalid_handle;
  return set_attribute(node->launch, id, *value);
}

// An edge that lets the second kernel start early orders them like another: when the first lets it
// is the kernels' affair, and the emulator's kernels end first.
Result cuGraphAddDependencies(GraphHandle handle, const GraphNodeHandle* from,
                              const GraphNodeHandle* to, const GraphEdge* edges,
                              std::size_t count) {
  std::shared_ptr<Graph> graph = state().graphs.find(handle);
  if (graph == nullptr) return invalid_handle;
  std::vector<Edge> all = graph->edges;
  for (std::size_t i = 0; i < count; ++i) {
    Edge edge{from[i], to[i]};
    bool is_new = std::find(all.begin(), all.end(), edge) == all.end();
    if (!is_new || from[i] == to[i] || !has_node(*graph, from[i]) || !has_node(*graph, to[i]))
      return Result::invalid_value;
    if (edges != nullptr) {
      bool is_programmatic = edges[i].type == GraphEdge::programmatic;
      if (edges[i].type > GraphEdge::programmatic || edges[i].to_port != 0 ||
          edges[i].from_port > 2 || is_programmatic != (edges[i].from_port != 0))
        return Result::invalid_value;
      for (unsigned char byte : edges[i].reserved)
        if (byte != 0) return Result::invalid_value;
    }
    all.push_back(edge);
  }
  graph->edges = std::move(all);
  return Result::success;
}

Result cuGraphInstantiateWithFlags(GraphExecHandle* executable, GraphHandle handle,
                                   unsigned long long flags) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Graph> graph = s.graphs.find(handle);
  if (graph == nullptr) return invalid_handle;
  if (flags != 0) return Result::not_supported;
  auto made = std::make_shared<GraphExec>();
  made->device = device;
  made->order = late_order(*graph);
  if (made->order.size() != graph->nodes.size()) return Result::invalid_value;
  for (GraphNodeHandle node : graph->nodes)
    made->launches[node] = std::make_shared<const PreparedLaunch>(s.nodes.find(node)->launch);
  *executable = s.executables.add(std::move(made));
  return Result::success;
}

Result cuGraphExecDestroy(GraphExecHandle executable) {
  return state().executables.remove(executable) ? Result::success : invalid_handle;
}

// For the launches that come; those that are pending have what they had.
Result cuGraphExecKernelNodeSetParams(GraphExecHandle handle, GraphNodeHandle node,
                                      const KernelNodeParams* params) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<GraphExec> executable = s.executables.find(handle);
  if (executable == nullptr || s.nodes.find(node) == nullptr) return invalid_handle;
  auto launch = executable->launches.find(node);
  if (launch == executable->launches.end()) return Result::invalid_value;
  auto made = std::make_shared<PreparedLaunch>();
  if (Result result = prepare_node(s, device, *params, made.get()); result != Result::success)
    return result;
  made->cluster = launch->second->cluster;
  launch->second = std::move(made);
  return Result::success;
}

Result cuGraphUpload(GraphExecHandle handle, StreamHandle stream_handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  bool is_known =
      s.executables.find(handle) != nullptr && s.stream_of(stream_handle, device) != nullptr;
  return is_known ? Result::success : invalid_handle;
}

Result cuGraphLaunch(GraphExecHandle handle, StreamHandle stream_handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<GraphExec> executable = s.executables.find(handle);
  std::shared_ptr<Stream> stream = s.stream_of(stream_handle, device);
  if (executable == nullptr || stream == nullptr || executable->device != device)
    return invalid_handle;
  std::vector<std::shared_ptr<const PreparedLaunch>> launches;
  for (GraphNodeHandle node : executable->order) launches.push_back(executable->launches[node]);
  std::shared_ptr<Recording> former = executable->last;
  auto recording = std::make_shared<Recording>(Recording{stream, stream->last() + 1});
  executable->last = recording;
  s.enqueue(stream, [&s, device, former, launches = std::move(launches)] {
    if (former != nullptr && former->stream->done < former->position)
      s.run(*former->stream, former->position);
    for (const auto& launch : launches)
      if (s.devices[static_cast<std::size_t>(device)].lost == Result::success)
        s.run_kernel(device, *launch);
  });
  return Result::success;
}

}  // namespace tilewright::cuda::fake
