#include "dsl/interpret/tile_data.h"

#include <algorithm>
#include <cmath>

#include "dsl/ir/immediates.h"
#include "runtime/base/error.h"
#include "runtime/base/tf32.h"

namespace tilewright::ir {
namespace {

// out[i] = in[sum of index_k * strides_k] over the row-major elements of `shape`.
template <typename T>
void gather(const std::vector<T>& in, const Shape& shape, const Strides& strides,
            std::vector<T>& out) {
  if (out.empty()) return;
  int rank = shape.rank();
  if (rank == 0) {
    out[0] = in[0];
    return;
  }
  std::int64_t inner = shape[rank - 1], inner_stride = strides[rank - 1];
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
  std::int64_t base = 0;
  for (std::size_t at = 0; at < out.size(); at += static_cast<std::size_t>(inner)) {
    for (std::int64_t i = 0; i < inner; ++i)
      out[at + static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(base + i * inner_stride)];
    for (int axis = rank - 2; axis >= 0; --axis) {
      auto a = static_cast<std::size_t>(axis);
      base += strides[axis];
      if (++index[a] < shape[axis]) break;
      base -= index[a] * strides[axis];
      index[a] = 0;
    }
  }
}

TileDataPtr gathered(const TileData& x, const Strides& strides, const Type& result) {
  auto out = std::make_shared<TileData>(result);
  out->param = x.param;
  gather(x.floating, result.shape, strides, out->floating);
  gather(x.integer, result.shape, strides, out->integer);
  return out;
}

// The elements before, along and after an axis.
struct Split {
  std::int64_t outer = 1, along = 1, inner = 1;
  Split(const Shape& shape, int axis) : along(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

template <typename T>
bool beats(T x, T best, bool greatest) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(best)) return false;
    if (std::isnan(x)) return true;
  }
  return greatest ? x > best : x < best;
}

template <typename T>
void reduce_index(const Split& split, const T* in, bool greatest, std::int64_t* out) {
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (std::int64_t i = 0; i < split.inner; ++i) {
      const T* line = in + o * split.along * split.inner + i;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < split.along; ++k)
        if (beats(line[k * split.inner], line[best * split.inner], greatest)) best = k;
      out[o * split.inner + i] = best;
    }
}

// Folds lines with `f`, in the type of the column.
template <typename T, typename F>
void fold(const Split& split, const T* in, T start, T* out, F f) {
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (std::int64_t i = 0; i < split.inner; ++i) {
      const T* line = in + o * split.along * split.inner + i;
      T total = start;
      for (std::int64_t k = 0; k < split.along; ++k) total = f(total, line[k * split.inner]);
      out[o * split.inner + i] = total;
    }
}

// min and max keep what `evaluate` says of NaN and of the sign of zero; sum and prod are for
// floating elements, whose accumulation is wider than their type.
void fold_elements(const Split& split, const TileData& x, DType dtype, ReduceKind kind,
                   TileData& out) {
  if (is_floating(dtype) && (kind == ReduceKind::sum || kind == ReduceKind::prod)) {
    if (kind == ReduceKind::sum)
      fold(split, x.floating.data(), 0.0, out.floating.data(),
           [](double a, double b) { return a + b; });
    else
      fold(split, x.floating.data(), 1.0, out.floating.data(),
           [](double a, double b) { return a * b; });
    for (double& value : out.floating) value = round_to(dtype, value);
    return;
  }
  Scalar start = identity(kind, dtype);
  auto combined = [&](Scalar a, Scalar b) { return combine(kind, a, b); };
  if (is_floating(dtype))
    fold(split, x.floating.data(), start.floating, out.floating.data(), [&](double a, double b) {
      return combined({dtype, 0, a}, {dtype, 0, b}).floating;
    });
  else
    fold(split, x.integer.data(), start.integer, out.integer.data(),
         [&](std::int64_t a, std::int64_t b) {
           return combined({dtype, a, 0}, {dtype, b, 0}).integer;
         });
}

TileData rounded_to_tf32(TileData x) {
  for (double& value : x.floating) value = round_to_tf32(static_cast<float>(value));
  return x;
}

