#include "tests/property/tile_generator.h"

#include <algorithm>
#include <cmath>

#include "dsl/ir/type_rules.h"
#include "tests/property/op_families.h"

namespace tilewright {

using ir::Op;
using ir::Value;

namespace {

constexpr double largest = 100;  // of floating values that are kept

}  // namespace

void TileGenerator::run() {
  row_ = append(Op::program_id_, {}, ir::Axis{0});
  column_ = append(Op::program_id_, {}, ir::Axis{1});
  Value plane = append(Op::program_id_, {}, ir::Axis{2});
  Value across = append(Op::num_programs_, {}, ir::Axis{1});
  program_ = append(Op::add_, {append(Op::mul_, {plane, across}), column_});
  Value along = append(Op::num_programs_, {}, ir::Axis{0});
  program_ = append(Op::add_, {append(Op::mul_, {program_, along}), row_});
  keep(fresh(dtype(), shape()));
  keep(fresh(DType::f32, shape()));
  load_block();
  for (std::int64_t steps = 4 + below(8); steps > 0; --steps) step();
  std::vector<Entry> last(pool_.end() - std::min<std::ptrdiff_t>(3, std::ssize(pool_)),
                          pool_.end());
  for (const Entry& entry : last) {
    bool plane_block = grid_.size[2] == 1 && type(entry).shape.rank() == 2;
    plane_block&& below(2) == 0 ? store_block(entry) : store_tile(entry);
  }
}

void TileGenerator::step() {
  static constexpr void (TileGenerator::*steps[])() = {
      &TileGenerator::load_block, &TileGenerator::unary,       &TileGenerator::unary,
      &TileGenerator::unary,      &TileGenerator::binary,      &TileGenerator::binary,
      &TileGenerator::binary,     &TileGenerator::ternary,     &TileGenerator::convert,
      &TileGenerator::convert,    &TileGenerator::reinterpret, &TileGenerator::change_shape,
      &TileGenerator::reduce,     &TileGenerator::reduce,      &TileGenerator::dot,
      &TileGenerator::loop,       &TileGenerator::branch,      &TileGenerator::blocked_product};
  // Control flow nests two deep.
  auto count = builder_.depth() < 2 ? std::size(steps) : std::size(steps) - 3;
  (this->*steps[static_cast<std::size_t>(below(static_cast<std::int64_t>(count)))])();
}

void TileGenerator::keep(Entry entry) {
  if (is_floating(type(entry).dtype) && entry.range > largest) entry = tamed(entry, 4);
  pool_.push_back(entry);
}

Value TileGenerator::pointer_param(DType dtype, std::int64_t count, bool written) {
  std::string name = (written ? "out" : "in") + std::to_string(params_.size());
  params_.push_back({dtype, count, written, std::nullopt});
  return builder_.param(name, ir::Type::pointer(dtype));
}

Value TileGenerator::size(std::int64_t value) {
  if (below(3) != 0) return builder_.index(value);
  std::string name = "n" + std::to_string(params_.size());
  params_.push_back({DType::i64, 1, false, value});
  return builder_.param(name, ir::Type::scalar(DType::i64));
}

Value TileGenerator::splat(Value scalar, const Shape& shape) {
  return shape.empty() ? scalar : append(Op::splat_, {scalar}, ir::Extent{shape});
}

Value TileGenerator::number(double value, const ir::Type& like) {
  Shape shape = like.shape;
  return splat(builder_.constant(ir::Scalar::of(like.dtype, value)), shape);
}

Value TileGenerator::index_tile(Value base, const Shape& shape) {
  std::int64_t count = element_count(shape);
  if (shape.empty()) return base;
  if (shape.rank() == 2 && below(2) == 0) {
    Value rows = append(Op::arange_, {}, ir::Bounds{0, shape[0]});
    Value columns = append(Op::arange_, {}, ir::Bounds{0, shape[1]});
    rows = append(Op::expand_dims_, {rows}, ir::Axis{1});
    Value stride =
        splat(builder_.constant(ir::Scalar::of_integer(DType::i32, shape[1])), type(rows).shape);
    rows = append(Op::broadcast_, {append(Op::mul_, {rows, stride})}, ir::Extent{shape});
    columns = append(Op::expand_dims_, {columns}, ir::Axis{0});
    columns = append(Op::broadcast_, {columns}, ir::Extent{shape});
    Value both = append(Op::cast_, {append(Op::add_, {rows, columns})}, DType::i64);
    return append(Op::add_, {splat(base, shape), both});
  }
  Value flat = append(Op::arange_, {}, ir::Bounds{0, count});
  flat = append(Op::reshape_, {append(Op::cast_, {flat}, DType::i64)}, ir::Extent{shape});
  return append(Op::add_, {flat, splat(base, shape)});
}

Value TileGenerator::condition(const Shape& shape) {
  Value index = index_tile(program_, shape);
  Value by = splat(builder_.index(pick({2, 3, 5})), shape);
  Value rest = append(Op::rem_, {index, by});
  return append(below(2) == 0 ? Op::ne_ : Op::gt_, {rest, splat(builder_.index(0), shape)});
}

// The elements start, start + 1, ... of an array that may end before; lanes outside are masked.
Value TileGenerator::loaded(DType dtype, const Shape& shape, Value start, std::int64_t count) {
  bool ragged = below(3) != 0;
  std::int64_t size_of_array = ragged ? std::max<std::int64_t>(1, count - below(7)) : count;
  Value base = pointer_param(dtype, size_of_array, false);
  Value index = index_tile(start, shape);
  Value pointer = append(Op::offset_, {splat(base, shape), index});
  std::vector<Value> operands{pointer};
  if (ragged || below(2) == 0)
    operands.push_back(append(Op::lt_, {index, splat(size(size_of_array), shape)}));
  if (operands.size() == 2 && below(2) == 0)
    operands.push_back(number(1, ir::Type::tile(dtype, shape)));
  return append(Op::load_, operands, ir::Access{cache()});
}

TileGenerator::Entry TileGenerator::fresh(DType dtype, const Shape& shape) {
  std::int64_t count = element_count(shape);
  Value start = append(Op::mul_, {program_, builder_.index(count)});
  return {loaded(dtype, shape, start, grid_.count() * count)};
}

Shape TileGenerator::shape() {
  auto axis = [&] { return pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 12, 16, 17}); };
  switch (below(6)) {
    case 0: return {pick<std::int64_t>({1, 6, 16, 31, 64, 100})};
    case 1: return {axis(), pick<std::int64_t>({2, 3, 5}), pick<std::int64_t>({1, 4, 6})};
    default: return {axis(), axis()};
  }
}

