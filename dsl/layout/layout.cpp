#include "dsl/layout/layout.h"

#include <bit>

#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

constexpr std::array inputs = {In::register_, In::lane, In::warp};

int bits_of(std::int64_t size) { return std::countr_zero(static_cast<std::uint64_t>(size)); }

// The layout with another shape, whose bases are made from the old ones one by one.
template <typename F>
Layout map_bases(const Layout& layout, Shape shape, F&& changed) {
  std::array<std::vector<Layout::Basis>, 3> bases;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const Layout::Basis& basis : layout.bases(inputs[i])) bases[i].push_back(changed(basis));
  return {std::move(shape), bases[0], bases[1], bases[2]};
}

std::uint32_t distinct_register_bits(const Layout& layout) {
  return static_cast<std::uint32_t>(layout.matrix(In::register_).independent_columns());
}

}  // namespace

Shape physical_shape(const Shape& shape) {
  Shape physical;
  for (std::int64_t size : shape)
    physical.push_back(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size))));
  return physical;
}

int element_bits(const Shape& physical) { return bits_of(element_count(physical)); }

std::uint64_t flat_index(const Shape& physical, const Layout::Basis& coordinates) {
  std::uint64_t flat = 0;
  for (int axis = 0; axis < physical.rank(); ++axis)
    flat = flat << bits_of(physical[axis]) |
           static_cast<std::uint64_t>(coordinates[static_cast<std::size_t>(axis)]);
  return flat;
}

Layout::Basis coordinates_of(const Shape& physical, std::uint64_t flat) {
  Layout::Basis coordinates(physical.size());
  for (int axis = physical.rank(); axis-- > 0; flat >>= bits_of(physical[axis]))
    coordinates[static_cast<std::size_t>(axis)] =
        static_cast<std::int32_t>(flat & static_cast<std::uint64_t>(physical[axis] - 1));
  return coordinates;
}

Layout::Layout(Shape physical, std::vector<Basis> registers, std::vector<Basis> lanes,
               std::vector<Basis> warps)
    : shape_(std::move(physical)),
      bases_{std::move(registers), std::move(lanes), std::move(warps)} {
  std::string problem = flaw();
  check(problem.empty(), problem.c_str());
}

std::variant<Layout, std::string> Layout::checked(Shape physical,
                                                  std::array<std::vector<Basis>, 3> bases) {
  Layout layout;
  layout.shape_ = std::move(physical);
  layout.bases_ = std::move(bases);
  std::string problem = layout.flaw();
  if (!problem.empty()) return problem;
  return layout;
}

std::string Layout::flaw() const {
  for (std::int64_t size : shape_)
    if (size <= 0 || size > (1 << 30) || !std::has_single_bit(static_cast<std::uint64_t>(size)))
      return "an axis of a layout is not a power of two";
  std::size_t bit_count = 0;
  for (const std::vector<Basis>& part : bases_) {
    bit_count += part.size();
    if (part.size() > 30) return "a layout has too many registers, lanes or warps";
    for (const Basis& basis : part) {
      if (basis.size() != shape_.size())
        return "a basis of a layout has not one coordinate an axis";
      for (int axis = 0; axis < shape_.rank(); ++axis)
        if (std::int32_t at = basis[static_cast<std::size_t>(axis)]; at < 0 || at >= shape_[axis])
          return "a basis of a layout lies outside its shape";
    }
  }
  if (bit_count > 64 || element_bits(shape_) > 62) return "a layout is too large";
  return is_onto() ? "" : "a layout leaves an element without a place";
}

std::vector<std::int32_t> Layout::at(int reg, int lane, int warp) const {
  std::vector<std::int32_t> coordinates(shape_.size());
  const std::array indices = {reg, lane, warp};
  for (std::size_t in = 0; in < inputs.size(); ++in) {
    check(indices[in] >= 0 && indices[in] < count(inputs[in]), "a layout has no such place");
    for (std::size_t bit = 0; bit < bases_[in].size(); ++bit)
      if (indices[in] >> bit & 1)
        for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
          coordinates[axis] ^= bases_[in][bit][axis];
  }
  return coordinates;
}

BitMatrix Layout::matrix(In in) const {
  std::vector<std::uint64_t> columns;
  for (const Basis& basis : bases(in)) columns.push_back(flat_index(shape_, basis));
  return {element_bits(shape_), std::move(columns)};
}

BitMatrix Layout::matrix() const {
  return join_columns(join_columns(matrix(In::register_), matrix(In::lane)), matrix(In::warp));
}

std::uint32_t Layout::redundant_bits(In in) const {
  int first = 0;
  for (In before : inputs)
    if (before < in) first += bits(before);
  std::uint64_t redundant = ~matrix().independent_columns() >> first;
  return static_cast<std::uint32_t>(redundant) & static_cast<std::uint32_t>(count(in) - 1);
}

Hash Layout::hash() const {
  Hasher hasher;
  hasher.add(shape_);
  for (In in : inputs) hasher.add(bases(in));
  return hasher.finish();
}

