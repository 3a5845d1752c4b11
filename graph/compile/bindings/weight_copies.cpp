#include "graph/compile/bindings/weight_copies.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/device_pool.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t square = 16;  // elements each way that are turned over at a time

template <typename Element>
struct Packing {
  const PackedWeight& weight;
  const Element* from;
  Element* to;
  std::vector<std::int64_t> row_offsets;  // in `from`

  void panel(std::int64_t number) const {
    const std::int64_t rows = std::ssize(row_offsets), columns = weight.matrix.shape[-1];
    const std::int64_t column_stride = weight.matrix.strides[-1], width = weight.panels.width;
    const std::int64_t pair = weight.panels.in_pairs ? 2 : 1;
    const std::int64_t first = number * width, active = std::min(width, columns - first);
    Element* panel = to + number * width * rows;
    if (active < width) std::fill(panel, panel + width * rows, Element{});
    for (std::int64_t k0 = 0; k0 < rows; k0 += square)
      for (std::int64_t n0 = 0; n0 < active; n0 += square)
        for (std::int64_t n = n0; n < std::min(active, n0 + square); ++n) {
          const Element* column = from + (first + n) * column_stride;
          for (std::int64_t k = k0; k < std::min(rows, k0 + square); ++k)
            panel[(k / pair * width + n) * pair + k % pair] =
                column[row_offsets[static_cast<std::size_t>(k)]];
        }
  }

  static void panels(void* context, std::int64_t begin, std::int64_t end, int) {
    for (; begin < end; ++begin) static_cast<const Packing*>(context)->panel(begin);
  }
};

// The offsets of the rows of the matrix, in row-major order of their axes.
std::vector<std::int64_t> row_offsets_of(const StridedView& matrix) {
  std::vector<std::int64_t> offsets = {0};
  for (int axis = 0; axis < matrix.shape.rank() - 1; ++axis) {
    std::vector<std::int64_t> more;
    for (std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < matrix.shape[axis]; ++i)
        more.push_back(offset + i * matrix.strides[axis]);
    offsets = std::move(more);
  }
  return offsets;
}

template <typename Element>
void pack(const PackedWeight& weight, const void* from, void* to) {
  Packing<Element> packing{weight, static_cast<const Element*>(from), static_cast<Element*>(to),
                           row_offsets_of(weight.matrix)};
  parallel_for(weight.panels.count(weight.matrix.shape[-1]), Packing<Element>::panels, &packing);
}

// Rows of filters as the products of Winograd's transform have them: a column behind the other,
// which is the order in which the filters themselves mostly lie.
struct Transformed {
  PackedWeight weight;  // of `elements`
  std::vector<float> elements;
};
Transformed transformed(const PackedWeight& weight, const void* from) {
  const std::vector<std::int64_t> offsets = row_offsets_of(weight.matrix);
  const std::int64_t rows = std::ssize(offsets) / winograd::taps, columns = weight.matrix.shape[-1];
  Transformed result{weight, std::vector<float>(static_cast<std::size_t>(weight.rows() * columns))};
  result.weight.matrix = {
      {winograd::products, rows, columns}, {rows, 1, winograd::products * rows}, 0};
  result.weight.is_winograd = false;
  for (std::int64_t column = 0; column < columns; ++column) {
    const float* filter = static_cast<const float*>(from) + column * weight.matrix.strides[-1];
    float* to = result.elements.data() + column * weight.rows();
    for (std::int64_t row = 0; row < rows; ++row) {
      auto tap = [&](std::int64_t number) {
        return filter[offsets[static_cast<std::size_t>(number * rows + row)]];
      };
      const std::array of_products = winograd::filters(tap(0), tap(1), tap(2));
      for (std::size_t i = 0; i < of_products.size(); ++i)
        to[static_cast<std::int64_t>(i) * rows + row] = of_products[i];
    }
  }
  return result;
}

struct Copies {
  // Buffer, address, shape and strides of the matrix, bytes of an element, width, in pairs,
  // transformed. Memory of the user's may be wrapped again, with something else in it.
  using Key = std::tuple<const Buffer*, const void*, std::vector<std::int64_t>, std::int64_t,
                         std::int64_t, bool, bool>;
  struct Copy {
    std::weak_ptr<Buffer> from, packed;  // other memory may lie at the address of what is gone
  };
  std::mutex mutex;
  std::map<Key, Copy> known;

  static Copies& of_process() {
    static Copies copies;
    return copies;
  }
};

}  // namespace

std::shared_ptr<Buffer> packed_copy(const Tensor& tensor, const PackedWeight& weight) {
  const TensorBody& body = *tensor.body();
  check(body.buffer != nullptr && body.buffer->memory() == nullptr && body.dtype == weight.dtype,
        "a weight to be packed is not on the host, or of another type");
  const std::int64_t bytes = size_bytes(weight.dtype);
  const void* from = static_cast<const std::byte*>(address_of(body)) + weight.matrix.offset * bytes;
  const StridedView& matrix = weight.matrix;
  Copies& copies = Copies::of_process();
  std::lock_guard lock(copies.mutex);
  std::erase_if(copies.known, [](const auto& entry) {
    return entry.second.packed.expired() || entry.second.from.expired();
  });
  std::vector<std::int64_t> sizes(matrix.shape.begin(), matrix.shape.end());
  sizes.insert(sizes.end(), matrix.strides.begin(), matrix.strides.end());
  Copies::Copy& copy =
      copies.known[{body.buffer.get(), from, std::move(sizes), bytes, weight.panels.width,
                    weight.panels.in_pairs, weight.is_winograd}];
  if (auto known = copy.packed.lock()) return known;
  TraceSpan span("compile", "pack weights");
  MemoryOwner owner("packed weights");
  auto packed = Buffer::allocate(weight.elements() * bytes);
  body.buffer->forbid_writes();
  if (weight.is_winograd) {
    const Transformed of = transformed(weight, from);
    pack<std::uint32_t>(of.weight, of.elements.data(), packed->data());
  } else if (bytes == 2) {
    pack<std::uint16_t>(weight, from, packed->data());
  } else {
    pack<std::uint32_t>(weight, from, packed->data());
  }
  copy = {body.buffer, packed};
  return packed;
}

bool has_packed_copy(const Buffer& weight) {
  Copies& copies = Copies::of_process();
  std::lock_guard lock(copies.mutex);
  return std::ranges::any_of(copies.known, [&](const auto& entry) {
    return std::get<0>(entry.first) == &weight && !entry.second.packed.expired();
  });
}

std::vector<std::shared_ptr<Buffer>> packed_copies(
    const Plan& plan, const std::function<const Tensor&(std::size_t input)>& tensor_of) {
  std::vector<std::shared_ptr<Buffer>> copies;
  for (const PackedWeight& weight : plan.packed_weights())
    copies.push_back(packed_copy(tensor_of(static_cast<std::size_t>(weight.input)), weight));
  return copies;
}

}  // namespace tilewright::graph
