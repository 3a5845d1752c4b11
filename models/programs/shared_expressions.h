// Expressions of sizes that are evaluated together, common subexpressions once.
//
// Conditions that PyTorch prints for one program repeat the same sizes at length. Those of a Swin
// transformer are 370 of 670 kB together, and some 600 different terms.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/programs/size_expression.h"

namespace tilewright::programs {

class SharedExpressions {
 public:
  // The place of its value among values().
  std::size_t add(const SizeExpression& expression);
  // A value as of number_of().
  std::vector<std::optional<Number>> values(const SymbolValues& symbols) const;

 private:
  // An expression whose operands are other terms, and stand before it.
  struct Term {
    SizeExpression head;  // without operands
    std::vector<std::size_t> operands;
  };
  std::vector<Term> terms_;
  std::map<std::string, std::size_t> places_;  // of the terms, by their texts
};

}  // namespace tilewright::programs
