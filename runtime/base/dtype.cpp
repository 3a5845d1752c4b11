#include "runtime/base/dtype.h"

#include <array>
#include <ostream>

namespace tilewright {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeKind kind;
  std::int64_t bytes;
};

constexpr std::array rows = {
#define TILEWRIGHT_DTYPE(name, bits, kind, host) \
  Row{DType::name == DType::boolean ? "bool" : #name, bits, DTypeKind::kind, sizeof(host)},
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
};

constexpr std::array dtypes = {
#define TILEWRIGHT_DTYPE(name, bits, kind, host) DType::name,
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
};

const Row& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

}  // namespace

DTypeKind kind_of(DType dtype) { return row(dtype).kind; }
int bit_width(DType dtype) { return row(dtype).bits; }
std::int64_t size_bytes(DType dtype) { return row(dtype).bytes; }
std::string_view name_of(DType dtype) { return row(dtype).name; }
std::span<const DType> all_dtypes() { return dtypes; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType d : dtypes)
    if (name_of(d) == name) return d;
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_boolean(a)) return b;
  if (is_boolean(b)) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (bit_width(a) != bit_width(b)) {
    DType wide = bit_width(a) > bit_width(b) ? a : b, narrow = wide == a ? b : a;
    // An unsigned type does not hold negative values: signed of the wider size, where there is one.
    if (is_signed(narrow) && kind_of(wide) == DTypeKind::unsigned_integer) return DType::i64;
    return wide;
  }
  if (is_floating(a)) return DType::f32;  // f16 with bf16, and those of 8 bits
  switch (bit_width(a)) {                 // signed with unsigned of one width: the next signed
    case 8: return DType::i16;
    case 16: return DType::i32;
    default: return DType::i64;
  }
}

}  // namespace tilewright
