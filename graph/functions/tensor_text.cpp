#include "graph/functions/tensor_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "graph/ir/strided_view.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"
#include "runtime/base/text/number_text.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_shown = 1000;  // elements of a tensor that is shown whole
constexpr std::int64_t at_each_end = 3;    // elements of an axis otherwise
constexpr int digits = 4;                  // behind the point
constexpr std::size_t line_width = 80;
constexpr std::size_t separator_width = 2;

template <typename T>
double as_double(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

std::string scientific_text(double value) {
  char text[64];
  auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits).ptr;
  return {text, end};
}

enum class FloatForm : std::uint8_t { whole, fixed, scientific };

FloatForm form_of(const std::vector<double>& values) {
  bool are_whole = true;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    are_whole &= value == std::ceil(value);
    least = std::min(least, std::abs(value));
    most = std::max(most, std::abs(value));
  }
  if (most == 0) return FloatForm::whole;
  if (most / least > 1000 || most > 1e8 || (!are_whole && least < 1e-4))
    return FloatForm::scientific;
  return are_whole ? FloatForm::whole : FloatForm::fixed;
}

std::string text_of(double value, FloatForm form) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  switch (form) {
    case FloatForm::whole: return fixed_text(value, 0) + ".";
    case FloatForm::fixed: return fixed_text(value, digits);
    case FloatForm::scientific: return scientific_text(value);
  }
  __builtin_unreachable();
}

class ElementsText {
 public:
  ElementsText(const Tensor& tensor, int column)
      : tensor_(tensor),
        column_(static_cast<std::size_t>(column)),
        strides_(row_major(tensor.shape()).strides),
        is_whole_(tensor.count() <= most_shown) {
    std::vector<std::int64_t> places;
    find_shown(0, 0, places);
    write_elements(places);
    for (const std::string& element : elements_) width_ = std::max(width_, element.size());
  }

  std::string text() { return tensor_.rank() == 0 ? elements_.front() : text_of_axis(0); }

 private:
  // The indices of an axis that are shown; none: what is left out between them.
  std::vector<std::optional<std::int64_t>> shown(int axis) const {
    std::vector<std::optional<std::int64_t>> result;
    const std::int64_t size = tensor_.shape()[axis];
    for (std::int64_t i = 0; i < size; ++i) {
      const bool is_left_out = !is_whole_ && i >= at_each_end && i < size - at_each_end;
      if (!is_left_out)
        result.emplace_back(i);
      else if (i == at_each_end)
        result.emplace_back(std::nullopt), i = size - at_each_end - 1;
    }
    return result;
  }

  // Where the shown elements are, in the order of the text.
  void find_shown(int axis, std::int64_t place, std::vector<std::int64_t>& places) const {
    if (axis == tensor_.rank()) return places.push_back(place);
    for (const auto& index : shown(axis))
      if (index) find_shown(axis + 1, place + *index * strides_[axis], places);
  }

  void write_elements(const std::vector<std::int64_t>& places) {
    dispatch(tensor_.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* first = static_cast<const T*>(tensor_.const_data());
      if constexpr (std::is_same_v<T, bool>) {
        for (std::int64_t place : places) elements_.emplace_back(first[place] ? "true" : "false");
      } else if constexpr (std::is_integral_v<T>) {
        for (std::int64_t place : places) elements_.push_back(std::to_string(first[place]));
      } else {
        std::vector<double> values;
        for (std::int64_t place : places) values.push_back(as_double(first[place]));
        const FloatForm form = form_of(values);
        for (double value : values) elements_.push_back(graph::text_of(value, form));
      }
    });
  }

  std::string next_element() {
    const std::string& element = elements_[next_++];
    return std::string(width_ - element.size(), ' ') + element;
  }

  // Rows of an inner axis stand below each other, behind the brackets of those around them.
  std::string text_of_axis(int axis) {
    const bool is_last = axis + 1 == tensor_.rank();
    const auto indent = column_ + static_cast<std::size_t>(axis + 1);
    const std::size_t in_a_line = std::max<std::size_t>(
        1, (line_width - std::min(indent, line_width)) / (width_ + separator_width));
    std::string line_end(is_last ? 1 : static_cast<std::size_t>(tensor_.rank() - 1 - axis), '\n');
    line_end += std::string(indent, ' ');
    std::string text = "[";
    std::size_t parts = 0;
    for (const auto& index : shown(axis)) {
      if (parts > 0) text += is_last && parts % in_a_line != 0 ? ", " : "," + line_end;
      if (!index)
        text += "...";
      else
        text += is_last ? next_element() : text_of_axis(axis + 1);
      ++parts;
    }
    return text + "]";
  }

  const Tensor& tensor_;
  const std::size_t column_;
  const Strides strides_;
  const bool is_whole_;
  std::vector<std::string> elements_;  // that are shown
  std::size_t width_ = 0, next_ = 0;
};

}  // namespace

std::string text_of_elements(const Tensor& tensor, int column) {
  return ElementsText(tensor, column).text();
}

}  // namespace tilewright::graph

namespace tilewright {

static std::string text_of(const Tensor& tensor, std::string_view operation) {
  if (!tensor.defined()) return "tensor(undefined)";
  const std::string begin = "tensor(";
  std::string type = concat(tensor.dtype());
  if (tensor.rank() > 0) type += concat(" ", tensor.shape());
  const graph::Capture* capture = graph::Capture::active();
  // Elements that a capture has yet to write are not known.
  if (tensor.is_symbolic() || (capture != nullptr && capture->is_written(*tensor.body())))
    return concat(begin, "symbolic, ", type, ")");
  const Tensor elements = graph::host_copy(tensor, operation, std::nullopt);
  const Device device = Device::of(graph::memory_of(tensor));
  return concat(begin, graph::text_of_elements(elements, static_cast<int>(begin.size())), ", ",
                type, device.is_cuda() ? ", " + device.text() : "", ")");
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << text_of(tensor, "<<");
}

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.text(); }

std::string to_string(const Tensor& tensor, std::source_location w) {
  if (graph::Capture* capture = graph::Capture::active(); capture != nullptr && tensor.defined())
    capture->before_placing(*tensor.body(), "to_string", w);
  return text_of(tensor, "to_string");
}

}  // namespace tilewright