DType TileGenerator::dtype() {
  DType any = all_dtypes()[static_cast<std::size_t>(below(std::ssize(all_dtypes())))];
  return below(3) == 0 || is_float8(any) ? DType::f32 : any;
}

TileGenerator::Entry TileGenerator::like(const Entry& entry) {
  std::vector<Entry> fitting;
  for (const Entry& other : pool_)
    if (type(other) == type(entry) && other.value != entry.value) fitting.push_back(other);
  if (!fitting.empty() && below(4) != 0)
    return fitting[static_cast<std::size_t>(below(std::ssize(fitting)))];
  ir::Type wanted = type(entry);
  if (below(2) == 0) return fresh(wanted.dtype, wanted.shape);
  double value = static_cast<double>(pick({0, 1, 1, 2, 3, -1}));
  return {number(value, wanted), true, std::abs(value)};
}

TileGenerator::Entry TileGenerator::floating(bool exact) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    Entry entry = any();
    if (is_floating(type(entry).dtype) && (entry.exact || !exact)) return entry;
  }
  return fresh(pick({DType::f32, DType::f16, DType::bf16, DType::f64}), shape());
}

TileGenerator::Entry TileGenerator::integer() {
  for (int attempt = 0; attempt < 8; ++attempt) {
    Entry entry = any();
    if (is_integer(type(entry).dtype)) return entry;
  }
  return fresh(pick({DType::i8, DType::i32, DType::i64, DType::u8, DType::u32, DType::u64}),
               shape());
}

