// Creation, elementwise and shape operations of the language.
#include <array>

#include "dsl/language/operands.h"
#include "dsl/language/tile.h"

namespace tilewright::dsl {
namespace {

using ir::Op;

std::string_view name_of(Op op) { return ir::info(op).name; }

Tile unary(Op op, const Operand& x) {
  OperationUse site(name_of(op), x.where);
  return site.append(op, {site.tile(x)});
}

Tile binary(Op op, const Operand& a, const Operand& b) {
  OperationUse site(name_of(op), a.where);
  return site.append(op, site.unify(std::array{a, b}));
}

bool is_pointer(const Operand& x) {
  return !x.is_number() && x.tile().is_live() && x.tile().type().is_pointer();
}

Tile offset(const Operand& pointer, const Operand& count) {
  OperationUse site("offset", pointer.where);
  Tile moved = site.tile(count, DType::i64);
  site.expect(moved.type().is_value() && is_integer(moved.dtype()), "the offset is ", moved.type(),
              "; it must be integer");
  return site.append(Op::offset_, site.broadcast_together({site.tile(pointer), moved}));
}

Tile negated(const Operand& x) {
  OperationUse site("neg", x.where);
  return site.append(Op::neg_, {site.tile(x)});
}

// An operator that C++ has for bools alone.
void expect_bool(const OperationUse& site, const Operand& x, std::string_view symbol,
                 std::string_view instead) {
  if (x.is_number()) return;
  ir::Type type = site.tile(x).type();
  site.expect(type.is_value() && is_boolean(type.dtype), symbol, " takes bools, the operand is ",
              type, "; compare it with something, or write ", instead, " for its bits");
}

Tile logical(Op op, const Operand& a, const Operand& b, std::string_view symbol,
             std::string_view instead) {
  OperationUse site(name_of(op), a.where);
  expect_bool(site, a, symbol, instead);
  expect_bool(site, b, symbol, instead);
  return binary(op, a, b);
}

}  // namespace

Tile operator+(const Operand& a, const Operand& b) {
  if (is_pointer(a)) return offset(a, b);
  if (is_pointer(b)) return offset(b, a);
  return binary(Op::add_, a, b);
}

Tile operator-(const Operand& a, const Operand& b) {
  if (is_pointer(a)) return offset(a, negated(b));
  return binary(Op::sub_, a, b);
}

Tile operator*(const Operand& a, const Operand& b) { return binary(Op::mul_, a, b); }
Tile operator/(const Operand& a, const Operand& b) { return binary(Op::div_, a, b); }
Tile operator%(const Operand& a, const Operand& b) { return binary(Op::rem_, a, b); }
Tile operator&(const Operand& a, const Operand& b) { return binary(Op::and_, a, b); }
Tile operator|(const Operand& a, const Operand& b) { return binary(Op::or_, a, b); }
Tile operator^(const Operand& a, const Operand& b) { return binary(Op::xor_, a, b); }
Tile operator<<(const Operand& a, const Operand& b) { return binary(Op::shl_, a, b); }
Tile operator>>(const Operand& a, const Operand& b) { return binary(Op::shr_, a, b); }
Tile operator==(const Operand& a, const Operand& b) { return binary(Op::eq_, a, b); }
Tile operator!=(const Operand& a, const Operand& b) { return binary(Op::ne_, a, b); }
Tile operator<(const Operand& a, const Operand& b) { return binary(Op::lt_, a, b); }
Tile operator<=(const Operand& a, const Operand& b) { return binary(Op::le_, a, b); }
Tile operator>(const Operand& a, const Operand& b) { return binary(Op::gt_, a, b); }
Tile operator>=(const Operand& a, const Operand& b) { return binary(Op::ge_, a, b); }
Tile operator-(const Operand& a) { return negated(a); }
Tile operator~(const Operand& a) { return unary(Op::not_, a); }
Tile operator!(const Operand& a) {
  expect_bool(OperationUse(name_of(Op::not_), a.where), a, "!", "~");
  return unary(Op::not_, a);
}
Tile operator&&(const Operand& a, const Operand& b) { return logical(Op::and_, a, b, "&&", "&"); }
Tile operator||(const Operand& a, const Operand& b) { return logical(Op::or_, a, b, "||", "|"); }

#define TILEWRIGHT_ASSIGNMENT(symbol)                          \
  Var& operator symbol##=(Var& a, const Operand& b) {          \
    return a = Operand(Operand(a, b.where) symbol b, b.where); \
  }
