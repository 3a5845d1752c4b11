// Which values to keep and which to compute again, where bytes and work have prices: a least cut.
//
// Each value is two vertices of a network, the making of it again and its presence, from the first
// to the second an edge with the price of keeping it, and from the source to the first an edge with
// the price of making it. The presence of its operands is needed for making it, and the sink needs
// those values that the derivative reads. A value whose making is on the side of the sink is
// computed again; one that is cut in two is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/saving/saving_problem.h"

namespace tilewright::graph {

// As the values of the problem.
struct SavingChoice {
  std::vector<bool> is_saved, is_again;
  std::int64_t bytes = 0, cost = 0;  // of all that are kept, and of all that are computed again
};

// The prices of a byte that is kept and of an operation.
struct SavingPrices {
  std::int64_t of_byte = 1, of_operation = 1;
  // With this, bytes of the first so many values cost a little more, and those of others a little
  // less: it decides between choices of the same price.
  std::optional<std::size_t> dearer = {};
};
// A decision about a value, for searches.
enum class SavingRule : std::uint8_t { free, not_saved, not_again };

// The choice of least price under the rules, which are as the values; none: all are free. Absent:
// the rules leave none. Prices are exact up to a total of 2^47.
std::optional<SavingChoice> least_cut(const SavingProblem& problem, const SavingPrices& prices,
                                      std::span<const SavingRule> rules = {});
std::int64_t price_of(const SavingChoice& choice, const SavingPrices& prices);
// Prices in the same proportion, about, for which the prices of all values together are exact.
SavingPrices scaled(const SavingProblem& problem, SavingPrices prices);

}  // namespace tilewright::graph
