#include "graph/compile/calls/structure.h"

#include <array>
#include <charconv>

namespace tilewright::detail {
namespace {

template <typename T>
std::string shortest_text(T value) {
  std::array<char, 64> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

}  // namespace

std::string text_of_number(std::int64_t value) { return shortest_text(value); }
std::string text_of_number(std::uint64_t value) { return shortest_text(value); }
std::string text_of_number(float value) { return shortest_text(value); }
std::string text_of_number(double value) { return shortest_text(value); }
std::string text_of_number(long double value) { return shortest_text(value); }

void TensorsOf::tensor(Tensor& tensor) {
  key += tensor.defined() ? 't' : 'u';
  if (tensor.defined()) tensors.push_back(tensor);
}

void TensorsOf::add_fact(const std::string& text) {
  key += std::to_string(text.size()) + ":" + text;
}

void ReplaceTensors::tensor(Tensor& tensor) {
  if (tensor.defined()) tensor = by.at(next++);
}

void DescribeForm::tensor(Tensor& tensor) {
  if (tensor.defined()) form.places.push_back({argument, place()});
  fact(graph::FormKind::definition, [&] { return tensor.defined() ? "defined" : "undefined"; });
}

void DescribeForm::leave() { path.pop_back(); }

void DescribeForm::begin_argument(const std::vector<std::string>& names) {
  path = {graph::argument_text(argument, names)};
}

std::string DescribeForm::place() const {
  std::string text;
  for (const std::string& step : path) text += step;
  return text;
}

void DescribeForm::enter_step(std::string step) { path.push_back(std::move(step)); }

void DescribeForm::add_fact(graph::FormKind kind, std::string text) {
  form.facts.push_back({kind, argument, place(), std::move(text)});
}

}  // namespace tilewright::detail