std::string to_string(const Layout& layout) {
  static constexpr std::array names = {"register:", "lane:    ", "warp:    "};
  std::string text = to_string(layout.shape());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += concat("\n", names[i]);
    for (const Layout::Basis& basis : layout.bases(inputs[i])) {
      text += " (";
      for (std::size_t axis = 0; axis < basis.size(); ++axis)
        text += concat(axis ? "," : "", basis[axis]);
      text += ")";
    }
  }
  return text + "\n";
}

Layout slice(const Layout& layout, int axis) {
  check(axis >= 0 && axis < layout.shape().rank(), "a layout has no such axis to slice");
  Shape shape = layout.shape();
  shape.erase(shape.begin() + axis);
  return map_bases(layout, std::move(shape), [&](Layout::Basis basis) {
    basis.erase(basis.begin() + axis);
    return basis;
  });
}

Layout drop_duplicate_registers(const Layout& layout) {
  std::uint32_t kept = distinct_register_bits(layout);
  std::vector<Layout::Basis> registers;
  for (int bit = 0; bit < layout.bits(In::register_); ++bit)
    if (kept >> bit & 1)
      registers.push_back(layout.bases(In::register_)[static_cast<std::size_t>(bit)]);
  return {layout.shape(), std::move(registers), layout.bases(In::lane), layout.bases(In::warp)};
}

std::vector<int> distinct_registers(const Layout& layout) {
  std::uint32_t kept = distinct_register_bits(layout);
  std::vector<int> registers;
  for (int r = 0; r < layout.registers(); ++r)
    if ((static_cast<std::uint32_t>(r) & ~kept) == 0) registers.push_back(r);
  return registers;
}

std::vector<int> first_duplicates(const Layout& layout) {
  BitMatrix matrix = layout.matrix(In::register_);
  std::vector<int> first;  // of each bit: solve() uses independent columns alone
  for (int bit = 0; bit < matrix.columns(); ++bit)
    first.push_back(static_cast<int>(*matrix.solve(matrix.column(bit))));
  std::vector<int> registers(static_cast<std::size_t>(layout.registers()), 0);
  for (std::size_t r = 1; r < registers.size(); ++r)
    registers[r] = registers[r & (r - 1)] ^ first[static_cast<std::size_t>(std::countr_zero(r))];
  return registers;
}

Layout expand_dims(const Layout& layout, int axis) {
  check(axis >= 0 && axis <= layout.shape().rank(), "an axis cannot be put there");
  Shape shape = layout.shape();
  shape.insert(shape.begin() + axis, 1);
  return map_bases(layout, std::move(shape), [&](Layout::Basis basis) {
    basis.insert(basis.begin() + axis, 0);
    return basis;
  });
}

Layout permute(const Layout& layout, const std::vector<int>& dims) {
  const Shape& from = layout.shape();
  check(dims.size() == from.size(), "a permutation names another number of axes");
  Shape shape;
  std::vector<bool> used(dims.size(), false);
  for (int dim : dims) {
    check(dim >= 0 && dim < from.rank() && !used[static_cast<std::size_t>(dim)],
          "not a permutation of the axes");
    used[static_cast<std::size_t>(dim)] = true;
    shape.push_back(from[dim]);
  }
  return map_bases(layout, std::move(shape), [&](const Layout::Basis& basis) {
    Layout::Basis permuted;
    for (int dim : dims) permuted.push_back(basis[static_cast<std::size_t>(dim)]);
    return permuted;
  });
}

Layout broadcast_source(const Layout& layout, const Shape& from_physical) {
  check(from_physical.size() == layout.shape().size(), "a broadcast keeps the number of axes");
  for (int axis = 0; axis < from_physical.rank(); ++axis)
    check(from_physical[axis] == 1 || from_physical[axis] == layout.shape()[axis],
          "a broadcast stretches axes of size 1 alone");
  return map_bases(layout, from_physical, [&](Layout::Basis basis) {
    for (int axis = 0; axis < from_physical.rank(); ++axis)
      if (from_physical[axis] == 1) basis[static_cast<std::size_t>(axis)] = 0;
    return basis;
  });
}

Layout broadcast_in_registers(const Layout& layout, const Shape& to_physical) {
  check(to_physical.size() == layout.shape().size(), "a broadcast keeps the number of axes");
  std::vector<Layout::Basis> registers = layout.bases(In::register_);
  for (int axis = to_physical.rank(); axis-- > 0;) {
    if (layout.shape()[axis] == to_physical[axis]) continue;
    check(layout.shape()[axis] == 1, "a broadcast stretches axes of size 1 alone");
    for (std::int64_t step = 1; step < to_physical[axis]; step *= 2) {
      registers.emplace_back(to_physical.size(), 0);
      registers.back()[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(step);
    }
  }
  return {to_physical, std::move(registers), layout.bases(In::lane), layout.bases(In::warp)};
}

std::optional<Layout> reshape(const Layout& layout, const Shape& to_physical) {
  if (element_count(layout.shape()) != element_count(to_physical)) return std::nullopt;
  return map_bases(layout, to_physical, [&](const Layout::Basis& basis) {
    return coordinates_of(to_physical, flat_index(layout.shape(), basis));
  });
}

}  // namespace tilewright::dsl::layout