TILEWRIGHT_ASSIGNMENT(+)
TILEWRIGHT_ASSIGNMENT(-)
TILEWRIGHT_ASSIGNMENT(*)
TILEWRIGHT_ASSIGNMENT(/)
TILEWRIGHT_ASSIGNMENT(%)
TILEWRIGHT_ASSIGNMENT(&)
TILEWRIGHT_ASSIGNMENT(|)
TILEWRIGHT_ASSIGNMENT(^)
TILEWRIGHT_ASSIGNMENT(<<)
TILEWRIGHT_ASSIGNMENT(>>)
#undef TILEWRIGHT_ASSIGNMENT

Tile program_id(int axis, std::source_location where) {
  return OperationUse("program_id", where).append(Op::program_id_, {}, ir::Axis{axis});
}

Tile num_programs(int axis, std::source_location where) {
  return OperationUse("num_programs", where).append(Op::num_programs_, {}, ir::Axis{axis});
}

Tile detail::arange(std::int64_t start, std::int64_t end, std::source_location where) {
  return OperationUse("arange", where).append(Op::arange_, {}, ir::Bounds{start, end});
}

Tile detail::full(const Shape& shape, const Operand& value, DType dtype) {
  OperationUse site("full", value.where);
  return site.broadcast(site.tile(value, dtype), shape);
}

Tile full(const Shape& shape, double value, DType dtype, std::source_location where) {
  return detail::full(shape, Operand(value, where), dtype);
}

Tile zeros(const Shape& shape, DType dtype, std::source_location where) {
  return detail::full(shape, Operand(0, where), dtype);
}
Tile zeros(Shape&& shape, DType dtype, std::source_location where) {
  return detail::full(shape, Operand(0, where), dtype);
}
Tile zeros(std::initializer_list<std::int64_t> shape, DType dtype, std::source_location where) {
  return detail::full(Shape(shape), Operand(0, where), dtype);
}

Tile constant(ir::Scalar value, std::source_location where) {
  return OperationUse("constant", where).append(Op::constant_, {}, value);
}

Tile splat(const Operand& scalar, const Shape& shape) {
  OperationUse site("splat", scalar.where);
  return site.append(Op::splat_, {site.tile(scalar)}, ir::Extent{shape});
}

Tile abs(const Operand& x) { return unary(Op::abs_, x); }
Tile exp(const Operand& x) { return unary(Op::exp_, x); }
Tile exp2(const Operand& x) { return unary(Op::exp2_, x); }
Tile log(const Operand& x) { return unary(Op::log_, x); }
Tile log2(const Operand& x) { return unary(Op::log2_, x); }
Tile sin(const Operand& x) { return unary(Op::sin_, x); }
Tile cos(const Operand& x) { return unary(Op::cos_, x); }
Tile tanh(const Operand& x) { return unary(Op::tanh_, x); }
Tile erf(const Operand& x) { return unary(Op::erf_, x); }
Tile sigmoid(const Operand& x) { return unary(Op::sigmoid_, x); }
Tile sqrt(const Operand& x) { return unary(Op::sqrt_, x); }
Tile rsqrt(const Operand& x) { return unary(Op::rsqrt_, x); }
Tile floor(const Operand& x) { return unary(Op::floor_, x); }
Tile ceil(const Operand& x) { return unary(Op::ceil_, x); }
Tile round(const Operand& x) { return unary(Op::round_, x); }
Tile logical_not(const Operand& x) { return unary(Op::not_, x); }
Tile maximum(const Operand& a, const Operand& b) { return binary(Op::max_, a, b); }
Tile minimum(const Operand& a, const Operand& b) { return binary(Op::min_, a, b); }

