// The graphs that a node of control flow runs: the step of a scan, the condition and the body of a
// while loop, the two sides of a choice.
//
// A body is a graph of its own, captured and without mutations; the node hands it its inputs, and
// it knows nothing of the graph around. So passes that know nothing of bodies are right for the
// graph around them, and a body is optimised and planned like any function, once, when the plan of
// the graph is made. Bodies are an attribute of the node: equal ones have equal content.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright::graph {

struct Graph;

class Bodies {
 public:
  Bodies() = default;
  explicit Bodies(std::vector<Graph> graphs);

  std::size_t size() const { return bodies_.size(); }
  bool empty() const { return bodies_.empty(); }
  const Graph& operator[](std::size_t i) const { return *bodies_[i].graph; }
  void add_to(Hasher& hasher) const {
    for (const Body& body : bodies_) hasher.add(body.hash);
  }
  bool operator==(const Bodies& other) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < size(); ++i)
      if (bodies_[i].hash != other.bodies_[i].hash) return false;
    return true;
  }

 private:
  struct Body {
    std::shared_ptr<const Graph> graph;
    Hash hash;  // of its content
  };
  std::vector<Body> bodies_;
};

}  // namespace tilewright::graph
