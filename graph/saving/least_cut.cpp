#include "graph/saving/least_cut.h"

#include <algorithm>
#pragma GCC diagnostic push  // GCC 12 takes Boost's optional iterators for uninitialised ones
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#pragma GCC diagnostic pop

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_total = std::int64_t{1} << 47, fineness = 1 << 10;
constexpr std::int64_t unlimited = std::int64_t{1} << 59;

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<
        boost::vertex_color_t, boost::default_color_type,
        boost::property<boost::vertex_distance_t, long,
                        boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>,
    boost::property<
        boost::edge_capacity_t, std::int64_t,
        boost::property<boost::edge_residual_capacity_t, std::int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
using Vertex = Traits::vertex_descriptor;

class Cut {
 public:
  Cut(const SavingProblem& problem, const SavingPrices& prices, std::span<const SavingRule> rules)
      : problem_(problem), network_(2 * problem.size() + 2) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const SavingCandidate& value = problem[i];
      const SavingRule rule = rules.empty() ? SavingRule::free : rules[i];
      const bool may_be_again = value.may_be_again && rule != SavingRule::not_again;
      const bool may_be_saved = value.may_be_saved && rule != SavingRule::not_saved;
      std::int64_t of_byte = prices.of_byte * fineness;
      if (prices.dearer) of_byte += i < *prices.dearer ? 1 : -1;
      connect(source(), making(i),
              may_be_again ? value.cost * prices.of_operation * fineness : unlimited);
      connect(making(i), presence(i), may_be_saved ? value.bytes * of_byte : unlimited);
      if (value.is_needed) connect(presence(i), sink(), unlimited);
      if (!may_be_again) continue;
      for (std::uint32_t operand : value.operands) connect(presence(operand), making(i), unlimited);
    }
  }

  std::optional<SavingChoice> least() {
    if (boost::boykov_kolmogorov_max_flow(network_, source(), sink()) >= unlimited)
      return std::nullopt;
    find_side_of_source();
    return choice();
  }

 private:
  Vertex source() const { return 2 * problem_.size(); }
  Vertex sink() const { return 2 * problem_.size() + 1; }
  static Vertex making(std::size_t value) { return 2 * value; }
  static Vertex presence(std::size_t value) { return 2 * value + 1; }

  void connect(Vertex from, Vertex to, std::int64_t capacity) {
    const auto edge = boost::add_edge(from, to, network_).first;
    const auto back = boost::add_edge(to, from, network_).first;
    boost::put(boost::edge_capacity, network_, edge, capacity);
    boost::put(boost::edge_capacity, network_, back, std::int64_t{0});
    boost::put(boost::edge_reverse, network_, edge, back);
    boost::put(boost::edge_reverse, network_, back, edge);
  }

  void find_side_of_source() {
    is_of_source_.assign(boost::num_vertices(network_), false);
    is_of_source_[source()] = true;
    std::vector<Vertex> stack{source()};
    while (!stack.empty()) {
      const Vertex from = stack.back();
      stack.pop_back();
      for (auto [edge, end] = boost::out_edges(from, network_); edge != end; ++edge) {
        const Vertex to = boost::target(*edge, network_);
        if (is_of_source_[to] || boost::get(boost::edge_residual_capacity, network_, *edge) == 0)
          continue;
        is_of_source_[to] = true;
        stack.push_back(to);
      }
    }
  }

  // Values that cost nothing are on the side of the sink also where nobody needs them.
  SavingChoice choice() const {
    SavingChoice result;
    result.is_saved.resize(problem_.size());
    result.is_again.resize(problem_.size());
    std::vector<bool> is_needed(problem_.size());
    for (std::size_t i = problem_.size(); i-- > 0;) {
      const SavingCandidate& value = problem_[i];
      if (!value.is_needed && !is_needed[i]) continue;
      if (is_of_source_[making(i)]) {
        result.is_saved[i] = true;
        result.bytes += value.bytes;
        continue;
      }
      result.is_again[i] = true;
      result.cost += value.cost;
      for (std::uint32_t operand : value.operands) is_needed[operand] = true;
    }
    return result;
  }

  const SavingProblem& problem_;
  Network network_;
  std::vector<bool> is_of_source_;
};

}  // namespace

std::optional<SavingChoice> least_cut(const SavingProblem& problem, const SavingPrices& prices,
                                      std::span<const SavingRule> rules) {
  return Cut(problem, prices, rules).least();
}

std::int64_t price_of(const SavingChoice& choice, const SavingPrices& prices) {
  return choice.bytes * prices.of_byte + choice.cost * prices.of_operation;
}

SavingPrices scaled(const SavingProblem& problem, SavingPrices prices) {
  long double bytes = 0, cost = 0;
  for (const SavingCandidate& value : problem) {
    bytes += static_cast<long double>(value.bytes);
    cost += static_cast<long double>(value.cost);
  }
  const auto is_exact = [&] {
    return bytes * static_cast<long double>(prices.of_byte) +
               cost * static_cast<long double>(prices.of_operation) <=
           static_cast<long double>(most_total);
  };
  while (!is_exact() && (prices.of_byte > 1 || prices.of_operation > 1)) {
    if (prices.of_byte > 1) prices.of_byte /= 2;
    if (prices.of_operation > 1) prices.of_operation /= 2;
  }
  return prices;
}

}  // namespace tilewright::graph
