// Parts of tensors by indices: numbers, ranges and new axes give a view, in which index tensors and
// masks take elements.
#include <algorithm>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/members/writes.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;
using Kind = TensorIndex::Kind;

TensorIndex::TensorIndex(const Tensor& tensor, Line where)
    : where(where), kind(Kind::tensor), tensor(graph::tensor_of({tensor, where}, "index").body()) {}

TensorIndex::TensorIndex(IndexedTensor&& part, Line where)
    : TensorIndex(Tensor(std::move(part)), where) {}
ElementIndex::ElementIndex(IndexedTensor&& part, Line where)
    : TensorIndex(std::move(part), where) {}

TensorOperand::TensorOperand(IndexedTensor&& part, source_location where)
    : tensor(std::move(part)), is_number(false), where(where) {}

namespace {

using Indices = std::vector<TensorIndex>;

bool is_mask(const TensorBody& index) {
  return is_boolean(index.dtype) || index.dtype == DType::u8;
}
bool is_number(const TensorIndex& index) {
  return index.kind == Kind::tensor && index.tensor->view.shape.empty() && !is_mask(*index.tensor);
}

// How many axes of the tensor an index is over.
int axes_of(const TensorIndex& index) {
  switch (index.kind) {
    case Kind::integer:
    case Kind::slice: return 1;
    case Kind::boolean:
    case Kind::none:
    case Kind::ellipsis: return 0;
    case Kind::tensor: return is_mask(*index.tensor) ? index.tensor->view.shape.rank() : 1;
  }
  __builtin_unreachable();
}

// The view that numbers, slices and new axes give, and the tensors that index its axes from the
// first one on, as tilewright::index takes them: undefined where there is none.
class Part {
 public:
  Part(const Tensor& x, const Indices& indices, std::string_view name)
      : view_(x), name_(name), where_(indices.empty() ? source_location() : indices[0].where) {
    graph::body_of(x, name, where_);
    int named = 0;
    for (const TensorIndex& index : indices) named += axes_of(index);
    require(named <= x.rank(), "[", name, "] ", named, " axes are indexed of a tensor of shape ",
            x.shape(), " (at ", At{where_}, "); it has ", x.rank());
    require(std::ranges::count(indices, Kind::ellipsis, &TensorIndex::kind) <= 1, "[", name,
            "] there are two Ellipsis among the indices (at ", At{where_}, "); one at most may be");
    // Numbers that are tensors are read, except in a capture where they are the only tensors.
    const bool are_tensors =
        graph::Capture::active() != nullptr && std::ranges::all_of(indices, [](const auto& index) {
          return is_number(index) || (index.kind != Kind::tensor && index.kind != Kind::boolean);
        });
    for (const TensorIndex& index : indices) take(index, x.rank() - named, are_tensors);
  }