TileGenerator::Entry TileGenerator::tamed(Entry x, double range) {
  if (x.range <= range || !is_floating(type(x).dtype)) return x;
  Value low = append(Op::max_, {x.value, number(-range, type(x))});
  return {append(Op::min_, {low, number(range, type(x))}), x.exact, range};
}

void TileGenerator::load_block() {
  Shape block = shape();
  DType element = dtype();
  std::vector<Value> operands{0};
  Shape sizes;
  for (std::int64_t extent : block)
    sizes.push_back(std::max<std::int64_t>(1, 2 * extent - below(4)));
  Strides strides = row_major_strides(sizes);
  if (block.rank() == 2) strides[0] += below(3);
  std::int64_t count = 1;
  for (int axis = 0; axis < block.rank(); ++axis) count += (sizes[axis] - 1) * strides[axis];
  operands[0] = pointer_param(element, count, false);
  for (std::int64_t extent : sizes) operands.push_back(size(extent));
  for (std::int64_t stride : strides) operands.push_back(size(stride));
  std::vector<Value> place{append(Op::make_desc_, operands)};
  for (int axis = 0; axis < block.rank(); ++axis) {
    Value at = axis == 0 ? row_ : axis == 1 ? column_ : builder_.index(0);
    Value start = append(Op::mul_, {at, builder_.index(block[axis])});
    place.push_back(append(Op::sub_, {start, builder_.index(below(3))}));
  }
  if (below(4) == 0) append(Op::prefetch_desc_, place, ir::Extent{block});
  keep({append(Op::load_desc_, place, ir::BlockAccess{block, cache()})});
}

void TileGenerator::unary() {
  static const std::vector<Op> ops = ops_of_arity(1);
  Op op = ops[static_cast<std::size_t>(below(std::ssize(ops)))];
  const ir::OpInfo& row = ir::info(op);
  bool rounds = is_one_of(op, {Op::floor_, Op::ceil_, Op::round_});
  Entry x = row.has(ir::integer_only) ? integer() : floating(rounds);
  if (row.properties == ir::none && below(2) == 0) x = integer();
  keep(unary_of(op, x));
}

TileGenerator::Entry TileGenerator::unary_of(Op op, Entry x) {
  auto above = [&](double least) {
    Value size = append(Op::abs_, {x.value});
    x = {append(Op::add_, {size, number(least, type(x))}), x.exact, x.range + least};
  };
  double range = 1;
  if (is_one_of(op, {Op::exp_, Op::exp2_})) x = tamed(x, 4), range = 55;
  if (is_one_of(op, {Op::log_, Op::log2_})) above(0.5), range = 7;
  if (op == Op::sqrt_) above(0), range = std::sqrt(x.range);
  if (op == Op::rsqrt_) above(0.25), range = 2;
  if (is_one_of(op, {Op::neg_, Op::abs_})) range = x.range;
  if (is_one_of(op, {Op::floor_, Op::ceil_, Op::round_})) range = x.range + 1;
  return {append(op, {x.value}), x.exact && !is_transcendental(op), range};
}

void TileGenerator::binary() {
  static const std::vector<Op> ops = ops_of_arity(2);
  Op op = ops[static_cast<std::size_t>(below(std::ssize(ops)))];
  const ir::OpInfo& row = ir::info(op);
  bool decides = ir::info(op).cost == 1 &&
                 is_one_of(op, {Op::eq_, Op::ne_, Op::lt_, Op::le_, Op::gt_, Op::ge_});
  Entry a = row.has(ir::integer_only) || (below(3) == 0 && !row.has(ir::float_only))
                ? integer()
                : floating(decides || op == Op::rem_);
  if (op == Op::random_bits_ && bit_width(type(a).dtype) != 64)
    a = {append(Op::cast_, {a.value}, DType::i64)};
  Entry b = like(a);
  if ((decides || op == Op::rem_ || op == Op::ldexp_) && !b.exact)
    b = {number(1, type(a)), true, 1};
  keep(binary_of(op, a, b));
}

