#include "graph/compile/calls/structure.h"

namespace tilewright::detail {

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
