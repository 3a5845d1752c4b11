#include "dsl/language/random.h"

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::bits_as;
using words::choice;
using words::Term;

constexpr std::int64_t round_a = 0xD2511F53, round_b = 0xCD9E8D57;  // the paper's multipliers
constexpr std::int64_t key_a = 0x9E3779B9, key_b = 0xBB67AE85;      // and its steps of the key

// The upper half of the product with a number.
Term upper_half(const Term& x, std::int64_t by) {
  return {umulhi(x.operand(), Operand(by, x.where())), x.where()};
}

// An integer as so many bits of u32, from `shift` on.
Term word(const Term& x, int shift) {
  const Term wide = as_type(x, DType::i64);
  return as_type((shift == 0 ? wide : wide >> shift) & 0xffffffff, DType::u32);
}

Tile integers(const OperationUse& site, const Operand& x, std::string_view role) {
  Tile tile = site.tile(x, DType::i64);
  site.expect(tile.type().is_value() && is_integer(tile.dtype()), role, " is ", tile.type(),
              "; it must be integer");
  return tile;
}

}  // namespace

FourTiles philox(const Operand& seed, const Operand& c0, const Operand& c1, const Operand& c2,
                 const Operand& c3, int rounds) {
  OperationUse site("philox", seed.where);
  site.expect(rounds >= 1, "there are ", rounds, " rounds; there must be one or more");
  const Term key(integers(site, seed, "the seed"), seed.where);
  std::vector<Tile> tiles{word(key, 0).tile(), word(key, 32).tile()};
  for (const Operand* c : {&c0, &c1, &c2, &c3})
    tiles.push_back(word(Term(integers(site, *c, "a counter"), seed.where), 0).tile());
  tiles = site.broadcast_together(std::move(tiles));
  std::vector<Term> t;
  for (const Tile& tile : tiles) t.emplace_back(tile, seed.where);
  Term k0 = t[0], k1 = t[1];
  std::array<Term, 4> c{t[2], t[3], t[4], t[5]};
  for (int round = 0; round < rounds; ++round) {
    c = {upper_half(c[2], round_b) ^ c[1] ^ k0, c[2] * round_b,
         upper_half(c[0], round_a) ^ c[3] ^ k1, c[0] * round_a};
    k0 = k0 + key_a;
    k1 = k1 + key_b;
  }
  return {c[0].tile(), c[1].tile(), c[2].tile(), c[3].tile()};
}

FourTiles randint4x(const Operand& seed, const Operand& offset, int rounds) {
  OperationUse site("randint", seed.where);
  const Term place(integers(site, offset, "the offset"), seed.where);
  Term high = 0;
  if (bit_width(place.dtype()) > 32) high = word(place, 32);
  return philox(seed, word(place, 0).operand(), high.at(seed.where), Operand(0, seed.where),
                Operand(0, seed.where), rounds);
}

Tile randint(const Operand& seed, const Operand& offset, int rounds) {
  return randint4x(seed, offset, rounds)[0];
}

Tile uint_to_uniform_float(const Operand& bits) {
  OperationUse site("uint_to_uniform_float", bits.where);
  Tile tile = site.tile(bits);
  site.expect(tile.type().is_value() && is_integer(tile.dtype()) && bit_width(tile.dtype()) == 32,
              "the operand is ", tile.type(), "; it must be u32 or i32");
  // A little less than 2^-31, so that the greatest number, rounded to f32, stays below 1.
  constexpr double scale = 4.6566127342e-10;
  const Term x = bits_as(Term(tile, bits.where), DType::i32);
  return (as_type(choice(x < 0, ~x, x), DType::f32) * scale).tile();
}

std::pair<Tile, Tile> pair_uniform_to_normal(const Operand& first, const Operand& second) {
  constexpr double least = 1.0e-7, two_pi = 6.283185307179586;
  const Term u1 = greater(Term(first), least), angle = Term(second) * two_pi;
  const Term radius = sqrt(log(u1) * -2.0);
  return {(radius * cos(angle)).tile(), (radius * sin(angle)).tile()};
}

FourTiles rand4x(const Operand& seed, const Operand& offset, int rounds) {
  FourTiles result = randint4x(seed, offset, rounds);
  for (Tile& tile : result) tile = uint_to_uniform_float(Operand(tile, seed.where));
  return result;
}

Tile rand(const Operand& seed, const Operand& offset, int rounds) {
  return uint_to_uniform_float(Operand(randint(seed, offset, rounds), seed.where));
}

FourTiles randn4x(const Operand& seed, const Operand& offset, int rounds) {
  const FourTiles u = rand4x(seed, offset, rounds);
  auto at = [&](std::size_t i) { return Operand(u[i], seed.where); };
  auto [n1, n2] = pair_uniform_to_normal(at(0), at(1));
  auto [n3, n4] = pair_uniform_to_normal(at(2), at(3));
  return {n1, n2, n3, n4};
}

Tile randn(const Operand& seed, const Operand& offset, int rounds) {
  const FourTiles u = rand4x(seed, offset, rounds);
  return pair_uniform_to_normal(Operand(u[0], seed.where), Operand(u[1], seed.where)).first;
}

}  // namespace tilewright::dsl