TileGenerator::Entry TileGenerator::binary_of(Op op, Entry a, Entry b) {
  bool exact = a.exact && b.exact;
  if (!is_floating(type(a).dtype)) return {append(op, {a.value, b.value})};
  if (is_one_of(op, {Op::div_, Op::rem_})) {
    Value size = append(Op::abs_, {b.value});
    b = {append(Op::add_, {size, number(1, type(b))}), b.exact, b.range + 1};
  }
  if (op == Op::ldexp_) {
    constexpr int most = 4;
    Value least = append(Op::max_, {b.value, number(-most, type(b))});
    return {append(op, {a.value, append(Op::min_, {least, number(most, type(b))})}), exact,
            std::ldexp(a.range, most)};
  }
  double range = std::max(a.range, b.range);
  if (is_one_of(op, {Op::add_, Op::sub_})) range = a.range + b.range;
  if (op == Op::mul_) range = a.range * b.range;
  return {append(op, {a.value, b.value}), exact, range};
}

void TileGenerator::ternary() {
  Entry a = below(2) == 0 ? floating() : any();
  Entry b = like(a), c = like(a);
  if (is_floating(type(a).dtype) && below(2) == 0) {
    double range = a.range * b.range + c.range;
    keep({append(Op::fma_, {a.value, b.value, c.value}), a.exact && b.exact && c.exact, range});
  } else {
    Value chosen = append(Op::select_, {condition(type(a).shape), a.value, b.value});
    keep({chosen, a.exact && b.exact, std::max(a.range, b.range)});
  }
}

void TileGenerator::convert() {
  Entry x = any();
  if (is_floating(type(x).dtype) && below(4) == 0) return through_float8(x);
  DType from = type(x).dtype, to = dtype();
  if (!x.exact && !is_floating(to)) to = pick({DType::f32, DType::f16, DType::bf16, DType::f64});
  if (from == to) return;
  Entry result{append(Op::cast_, {x.value}, to), x.exact, x.range};
  if (is_floating(to) && !is_floating(from)) result.range = HUGE_VAL;
  keep(result);
}

void TileGenerator::through_float8(const Entry& entry) {
  Entry x = tamed(entry, 400);
  Value narrow = append(Op::cast_, {x.value},
                        pick({DType::f8e4m3, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz}));
  keep({append(Op::cast_, {narrow}, pick({DType::f32, DType::f16})), false, x.range * 1.25 + 1});
}

// Bits as numbers and back, where no NaN and no sign of zero can show.
void TileGenerator::reinterpret() {
  Entry x = any();
  DType from = type(x).dtype;
  if (!x.exact || is_boolean(from)) return;
  int width = bit_width(from);
  std::vector<DType> fitting;
  for (DType to : all_dtypes())
    if (bit_width(to) == width && !is_boolean(to) && !is_float8(to) && to != from)
      fitting.push_back(to);
  if (fitting.empty()) return;
  DType to = fitting[static_cast<std::size_t>(below(std::ssize(fitting)))];
  if (is_floating(from)) {
    Value number_itself = append(Op::eq_, {x.value, x.value});
    Value size = append(Op::abs_, {x.value});
    x.value = append(Op::select_, {number_itself, size, number(0, type(x))});
    if (is_floating(to)) to = width == 16 ? DType::i16 : width == 32 ? DType::i32 : DType::i64;
  } else if (is_floating(to)) {
    // Below 2 in magnitude, and positive.
    std::int64_t mask = (std::int64_t{1} << (width - 2)) - 1;
    if (to == DType::bf16) mask = 0x3f7f;
    Value bits = builder_.constant(ir::Scalar::of_integer(from, mask));
    x.value = append(Op::and_, {x.value, splat(bits, type(x).shape)});
  }
  keep({append(Op::bitcast_, {x.value}, to)});
}

