// Facts about the nodes of a foreign program before it runs, whatever its format: which of its
// operators are missing, and after which node a value is dead.
//
// Values are numbered from 0; formats say by callbacks which ones a node reads and gives, so that
// each keeps nodes of its own (models/exported, models/onnx).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/programs/program_module.h"

namespace tilewright::programs {

// Adds a node's operator to the list, in which each stands once.
class OperatorList {
 public:
  // `source`: where the node is from, of which the first is kept.
  void add(std::string_view name, bool is_known, std::string_view source);
  std::vector<ProgramOperator> take();  // the most frequent first

 private:
  std::vector<ProgramOperator> operators_;
  std::vector<std::pair<std::string, std::size_t>> places_;  // sorted by name
};

// Raises `Error` "[operation] FILE: 2 operators are not supported: ..." with all that are not
// known; `where` is what follows "not supported", `quote` how sources are shown.
struct SourceQuote {
  std::string_view before, after;
};
void require_known(const std::vector<ProgramOperator>& operators, std::string_view operation,
                   std::string_view file, std::string_view where, SourceQuote quote);

class Lifetimes {
 public:
  Lifetimes() = default;
  // `for_each_value(node, gives, reads)` calls these two with the values of a node; `kept` are the
  // outputs of the program.
  template <typename ForEachValue>
  Lifetimes(std::size_t values, std::size_t nodes, std::span<const int> kept,
            const ForEachValue& for_each_value)
      : count_(values), is_used_(std::make_unique<bool[]>(values)), dead_after_(nodes) {
    std::vector<std::size_t> last(values, nodes);  // nodes: never
    for (std::size_t i = 0; i < nodes; ++i)
      for_each_value(
          i, [&](int id) { last[static_cast<std::size_t>(id)] = i; },
          [&](int id) {
            is_used_[static_cast<std::size_t>(id)] = true;
            last[static_cast<std::size_t>(id)] = i;
          });
    settle(last, kept);
  }

  std::span<const bool> used() const { return {is_used_.get(), count_}; }
  // Values that no later node reads, nor the caller.
  const std::vector<int>& dead_after(std::size_t node) const { return dead_after_[node]; }

 private:
  void settle(const std::vector<std::size_t>& last, std::span<const int> kept);

  std::size_t count_ = 0;
  std::unique_ptr<bool[]> is_used_;
  std::vector<std::vector<int>> dead_after_;
};

}  // namespace tilewright::programs