template <typename T, typename F>
void multiply(const T* a, const T* b, const T* acc, T* out, std::int64_t rows, std::int64_t inner,
              std::int64_t columns, F finish) {
  std::vector<T> line(static_cast<std::size_t>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy(acc + r * columns, acc + (r + 1) * columns, line.begin());
    for (std::int64_t k = 0; k < inner; ++k) {
      T scale = a[r * inner + k];
      const T* from = b + k * columns;
      for (std::int64_t c = 0; c < columns; ++c)
        line[static_cast<std::size_t>(c)] += scale * from[c];
    }
    for (std::int64_t c = 0; c < columns; ++c)
      out[r * columns + c] = finish(line[static_cast<std::size_t>(c)]);
  }
}

}  // namespace

TileData::TileData(const Type& type) {
  auto count = static_cast<std::size_t>(element_count(type.shape));
  if (is_float_column(type))
    floating.resize(count);
  else
    integer.resize(count);
}

TileDataPtr splat_data(const TileData& scalar, const Type& result) {
  auto out = std::make_shared<TileData>();
  auto count = static_cast<std::size_t>(element_count(result.shape));
  if (TileData::is_float_column(result))
    out->floating.assign(count, scalar.floating[0]);
  else
    out->integer.assign(count, scalar.integer[0]);
  out->param = scalar.param;
  return out;
}

TileDataPtr broadcast_data(const TileData& x, const Shape& from, const Type& result) {
  Strides strides = row_major_strides(from);
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] == 1) strides[axis] = 0;
  return gathered(x, strides, result);
}

TileDataPtr permute_data(const TileData& x, const Shape& from, const std::vector<int>& dims,
                         const Type& result) {
  Strides of_operand = row_major_strides(from), strides;
  for (int dim : dims) strides.push_back(of_operand[dim]);
  return gathered(x, strides, result);
}

TileDataPtr gather_data(const TileData& x, const TileData& index, const Shape& from, int axis,
                        const Type& result) {
  auto out = std::make_shared<TileData>(result);
  const Split source(from, axis), places(result.shape, axis);
  for (std::int64_t o = 0; o < places.outer; ++o)
    for (std::int64_t k = 0; k < places.along; ++k)
      for (std::int64_t i = 0; i < places.inner; ++i) {
        auto at = static_cast<std::size_t>((o * places.along + k) * places.inner + i);
        std::int64_t chosen = std::clamp<std::int64_t>(index.integer[at], 0, source.along - 1);
        auto of = static_cast<std::size_t>((o * source.along + chosen) * source.inner + i);
        if (out->floating.empty())
          out->integer[at] = x.integer[of];
        else
          out->floating[at] = x.floating[of];
      }
  return out;
}

TileDataPtr reduce_data(const TileData& x, const Type& type, const Reduction& reduction,
                        const Type& result) {
  auto out = std::make_shared<TileData>(result);
  Split split(type.shape, reduction.axis);
  bool greatest = reduction.kind == ReduceKind::argmax;
  if (!gives_index(reduction.kind))
    fold_elements(split, x, type.dtype, reduction.kind, *out);
  else if (is_floating(type.dtype))
    reduce_index(split, x.floating.data(), greatest, out->integer.data());
  else if (type.dtype == DType::u64)
    reduce_index(split, reinterpret_cast<const std::uint64_t*>(x.integer.data()), greatest,
                 out->integer.data());
  else
    reduce_index(split, x.integer.data(), greatest, out->integer.data());
  return out;
}

TileDataPtr dot_data(const TileData& a, const TileData& b, const TileData& acc, const Type& a_type,
                     const Type& result, InputPrecision precision) {
  if (precision == InputPrecision::tf32)
    return dot_data(rounded_to_tf32(a), rounded_to_tf32(b), acc, a_type, result,
                    InputPrecision::ieee);
  auto out = std::make_shared<TileData>(result);
  std::int64_t rows = a_type.shape[0], inner = a_type.shape[1], columns = result.shape[1];
  if (is_floating(result.dtype)) {
    multiply(a.floating.data(), b.floating.data(), acc.floating.data(), out->floating.data(), rows,
             inner, columns, [&](double x) { return round_to(result.dtype, x); });
  } else {
    auto bits = [](const std::vector<std::int64_t>& v) {
      return reinterpret_cast<const std::uint64_t*>(v.data());
    };
    multiply(bits(a.integer), bits(b.integer), bits(acc.integer),
             reinterpret_cast<std::uint64_t*>(out->integer.data()), rows, inner, columns,
             [&](std::uint64_t x) {
               return static_cast<std::uint64_t>(
                   Scalar::of_integer(result.dtype, static_cast<std::int64_t>(x)).integer);
             });
  }
  return out;
}

}  // namespace tilewright::ir