void TileGenerator::reduce() {
  Entry x = any();
  if (type(x).shape.empty()) return;
  int axis = static_cast<int>(below(type(x).shape.rank()));
  auto along = static_cast<double>(type(x).shape[axis]);
  using enum ir::ReduceKind;
  ir::ReduceKind kind = pick({sum, prod, max, min});
  if (x.exact && below(3) == 0) kind = pick({argmax, argmin});
  if (is_boolean(type(x).dtype)) kind = pick({any, all});
  double range = x.range;
  bool exact = x.exact;
  if (is_floating(type(x).dtype) && (kind == sum || kind == prod)) {
    if (kind == prod) x = tamed(x, 1.25);
    range = kind == sum ? x.range * along : std::pow(1.25, along);
    if (range > 30000) return;
    exact = false;
  }
  keep({append(Op::reduce_, {x.value}, ir::Reduction{kind, axis}), exact, range});
}

ir::Precision TileGenerator::precision(DType operand) {
  using enum ir::InputPrecision;
  if (operand != DType::f32) return {};
  return {pick({ieee, ieee, tf32, tf32x3})};
}

void TileGenerator::dot() {
  Entry a = this->any();
  if (type(a).shape.rank() != 2 || is_boolean(type(a).dtype)) {
    DType element = pick({DType::f32, DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,
                          DType::i32, DType::u8});
    a = fresh(element, {pick<std::int64_t>({1, 3, 8, 13}), pick<std::int64_t>({1, 4, 7, 16})});
  }
  DType element = type(a).dtype;
  std::int64_t rows = type(a).shape[0], inner = type(a).shape[1];
  std::int64_t columns = pick<std::int64_t>({1, 4, 5, 16, 19});
  if (rows * columns > most) return;
  Entry b = fresh(element, {inner, columns});
  ir::Type sum = ir::Type::tile(ir::product_dtype(element), {rows, columns});
  Entry acc = below(2) == 0 ? fresh(sum.dtype, sum.shape) : Entry{number(0, sum)};
  double range = static_cast<double>(inner) * a.range * b.range + acc.range;
  keep({append(Op::dot_, {a.value, b.value, acc.value}, precision(element)), !is_floating(element),
        range});
}

TileGenerator::Entry TileGenerator::mixed(const Entry& a, const Entry& b) {
  if (!is_floating(type(a).dtype)) return binary_of(pick({Op::xor_, Op::or_, Op::and_}), a, b);
  Value half = number(0.5, type(a));
  Value first = append(Op::mul_, {a.value, half}), second = append(Op::mul_, {b.value, half});
  return {append(Op::add_, {first, second}), a.exact && b.exact, std::max(a.range, b.range)};
}

void TileGenerator::loop() {
  Entry init = tamed(any(), 4);
  ir::Type carried = type(init);
  bool counts = !is_floating(carried.dtype);
  Value low = size(below(3)), high = size(below(6)), step = builder_.index(pick({1, 1, 2}));
  std::vector<Entry> outside = pool_;
  // Some end by a condition before they come to their upper bound.
  const ir::LoopEnd end{params_.size() % 3 == 0};
  std::vector<Value> inits, yields;
  std::vector<ir::Type> types{ir::Type::scalar(DType::i64)};
  if (end.by_condition) {
    inits.push_back(append(Op::lt_, {low, builder_.index(2)}));
    types.push_back(ir::Type::scalar(DType::boolean));
  }
  inits.push_back(init.value);
  types.push_back(carried);
  const auto& params = builder_.open_block(types).params;
  Value index = params[0];
  Entry acc{params.back(), counts, 4};
  pool_.push_back(acc);
  if (below(2) == 0) {
    // A tile that moves with the index.
    std::int64_t count = element_count(carried.shape);
    Value start = append(Op::add_, {append(Op::mul_, {program_, builder_.index(count)}), index});
    Value tile = loaded(carried.dtype, carried.shape, start, grid_.count() * count + 6);
    pool_.push_back({tile});
  }
  this->step();
  Entry number_of_turn{splat(append(Op::cast_, {index}, carried.dtype), carried.shape), true, 6};
  Entry next = mixed(acc, tamed(like(acc), 4));
  if (below(2) == 0) next = mixed(next, tamed(number_of_turn, 4));
  if (end.by_condition) yields.push_back(append(Op::lt_, {index, builder_.index(2)}));
  yields.push_back(next.value);
  pool_ = outside;
  keep({builder_.close_loop(low, high, step, inits, yields, end).back(), counts, 4});
}

