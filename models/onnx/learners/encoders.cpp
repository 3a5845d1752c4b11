// Operators of ai.onnx.ml on columns of samples (graph/functions/learners/encoding.h). Texts have
// no dtype here: an encoder of texts is refused.
#include <limits>

#include "graph/functions/learners/encoding.h"
#include "models/onnx/learners/scores.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace encoder_rows {
namespace {

void refuse_texts(const Call& call, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (call.has(name)) call.refuse(name, "is about texts, which are not supported; use numbers");
}

Tensor list_of(const Shape& integers) {
  return constant_of(std::vector<std::int64_t>(integers.begin(), integers.end()),
                     {std::ssize(integers)});
}

Tensor without_missing(const Call& call) {
  const Tensor x = call.tensor(0);
  if (is_floating(x.dtype())) {
    call.has("replaced_value_int64");
    return imputed(x, call.number("replaced_value_float", 0),
                   list_of_floats(call.numbers("imputed_value_floats")).to(x.dtype()));
  }
  call.has("replaced_value_float");
  return imputed(x, call.integer("replaced_value_int64", 0),
                 list_of(call.integers("imputed_value_int64s")).to(x.dtype()));
}

Tensor as_flags(const Call& call) {
  refuse_texts(call, {"cats_strings"});
  const Shape categories = call.integers("cats_int64s", Shape{});
  require(!categories.empty(), "[onnx] the attribute \"cats_int64s\" has no categories");
  return one_hot_categories(call.tensor(0), {categories.begin(), categories.end()},
                            !call.flag("zeros", true));
}

// The list in whichever of the attributes of its name there is.
Tensor list_in(const Call& call, const std::string& name) {
  if (call.has(name + "_tensor")) return call.constant(name + "_tensor").tensor();
  if (call.has(name + "_floats")) return list_of_floats(call.numbers(name + "_floats"));
  if (call.has(name + "_int64s")) return list_of(call.integers(name + "_int64s"));
  call.refuse(name + "_int64s", "is missing, as is every other list of numbers");
}
Tensor default_of(const Call& call, DType dtype) {
  call.has("default_float");
  call.has("default_int64");
  call.has("default_string");
  if (call.has("default_tensor")) return call.constant("default_tensor").tensor().to(dtype);
  if (is_floating(dtype)) return full({}, call.number("default_float", -0.0), dtype);
  return full({}, call.integer("default_int64", -1), dtype);
}
Tensor relabelled(const Call& call) {
  refuse_texts(call, {"keys_strings", "values_strings", "classes_strings"});
  const Tensor x = call.tensor(0), keys = list_in(call, "keys"), values = list_in(call, "values");
  return mapped_keys(x, keys.to(x.dtype()), values, default_of(call, values.dtype()));
}

// Columns of all inputs side by side, as f32, each as many as the attribute says.
Tensor side_by_side(const Call& call) {
  const Shape widths = call.integers("inputdimensions");
  require(std::ssize(widths) == static_cast<std::int64_t>(call.count()), "[onnx] ", widths.size(),
          " numbers of columns for ", call.count(), " inputs; one for each is wanted");
  std::vector<Tensor> columns;
  for (int i = 0; i < std::ssize(widths); ++i) {
    Tensor x = call.tensor(static_cast<std::size_t>(i)).to(f32);
    if (x.rank() == 1) x = x.unsqueeze(0);
    require(x.rank() == 2 && x.size(1) == widths[i], "[onnx] input ", i, " is [", x.shape(), "]; ",
            widths[i], " columns are wanted");
    columns.push_back(x);
  }
  return cat(columns, 1);
}

// A map from labels to scores for each sample: here the scores, [samples, labels], in the order of
// the labels.
Tensor zipped(const Call& call) {
  call.has("classlabels_int64s");
  call.has("classlabels_strings");
  const Tensor x = call.tensor(0);
  return x.rank() == 1 ? x.unsqueeze(0) : x;
}

constexpr Operator rows[] = {
    {"ai.onnx.ml.FeatureVectorizer", 1, by<side_by_side>},
    {"ai.onnx.ml.Imputer", 1, by<without_missing>},
    {"ai.onnx.ml.LabelEncoder", 1, by<relabelled>},
    {"ai.onnx.ml.OneHotEncoder", 1, by<as_flags>},
    {"ai.onnx.ml.ZipMap", 1, by<zipped>},
};

}  // namespace
}  // namespace encoder_rows

std::span<const Operator> encoder_operators() { return encoder_rows::rows; }

}  // namespace tilewright::onnx
