// The numbers of a value that sizes decide, and its form, which is all the rest: a visitor reads
// both, or writes other numbers into a value of the same form.
//
// A function `visit(visitor, value)` stands beside each type that has numbers, and calls
// `number` for each of them and `form` for everything else, in a fixed order. Lengths of lists are
// form.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/shape.h"

namespace tilewright::graph {

// True of numbers in floating point that count something: a size that a constant has.
inline bool counts(double number) {
  return std::abs(number) < 0x1p53 && number == std::trunc(number) &&
         !(number == 0 && std::signbit(number));
}

class NumberReader {
 public:
  static constexpr bool writes = false;
  void number(std::int64_t value) { numbers_.push_back(value); }
  void number(double value) {
    form(counts(value));
    if (counts(value))
      numbers_.push_back(static_cast<std::int64_t>(value));
    else
      form(value);
  }
  template <typename T>
  void form(const T& value) {
    hasher_.add(value);
  }
  Hasher& hasher() { return hasher_; }
  Hash form_read() const { return hasher_.finish(); }
  std::vector<std::int64_t>& numbers() { return numbers_; }

 private:
  std::vector<std::int64_t> numbers_;
  Hasher hasher_;
};

class NumberWriter {
 public:
  static constexpr bool writes = true;
  explicit NumberWriter(std::span<const std::int64_t> numbers) : numbers_(numbers) {}
  void number(std::int64_t& value) { value = numbers_[next_++]; }
  void number(double& value) {
    if (counts(value)) value = static_cast<double>(numbers_[next_++]);
  }
  template <typename T>
  void form(const T&) {}

 private:
  std::span<const std::int64_t> numbers_;
  std::size_t next_ = 0;
};

// The sizes of a constant shape, or of one to be written.
template <typename Visitor, typename Sizes>
requires std::same_as<std::remove_const_t<Sizes>, Shape>
void visit(Visitor& visitor, Sizes& sizes) {
  visitor.form(sizes.size());
  for (auto& size : sizes) visitor.number(size);
}

}  // namespace tilewright::graph
