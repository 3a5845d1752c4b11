// The indices of `x.index({...})` and of `x[{...}]`, one an axis, as in PyTorch's C++:
//
//   using indexing::Ellipsis, indexing::None, indexing::Slice;
//   Tensor part = x.index({Ellipsis, Slice(1, None, 2), 0});
//
// A number takes one place of an axis, which goes; a Slice takes a range of it; None is a new axis
// of one element; Ellipsis stands for as many whole axes as are not named. These give views. A
// tensor of i32 or i64 takes places, and one of bool, a mask, those where it is true
// (graph/functions/indexing/advanced_indexing.h); with any of them the result is a copy. A tensor
// of integers without axes counts as a number. C++'s true and false are a new axis of one element
// or of none, which broadcasts with the other tensors.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>

namespace tilewright {

class IndexedTensor;
class Tensor;
struct TensorBody;

namespace indexing {

inline constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndex {};
inline constexpr EllipsisIndex Ellipsis;

// From start to stop by step, which must be positive (`flip` goes backwards). Negative bounds count
// from the end, and those outside the axis are moved to its ends; None is an end of the axis.
struct Slice {
  Slice(std::optional<std::int64_t> start = {}, std::optional<std::int64_t> stop = {},
        std::optional<std::int64_t> step = {})
      : start(start), stop(stop), step(step.value_or(1)) {}
  std::optional<std::int64_t> start, stop;
  std::int64_t step;
};

}  // namespace indexing

class TensorIndex {
 public:
  enum class Kind : std::uint8_t { integer, boolean, none, ellipsis, slice, tensor };
  using Line = std::source_location;

  template <std::integral T>
  TensorIndex(T value, Line where = Line::current())
      : where(where),
        kind(std::same_as<T, bool> ? Kind::boolean : Kind::integer),
        integer(static_cast<std::int64_t>(value)) {}
  TensorIndex(std::nullopt_t, Line where = Line::current()) : where(where), kind(Kind::none) {}
  TensorIndex(indexing::EllipsisIndex, Line where = Line::current())
      : where(where), kind(Kind::ellipsis) {}
  TensorIndex(const indexing::Slice& slice, Line where = Line::current())
      : where(where), kind(Kind::slice), slice(slice) {}
  TensorIndex(const Tensor& tensor, Line where = Line::current());
  TensorIndex(IndexedTensor&& part, Line where = Line::current());

  Line where;
  Kind kind;
  std::int64_t integer = 0;
  indexing::Slice slice;
  std::shared_ptr<TensorBody> tensor;  // of Kind::tensor
};

// The two kinds of indices, by their types, so that x[...] of the first is a Tensor, a view.
class ViewIndex : public TensorIndex {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) ViewIndex(T place, Line where = Line::current())
      : TensorIndex(place, where) {}
  ViewIndex(std::nullopt_t none, Line where = Line::current()) : TensorIndex(none, where) {}
  ViewIndex(indexing::EllipsisIndex all, Line where = Line::current()) : TensorIndex(all, where) {}
  ViewIndex(const indexing::Slice& slice, Line where = Line::current())
      : TensorIndex(slice, where) {}
};
class ElementIndex : public TensorIndex {
 public:
  template <std::same_as<bool> T>
  ElementIndex(T value, Line where = Line::current()) : TensorIndex(value, where) {}
  ElementIndex(const Tensor& tensor, Line where = Line::current()) : TensorIndex(tensor, where) {}
  ElementIndex(IndexedTensor&& part, Line where = Line::current());
};

}  // namespace tilewright