  const Tensor& view() const { return view_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  bool is_view() const { return std::ranges::none_of(tensors_, &Tensor::defined); }
  source_location where() const { return where_; }

 private:
  void take(const TensorIndex& index, int others, bool are_tensors) {
    auto w = index.where;
    switch (index.kind) {
      case Kind::integer: return take_place(index.integer, w);
      case Kind::none: view_ = view_.unsqueeze(axis_, w); return pass(1);
      case Kind::ellipsis: return pass(others);
      case Kind::slice: return take_slice(index.slice, w);
      case Kind::boolean:
        view_ = view_.unsqueeze(axis_, w);
        return add(index.integer != 0 ? Tensor::from<std::int64_t>({0})
                                      : Tensor::from<std::int64_t>({}, {0}));
      case Kind::tensor: return take_tensor(index, are_tensors);
    }
  }
  void take_place(std::int64_t place, source_location w) {
    const std::int64_t size = view_.size(axis_);
    require(place >= -size && place < size, "[", name_, "] place ", place, " is outside axis ",
            axis_, " of shape ", view_.shape(), " (at ", At{w}, "); it must be in [", -size, ", ",
            size, ")");
    view_ = view_.select(axis_, place, w);
  }
  void take_slice(const indexing::Slice& slice, source_location w) {
    const std::int64_t size = view_.size(axis_);
    require(slice.step > 0, "[", name_, "] the step of a slice is ", slice.step, " (at ", At{w},
            "); it must be positive, and flip goes backwards");
    const std::int64_t start = slice.start.value_or(0), stop = slice.stop.value_or(size);
    if (start != 0 || stop < size || slice.step != 1)
      view_ = view_.slice(axis_, start, stop, slice.step, w);
    pass(1);
  }
  void take_tensor(const TensorIndex& index, bool are_tensors) {
    auto w = index.where;
    const Tensor tensor(index.tensor);
    if (is_number(index) && !are_tensors)
      return take_place(tensor.to(DType::i64, w).item<std::int64_t>(w), w);
    if (!is_mask(*index.tensor) || tensor.rank() > 0) return add(tensor);
    view_ = view_.unsqueeze(axis_, w);
    add(tensor.reshape({1}, w));
  }
  // A mask is one entry, over as many axes as it has.
  void add(const Tensor& index) {
    tensors_.push_back(index);
    axis_ += is_mask(*index.body()) ? index.rank() : 1;
  }
  void pass(int axes) {
    tensors_.resize(tensors_.size() + static_cast<std::size_t>(axes));
    axis_ += axes;
  }

  Tensor view_;
  std::vector<Tensor> tensors_;
  int axis_ = 0;  // of the view, which the next index is for
  std::string_view name_;
  source_location where_;
};

// If the part is where one mask is true: the mask, so that it broadcasts to the view.
std::optional<Tensor> only_mask(const Part& part) {
  std::optional<Tensor> mask;
  int before = 0;
  for (const Tensor& tensor : part.tensors()) {
    if (!tensor.defined()) {
      before += mask ? 0 : 1;
      continue;
    }
    if (mask || !is_mask(*tensor.body())) return {};
    mask = tensor;
  }
  if (!mask) return {};
  Shape sizes = mask->shape();
  const Shape& all = part.view().shape();
  for (int i = 0; i < sizes.rank(); ++i)
    if (sizes[i] != all[before + i]) return {};  // an Error of the general case
  sizes.resize(static_cast<std::size_t>(all.rank() - before), 1);
  return mask->to(DType::boolean, part.where()).reshape(sizes, part.where());
}

}  // namespace

void graph::write_compound(const Tensor& target, const std::vector<TensorIndex>& indices,
                           const Compound& compound, const TensorOperand& value) {
  auto w = value.where;
  const Part part(target, indices, compound.name);
  Tensor view = part.view();
  if (part.is_view()) return write_compound(view, compound, value);
  const std::optional<Tensor> mask = only_mask(part);
  if (mask && (value.is_number || value.tensor.count() == 1)) {
    Tensor result = result_of(compound, view, value).reshape(view.shape(), w);
    return write_where(view, *mask, result, w);
  }
  Tensor now = tilewright::index({view, w}, part.tensors());
  write_index_put(view, part.tensors(), result_of(compound, now, value), false, w);
}

Tensor Tensor::operator[](const ViewIndex& index) const { return this->index({index}); }
Tensor Tensor::operator[](std::initializer_list<ViewIndex> indices) const {
  return index(std::vector<TensorIndex>(indices.begin(), indices.end()));
}
IndexedTensor Tensor::operator[](const ElementIndex& index) const { return {*this, {index}}; }
template <typename>
IndexedTensor Tensor::operator[](std::initializer_list<TensorIndex> indices) const {
  return {*this, indices};
}
template IndexedTensor Tensor::operator[]<void>(std::initializer_list<TensorIndex> indices) const;

Tensor Tensor::index(const std::vector<TensorIndex>& indices) const {
  const Part part(*this, indices, "index");
  return part.is_view() ? part.view()
                        : tilewright::index({part.view(), part.where()}, part.tensors());
}

Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const TensorOperand& value,
                           bool accumulate) {
  auto w = value.where;
  const Part part(*this, indices, "index_put_");
  Tensor view = part.view();
  if (part.is_view()) {
    if (accumulate)
      view += value;
    else
      graph::write(view, value, "index_put_");
    return *this;
  }
  Tensor given = graph::value_for(view, value, "index_put_");
  const std::optional<Tensor> mask = only_mask(part);
  if (mask && given.count() == 1 && !accumulate)
    graph::write_where(view, *mask, given.reshape({}, w), w);
  else
    graph::write_index_put(view, part.tensors(), given, accumulate, w);
  return *this;
}

}  // namespace tilewright
