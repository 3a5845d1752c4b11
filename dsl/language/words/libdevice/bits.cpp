#include "dsl/language/words/libdevice/bits.h"

#include <bit>
#include <limits>

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::choice;
using words::Term;

std::vector<Term> integers(std::string_view word, const std::vector<Operand>& operands) {
  const std::source_location where = operands.front().where;
  OperationUse site(word, where);
  std::vector<Term> terms;
  for (const Tile& tile : site.unify(operands)) {
    site.expect(is_integer(tile.dtype()), "the operand is ", tile.type(),
                "; it must be an integer");
    terms.emplace_back(tile, where);
  }
  return terms;
}

DType without_sign(DType dtype) {
  const int bits = bit_width(dtype);
  return bits == 64 ? DType::u64 : bits == 32 ? DType::u32 : bits == 16 ? DType::u16 : DType::u8;
}
Term unsigned_bits(const Term& x) { return as_type(x, without_sign(x.dtype())); }

// A pattern of bits, repeated from `pattern` of `length` bits over all of the type.
Term repeated(const Term& like, std::uint64_t pattern, int length) {
  std::uint64_t all = 0;
  const int bits = bit_width(like.dtype());
  for (int at = 0; at < bits; at += length) all |= pattern << at;
  const ir::Scalar scalar = ir::Scalar::of_integer(like.dtype(), static_cast<std::int64_t>(all));
  Tile tile = constant(scalar, like.where());
  return {splat(Operand(tile, like.where()), like.shape()), like.where()};
}

// Bits are counted in pairs, then in fields of 4, 8, ... bits: H. Warren, Hacker's Delight, 5-1.
Term count(const Term& x) {
  const int bits = bit_width(x.dtype());
  Term sum = x - ((x >> 1) & repeated(x, 0x1, 2));
  sum = (sum & repeated(x, 0x3, 4)) + ((sum >> 2) & repeated(x, 0x3, 4));
  sum = (sum + (sum >> 4)) & repeated(x, 0xF, 8);
  for (int width = 8; width < bits; width *= 2) sum = sum + (sum >> width);
  return as_type(sum & repeated(x, 0x7F, 64), DType::i32);
}

}  // namespace

Tile popc(const Operand& x) { return count(unsigned_bits(integers("popc", {x})[0])).tile(); }

Tile clz(const Operand& x) {
  Term spread = unsigned_bits(integers("clz", {x})[0]);
  const int bits = bit_width(spread.dtype());
  for (int by = 1; by < bits; by *= 2) spread = spread | (spread >> by);
  return count(~spread).tile();
}

// Up to the lowest 1 all bits change where 1 is taken away.
Tile ffs(const Operand& x) {
  const Term t = unsigned_bits(integers("ffs", {x})[0]);
  const Term changed = count(t ^ (t - 1));
  return choice(t == 0, changed.number(0), changed).tile();
}

// Neighbours are exchanged, then pairs, and so on.
Tile brev(const Operand& x) {
  const Term given = integers("brev", {x})[0];
  Term t = unsigned_bits(given);
  const int bits = bit_width(t.dtype());
  for (int by = 1; by < bits; by *= 2) {
    const Term low = repeated(t, (std::uint64_t{1} << by) - 1, 2 * by);
    t = ((t >> by) & low) | ((t & low) << by);
  }
  return as_type(t, given.dtype()).tile();
}

Tile byte_perm(const Operand& x, const Operand& y, const Operand& selector) {
  OperationUse site("byte_perm", x.where);
  const std::vector<Term> t = integers("byte_perm", {x, y, selector});
  site.expect(t[0].dtype() == DType::u32, "the operands are ", t[0].dtype(), "; they must be u32");
  const Term all = as_type(t[0], DType::u64) | (as_type(t[1], DType::u64) << 32);
  const Term places = as_type(t[2], DType::u64);
  Term bytes = all.number(0);
  for (int i = 0; i < 4; ++i) {
    const Term place = ((places >> (4 * i)) & 7) * 8;
    bytes = bytes | (((all >> place) & 0xFF) << (8 * i));
  }
  return as_type(bytes, DType::u32).tile();
}

// Read without a sign, a number below 0 is 2^bits more: the other operand is in the upper half once
// too often.
Tile mulhi(const Operand& x, const Operand& y) {
  const std::vector<Term> t = integers("mulhi", {x, y});
  const Term high{umulhi(t[0].operand(), t[1].operand()), x.where};
  if (!is_signed(t[0].dtype())) return high.tile();
  const Term zero = high.number(0);
  return (high - choice(t[0] < 0, t[1], zero) - choice(t[1] < 0, t[0], zero)).tile();
}

Tile mul24(const Operand& x, const Operand& y) {
  OperationUse site("mul24", x.where);
  const std::vector<Term> t = integers("mul24", {x, y});
  site.expect(bit_width(t[0].dtype()) == 32, "the operands are ", t[0].dtype(),
              "; they must be i32 or u32");
  auto lower = [](const Term& all) { return (all << 8) >> 8; };
  return (lower(t[0]) * lower(t[1])).tile();
}

Tile sad(const Operand& x, const Operand& y, const Operand& z) {
  const std::vector<Term> t = integers("sad", {x, y, z});
  return (choice(t[0] < t[1], t[1] - t[0], t[0] - t[1]) + t[2]).tile();
}

// The bits that both have, and half of the bits that one has.
Tile hadd(const Operand& x, const Operand& y) {
  const std::vector<Term> t = integers("hadd", {x, y});
  return ((t[0] & t[1]) + ((t[0] ^ t[1]) >> 1)).tile();
}
Tile rhadd(const Operand& x, const Operand& y) {
  const std::vector<Term> t = integers("rhadd", {x, y});
  return ((t[0] | t[1]) - ((t[0] ^ t[1]) >> 1)).tile();
}

}  // namespace tilewright::dsl