Tile umulhi(const Operand& a, const Operand& b) { return binary(Op::umulhi_, a, b); }
Tile random_bits(const Operand& seed, const Operand& place) {
  return binary(Op::random_bits_, seed, place);
}
Tile ldexp(const Operand& x, const Operand& n) { return binary(Op::ldexp_, x, n); }

Tile fma(const Operand& a, const Operand& b, const Operand& c) {
  OperationUse site("fma", a.where);
  return site.append(Op::fma_, site.unify(std::array{a, b, c}));
}

Tile where(const Operand& condition, const Operand& a, const Operand& b) {
  OperationUse site("select", condition.where);
  // Pointers may be chosen between too, but not mixed with numbers.
  std::vector<Tile> chosen = is_pointer(a) && is_pointer(b)
                                 ? std::vector<Tile>{site.tile(a), site.tile(b)}
                                 : site.unify(std::array{a, b});
  chosen.insert(chosen.begin(), site.tile(condition, DType::boolean));
  return site.append(Op::select_, site.broadcast_together(std::move(chosen)));
}

Tile cast(const Operand& x, DType dtype) {
  OperationUse site("cast", x.where);
  if (x.is_number()) return site.tile(x, dtype);
  Tile tile = site.tile(x);
  if (tile.type().is_value() && tile.dtype() == dtype) return tile;
  return site.append(Op::cast_, {tile}, dtype);
}

Tile bitcast(const Operand& x, DType dtype) {
  OperationUse site("bitcast", x.where);
  return site.append(Op::bitcast_, {site.tile(x)}, dtype);
}

Tile elementwise(Op op, const std::vector<Operand>& operands) {
  const ir::OpInfo& row = ir::info(op);
  OperationUse site(row.name,
                    operands.empty() ? std::source_location::current() : operands.front().where);
  site.expect(row.op_class == ir::OpClass::elementwise && row.immediate == ir::ImmediateKind::none,
              "it is not an elementwise operation without an immediate; call its own function");
  site.expect(operands.size() == static_cast<std::size_t>(row.min_operands), "there are ",
              operands.size(), " operands; it takes ", row.min_operands);
  if (op == Op::select_) return where(operands[0], operands[1], operands[2]);
  if (op == Op::offset_) return offset(operands[0], operands[1]);
  return site.append(op, site.unify(operands));
}

Tile expand_dims(const Operand& x, int axis) {
  OperationUse site("expand_dims", x.where);
  Tile tile = site.tile(x);
  return site.append(Op::expand_dims_, {tile}, ir::Axis{site.axis(axis, tile.shape().rank() + 1)});
}

Tile broadcast_to(const Operand& x, const Shape& shape) {
  OperationUse site("broadcast", x.where);
  return site.broadcast(site.tile(x), shape);
}

Tile reshape(const Operand& x, const Shape& shape) {
  OperationUse site("reshape", x.where);
  Tile tile = site.tile(x);
  return tile.shape() == shape ? tile : site.append(Op::reshape_, {tile}, ir::Extent{shape});
}

Tile permute(const Operand& x, const std::vector<int>& dims) {
  OperationUse site("permute", x.where);
  Tile tile = site.tile(x);
  std::vector<int> normal;
  for (int dim : dims) normal.push_back(site.axis(dim, tile.shape().rank()));
  return site.append(Op::permute_, {tile}, ir::Permutation{std::move(normal)});
}

Tile trans(const Operand& x) {
  OperationUse site("trans", x.where);
  int rank = site.tile(x).shape().rank();
  site.expect(rank >= 2, "the operand has ", rank, " axes; it must have two or more");
  std::vector<int> dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(x, dims);
}

}  // namespace tilewright::dsl
