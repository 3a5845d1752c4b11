#include "models/onnx/file/node_order.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "models/files/reader.h"

namespace tilewright::onnx {
namespace {

using json::excerpt;
using Names = std::vector<std::string_view>;

// The first text that is field `number` of the message.
std::string_view text_of(Fields message, std::uint32_t number) {
  while (message.next())
    if (message.number() == number) return message.text();
  return {};
}

class FreeNames {
 public:
  FreeNames(std::size_t most_deep, const Place& place) : most_deep_(most_deep), place_(place) {}

  // Adds the names that the node reads, but for those that its bodies define themselves.
  void add_node(Fields node, Names& reads) {
    while (node.next()) {
      if (node.number() == 1) reads.push_back(node.text());
      if (node.number() != 5) continue;
      Fields attribute = node.message();
      while (attribute.next())
        if (attribute.number() == 6) add_body(attribute.message(), reads);
    }
  }

 private:
  void add_body(Fields body, Names& reads) {
    place_.expect(depth_ < most_deep_, "it has graphs within graphs, more than ", most_deep_,
                  " deep");
    ++depth_;
    Names inner;
    std::unordered_set<std::string_view> own;
    while (body.next()) switch (body.number()) {
        case 1: {
          add_node(body.message(), inner);
          Fields node = body.message();
          while (node.next())
            if (node.number() == 2) own.insert(node.text());
          break;
        }
        case 5: own.insert(text_of(body.message(), 8)); break;
        case 11: own.insert(text_of(body.message(), 1)); break;
        case 12: inner.push_back(text_of(body.message(), 1)); break;
        default: break;
      }
    for (std::string_view name : inner)
      if (!own.contains(name)) reads.push_back(name);
    --depth_;
  }

  std::size_t most_deep_, depth_ = 0;
  const Place& place_;
};

// Which nodes of the same list each one reads.
std::vector<std::vector<std::size_t>> nodes_read(const std::vector<Fields>& nodes,
                                                 std::size_t most_deep, const Place& place) {
  std::unordered_map<std::string_view, std::size_t> givers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Fields node = nodes[i];
    while (node.next())
      if (node.number() == 2 && !node.text().empty()) givers.emplace(node.text(), i);
  }
  std::vector<std::vector<std::size_t>> read(nodes.size());
  FreeNames free(most_deep, place);
  Names names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    names.clear();
    free.add_node(nodes[i], names);
    for (std::string_view name : names)
      if (auto giver = givers.find(name); giver != givers.end()) read[i].push_back(giver->second);
  }
  return read;
}

// "node "a" (Add)" by its name or first result.
std::string described(const Fields& node) {
  std::string_view name = text_of(node, 3);
  if (name.empty()) name = text_of(node, 2);
  return concat("node \"", excerpt(name), "\" (", excerpt(text_of(node, 4)), ")");
}

[[noreturn]] void refuse_cycle(const std::vector<Fields>& nodes,
                               const std::vector<std::size_t>& cycle, const Place& place) {
  constexpr std::size_t most_named = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(cycle.size(), most_named); ++i)
    list += concat(i == 0 ? "" : ", which reads ", described(nodes[cycle[i]]));
  if (cycle.size() > most_named) list += concat(" and ", cycle.size() - most_named, " more");
  place.refuse("its nodes are in a cycle: ", list, ", which reads ", described(nodes[cycle[0]]),
               "; no node may need its own results");
}

}  // namespace

std::vector<Fields> in_order(const std::vector<Fields>& nodes, std::size_t most_deep,
                             const Place& place) {
  const auto read = nodes_read(nodes, most_deep, place);
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<State> states(nodes.size(), State::unseen);
  struct PathNode {
    std::size_t node, next;  // which of those that it reads comes next
  };
  std::vector<PathNode> path;  // not by recursion: a file may have a chain of any length
  std::vector<Fields> ordered;
  for (std::size_t first = 0; first < nodes.size(); ++first) {
    if (states[first] == State::unseen) path.push_back({first, 0});
    while (!path.empty()) {
      auto& [node, next] = path.back();
      states[node] = State::open;
      if (next == read[node].size()) {
        states[node] = State::done;
        ordered.push_back(nodes[node]);
        path.pop_back();
        continue;
      }
      const std::size_t wanted = read[node][next++];
      if (states[wanted] == State::unseen) path.push_back({wanted, 0});
      if (states[wanted] != State::open) continue;
      std::vector<std::size_t> cycle;
      const auto start = std::ranges::find(path, wanted, &PathNode::node);
      for (auto at = start; at != path.end(); ++at) cycle.push_back(at->node);
      refuse_cycle(nodes, cycle, place);
    }
  }
  return ordered;
}

}  // namespace tilewright::onnx
