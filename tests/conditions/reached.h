// Chooses which of the numbered conditions of a changed copy of the sources is wrong in this
// process, and notes which of them the process came by. Only changed copies include this (run.py).
#pragma once
#include <atomic>
#include <type_traits>

namespace tilewright_conditions {
constexpr int not_asked_yet = -2;
extern std::atomic<int> wrong;
extern std::atomic<unsigned char>*
    reached;  // a byte a condition, in a file that all processes share
int begin();
}  // namespace tilewright_conditions

constexpr bool tilewright_condition(int number) {
  if (std::is_constant_evaluated()) return false;
  namespace conditions = tilewright_conditions;
  int wrong = conditions::wrong.load(std::memory_order_acquire);
  if (wrong == conditions::not_asked_yet) wrong = conditions::begin();
  auto& reached = conditions::reached[number];
  if (!reached.load(std::memory_order_relaxed)) reached.store(1, std::memory_order_relaxed);
  return wrong == number;
}