void TileGenerator::branch() {
  Entry x = any();
  Value bit = append(Op::and_, {program_, builder_.index(1)});
  Value go = append(pick({Op::eq_, Op::ge_}), {bit, builder_.index(below(2))});
  std::vector<Entry> outside = pool_;
  for (int body = 0; body < 2; ++body) {
    builder_.open_block({});
    step();
    Entry y = mixed(x, tamed(like(x), std::max(4.0, x.range)));
    if (body == 0 && below(3) == 0) store_tile(y);
    pool_ = outside;
    builder_.close_block({body == 1 && below(2) == 0 ? x.value : y.value});
  }
  bool counts = !is_floating(type(x).dtype);
  keep({builder_.close_if(go)[0], counts, std::max(4.0, x.range)});
}

// A matrix product in blocks along its inner axis, with edges that the blocks pass.
void TileGenerator::blocked_product() {
  DType element = pick({DType::f32, DType::f32, DType::f16, DType::bf16, DType::i8});
  std::int64_t rows = pick<std::int64_t>({1, 4, 6, 16}), columns = pick<std::int64_t>({3, 8, 17});
  std::int64_t inner = pick<std::int64_t>({5, 8, 13}), block = pick<std::int64_t>({3, 4, 8, 16});
  auto described = [&](std::int64_t height, std::int64_t width) {
    Value base = pointer_param(element, height * width, false);
    Value stride = size(width);
    return append(Op::make_desc_, {base, size(height), stride, stride, builder_.index(1)});
  };
  Value a = described(2 * rows - 1, inner), b = described(inner, 2 * columns - 1);
  Value top = append(Op::mul_, {row_, builder_.index(rows)});
  Value left = append(Op::mul_, {column_, builder_.index(columns)});
  ir::Type carried = ir::Type::tile(ir::product_dtype(element), {rows, columns});
  Value zero = number(0, carried), low = builder_.index(0), high = size(inner);
  Value step = builder_.index(block);
  const auto& params = builder_.open_block({ir::Type::scalar(DType::i64), carried}).params;
  Value index = params[0], acc = params[1];
  Value x = append(Op::load_desc_, {a, top, index}, ir::BlockAccess{{rows, block}, cache()});
  Value y = append(Op::load_desc_, {b, index, left}, ir::BlockAccess{{block, columns}, cache()});
  Value next = append(Op::dot_, {x, y, acc}, precision(element));
  Value product = builder_.close_loop(low, high, step, {zero}, {next})[0];
  keep({product, !is_floating(element), 4.0 * static_cast<double>(inner)});
}

void TileGenerator::store_tile(const Entry& entry) {
  Shape shape = type(entry).shape;
  std::int64_t count = element_count(shape);
  Value base = pointer_param(type(entry).dtype, grid_.count() * count, true);
  Value start = append(Op::mul_, {program_, builder_.index(count)});
  Value pointer = append(Op::offset_, {splat(base, shape), index_tile(start, shape)});
  std::vector<Value> operands{pointer, entry.value};
  if (below(2) == 0) operands.push_back(condition(shape));
  append(Op::store_, operands, ir::Access{cache()});
}

void TileGenerator::store_block(const Entry& entry) {
  Shape shape = type(entry).shape;
  std::int64_t rows = std::max<std::int64_t>(1, grid_.size[0] * shape[0] - below(shape[0]));
  std::int64_t columns = std::max<std::int64_t>(1, grid_.size[1] * shape[1] - below(shape[1]));
  std::int64_t stride = columns + below(3);
  Value base = pointer_param(type(entry).dtype, rows * stride, true);
  Value array =
      append(Op::make_desc_, {base, size(rows), size(columns), size(stride), builder_.index(1)});
  Value top = append(Op::mul_, {row_, builder_.index(shape[0])});
  Value left = append(Op::mul_, {column_, builder_.index(shape[1])});
  append(Op::store_desc_, {array, entry.value, top, left}, ir::Access{cache()});
}

}  // namespace tilewright
