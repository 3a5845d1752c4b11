// Matrix products in registers.
//
// Two ways, by how the right operand lies in memory. Along n: vectors of neighbouring columns of b,
// one element of a broadcast to each, a block of rows x vectors of accumulators held in registers
// over the whole of k. Along k: for a b whose columns are contiguous (a weight stored [N, K]) and
// few rows or a long k, vectors along k of both, and a tree that sums many accumulators at once.
// Otherwise a b with contiguous columns is first transposed into scratch memory, block by block.
// Operands of products with many rows are packed first (emit_packed_dot.cpp). Products along k are
// in emit_dot_along_k.cpp.
//
// A lane holds one element of each operand, or a word of neighbours along k if the processor has an
// instruction that multiplies these and sums the products (`Matrix::in_word`): two of bf16 or four
// of i8. That is two or four times the work of an instruction, without a conversion of what is
// loaded. (The instruction for bf16 treats denormal numbers, smaller than 1.2e-38, as zero.)
#include <algorithm>
#include <bit>
#include <numeric>

#include "dsl/codegen/host/matrix.h"
#include "dsl/codegen/host/word_instructions.h"
#include "dsl/target/row_product.h"
#include "dsl/target/step_rows.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr std::int64_t small_copy = 512;  // elements that are gathered rather than transposed
constexpr std::int64_t least_fetched = 8 << 10;  // of a block, in bytes
// Where rows are summed alike: fewer vectors of columns are narrow, and no block of a wider product
// is (least_columns in graph/lower/product_cost.h). Their sums are divided into parts, to hide the
// latency of one.
constexpr std::int64_t narrow_vectors = 4, parts_of_narrow = 4;

}  // namespace

std::optional<Emitter::Matrix> Emitter::matrix_in_memory(Value value) {
  auto place = products_.place(value);
  return place ? std::optional(matrix_at(*place)) : std::nullopt;
}

Emitter::Matrix Emitter::matrix_at(const MatrixPlace& place) {
  if (place.load == nullptr) {
    const Slot& s = slots_.at(place.tile);
    Matrix result{s.data,
                  s.type.dtype,
                  place.rows,
                  place.columns,
                  index(*place.row_stride),
                  index(*place.column_stride)};
    result.in_scratch = true;
    return result;
  }
  const Inst& load = *place.load;
  const Shape& block = load.get<ir::BlockAccess>().shape;
  Position first;
  first.index.assign(block.size(), index(0));
  llvm::Value* pointer = desc_address(load, 1, block, first).pointer;
  const std::vector<Stride>& strides = arrays_.at(load.operands[0]).strides;
  auto along = [&](std::size_t i) { return strides[static_cast<std::size_t>(place.axes[i])]; };
  Matrix result{pointer, function_.type(place.tile).dtype, place.rows, place.columns, along(0),
                along(1)};
  result.next_block = next_block(load);
  return result;
}

// How far from here the same load reads in the loop's next iteration.
llvm::Value* Emitter::next_block(const Inst& load) {
  const Array& array = arrays_.at(load.operands[0]);
  llvm::Value* distance = nullptr;
  for (std::size_t axis = 0; axis < array.strides.size(); ++axis)
    if (llvm::Value* step = step_of(load.operands[1 + axis]))
      distance = b_.CreateMul(step, array.strides[axis]);
  return distance;
}

// How far an index advances with an iteration of the loop that it depends on; null: not at all.
// Products by AMX tiles fetch far ahead, so for them sums and quotients are looked through too.
llvm::Value* Emitter::step_of(Value index) {
  if (auto step = step_of_.find(index); step != step_of_.end()) return step->second;
  const Inst* inst = defs_.inst(index);
  if (!target_.has_tiles || inst == nullptr || (inst->op != Op::add_ && inst->op != Op::div_))
    return nullptr;
  llvm::Value *first = step_of(inst->operands[0]), *second = step_of(inst->operands[1]);
  if (inst->op == Op::add_) return first == nullptr ? second : second == nullptr ? first : nullptr;
  if (first == nullptr || second != nullptr) return nullptr;
  return b_.CreateSDiv(first, scalars_[inst->operands[1]]);
}

// Prefetches the element of the next block that corresponds to element (i, j) of this one.
void Emitter::fetch_next_block(const Matrix& b, llvm::Value* i, llvm::Value* j) {
  prefetch({.pointer = gep(place_of(b, i, j), b.dtype, b.next_block)});
}

Emitter::Matrix Emitter::matrix_operand(Value value) {
  if (auto matrix = matrix_in_memory(value);
      matrix && (matrix->rows_contiguous() || matrix->columns_contiguous()))
    return *matrix;
  const Inst* inst = defs_.inst(value);
  if (inst != nullptr && inst->op == Op::permute_ && !slots_.contains(value))
    return inst->get<ir::Permutation>().dims[0] == 1
               ? matrix_operand(inst->operands[0]).transposed()
               : matrix_operand(inst->operands[0]);
  return scratch_copy(value);  // computed, ragged or strided
}

Emitter::Matrix Emitter::scratch_copy(Value value) {
  Slot slot = allocate(function_.type(value));
  materialise_into(value, slot);
  Matrix result{slot.data,          slot.type.dtype,        slot.type.shape[0],
                slot.type.shape[1], index(slot.strides[0]), index(1)};
  result.in_scratch = true;
  return result;
}

Emitter::Matrix Emitter::right_operand(const Inst& dot) {
  const Value value = dot.operands[1];
  if (auto converted = products_.converted_right(dot)) return matrix_at(*converted);
  if (dot.schedule.in_panels)
    return panels_in_memory(*products_.panels(value, function_.type(dot.results[0]).dtype));
  auto block = panel_block(defs_, value);
  if (!block || slots_.contains(value)) return matrix_operand(value);
  // If the reshape is not looked through, its operand is computed first.
  Value source = block->permute->results[0];
  const Shape &from = function_.type(source).shape, &to = function_.type(value).shape;
  if (slots_.contains(source) || joined_axes(from, to)) return matrix_operand(value);
  Slot slot = allocate(function_.type(source));
  materialise_into(source, slot);
  slots_.insert_or_assign(source, slot);
  Matrix matrix = matrix_operand(value);
  slots_.erase(source);
  return matrix;
}

// The accumulator of the open loop that the dot's result replaces, if nothing else reads it than
// the dot, or than what makes `start` of it element by element: sums are then updated in place.
std::optional<Value> Emitter::replaced_by(Value start, Value result) const {
  if (use_counts_[start] != 1) return std::nullopt;
  if (auto carried = yielded_for_.find(start); carried != yielded_for_.end())
    return carried->second == result ? std::optional(start) : std::nullopt;
  const Inst* inst = defs_.inst(start);
  if (inst == nullptr || slots_.contains(start) ||
      info(inst->op).op_class != ir::OpClass::elementwise)
    return std::nullopt;
  for (Value operand : inst->operands)
    if (function_.type(operand) == function_.type(start))
      if (auto carried = replaced_by(operand, result)) return carried;
  return std::nullopt;
}

Emitter::Matrix Emitter::left_operand(const Inst& dot) {
  const Value value = dot.operands[0];
  Matrix a = products_.copies_left(dot) ? scratch_copy(value) : matrix_operand(value);
  const std::optional<Value> rows = products_.live_rows(dot);
  if (rows && products_.ends_with_live_rows(dot)) a.live_rows = scalars_[*rows];
  return a;
}

// A schedule in a text is followed or refused. Any product can go along the columns of its right
// operand.
void Emitter::require_possible(const Inst& dot) const {
  const ir::Schedule& marks = dot.schedule;
  const ir::Product best = products_.product(dot);
  const bool has_panels =
      products_.panels(dot.operands[1], function_.type(dot.results[0]).dtype).has_value();
  const bool is_plain = marks.product == ir::Product::along_n && !marks.in_panels;
  require(is_plain || (marks.product == best && marks.in_panels == has_panels), "[dot] ",
          describe(dot.where), ": is multiplied as ", name_of(marks.product),
          marks.in_panels ? ", in panels" : "", "; on this host that is ", name_of(best),
          has_panels ? ", in panels" : "", ", or along_n");
  const bool can_hoist = products_.is_tiled(dot) && tiled_lefts_.contains(dot.operands[0]);
  require(!marks.hoisted || (can_hoist && !is_plain), "[dot] ", describe(dot.where),
          ": its left operand is hoisted; that takes a product by tiles, and a loop around that "
          "does not make the operand");
}

void Emitter::dot(const Inst& inst) {
  require_possible(inst);
  Value result = inst.results[0], start = inst.operands[2];
  DType wanted = function_.type(result).dtype;
  std::int64_t scratch = scratch_used_;
  bool accumulate = true;
  if (auto carried = replaced_by(start, result)) {
    const Slot slot = slots_.at(*carried);
    if (*carried != start) materialise_into(start, slot);
    slots_.insert_or_assign(result, slot);
  } else {
    Slot slot = allocate(result);
    scratch = scratch_used_;
    const Inst* init = defs_.inst(start);
    while (init != nullptr && (init->op == Op::splat_ || init->op == Op::broadcast_))
      init = defs_.inst(init->operands[0]);
    bool zero =
        init != nullptr && init->op == Op::constant_ && init->get<ir::Scalar>().as_double() == 0;
    accumulate = !zero;
    if (accumulate) materialise_into(start, slot);
  }
  const Slot& slot = slots_.at(result);
  Matrix c{slot.data, wanted, slot.type.shape[0], slot.type.shape[1], index(slot.strides[0]),
           index(1)};
  if (inst.schedule.hoisted) {
    dot_panels(tiled_lefts_.at(inst.operands[0]), right_operand(inst), index(0), c, accumulate);
    scratch_used_ = scratch;
    return;
  }
  Matrix a = left_operand(inst);
  Matrix b = right_operand(inst);
  // Many rows hide the latency of memory; products by AMX tiles prefetch a step at a time.
  if ((a.rows > most_rows_fetched && !products_.is_tiled(inst)) ||
      b.rows * b.columns * size_bytes(b.dtype) < least_fetched)
    b.next_block = nullptr;
  switch (inst.schedule.product) {
    case ir::Product::packed: packed_dot(a, b, c, accumulate); break;
    case ir::Product::tiled: tiled_dot(a, b, c, accumulate); break;
    case ir::Product::interleaved:
      dot_interleaved(a, b, c, products_.elements_in_word(a.dtype, b.dtype, wanted), accumulate);
      break;
    case ir::Product::along_k: {
      const int word = products_.elements_in_word(a.dtype, b.dtype, wanted);
      if (!products_.multiplies_words_along_k(inst))
        dot_along_k(a, b, c, accumulate);
      else if (is_turned(a, b, word))
        turned_dot(a, b, c, accumulate, word);
      else
        dot_along_k(in_words(a, word), in_words(b.transposed(), word).transposed(), c, accumulate);
      break;
    }
    case ir::Product::along_n:
      if (!b.rows_contiguous())
        b = b.rows * b.columns <= small_copy ? scratch_copy(inst.operands[1])
                                             : transposed_copy(b, wanted);
      dot_along_n(a, b, c, accumulate);
      break;
  }
  scratch_used_ = scratch;
}

// The matrix with `in_word` neighbours of a row as one element.
Emitter::Matrix Emitter::in_words(const Matrix& x, int in_word) {
  check(x.rows_contiguous() && x.columns % in_word == 0, "words of a scattered operand");
  Matrix result{x.data,       x.dtype,        x.rows, x.columns / in_word,
                x.row_stride, index(in_word), in_word};
  result.next_block = x.next_block;
  result.live_rows = x.live_rows;
  return result;
}

void Emitter::for_blocks(std::int64_t size, std::int64_t step, bool split,
                         const std::function<void(llvm::Value*, std::int64_t)>& body) {
  std::int64_t whole = size / step * step;
  std::vector<llvm::Value*> none;
  if (whole == step) body(index(0), step);
  if (whole > step) emit_loop(index(whole), step, none, [&](llvm::Value* at) { body(at, step); });
  std::int64_t rest = size - whole;
  while (rest > 0) {
    auto part =
        split ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rest))) : rest;
    body(index(size - rest), part);
    rest -= part;
  }
}

void Emitter::for_rows(const Matrix& x, std::int64_t step, bool split,
                       const std::function<void(llvm::Value*, std::int64_t)>& body) {
  if (x.live_rows == nullptr) return for_blocks(x.rows, step, split, body);
  std::vector<llvm::Value*> none;
  auto* rest = b_.CreateURem(x.live_rows, index(step));
  auto* whole = b_.CreateSub(x.live_rows, rest);
  emit_if(b_.CreateICmpNE(whole, index(0)),
          [&] { emit_loop(whole, step, none, [&](llvm::Value* at) { body(at, step); }); });
  // A power of two of them at a time, the largest first.
  llvm::Value* done = whole;
  for (auto part = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(step)) / 2);
       part > 0; part /= 2) {
    auto* bit = b_.CreateAnd(rest, index(part));
    emit_if(b_.CreateICmpNE(bit, index(0)), [&] { body(done, part); });
    done = b_.CreateAdd(done, bit);
  }
}

bool Emitter::sums_rows_alike(const Matrix& a) const {
  return function_.row_invariant && a.rows <= rows_of_a_step;
}

// How dot_along_n divides what it adds up: rows of a block, and sums of an element; 0: by how many
// sums the block has.
Emitter::DividedSums Emitter::divided_sums(const Matrix& a, const Matrix& b) const {
  const std::int64_t height = row_product(target_, a.rows).height;
  if (!sums_rows_alike(a)) return {height, 0};
  const std::int64_t across = (b.columns + target_.lanes - 1) / target_.lanes;
  const std::int64_t parts =
      across < narrow_vectors ? std::min(parts_of_narrow, a.columns) : std::int64_t{1};
  if (parts == 1) return {height, 1};
  const std::int64_t sums = target_.vector_registers() * 3 / 4;
  return {std::clamp<std::int64_t>(sums / (across * parts), 1, height), parts};
}

void Emitter::dot_along_n(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  const RowProduct how = row_product(target_, a.rows);
  const DividedSums divided = divided_sums(a, b);
  const std::int64_t columns = std::min(how.vectors * target_.lanes, b.columns);
  const bool is_distant = b.has_distant_rows();
  const bool fetches_next = is_distant && (b.columns > columns || a.rows <= how.height);
  const std::int64_t depth = is_distant ? std::min(a.columns, DistantRows::at_once) : a.columns;
  if (depth < a.columns && !accumulate) {
    clear(c, a.live_rows == nullptr ? index(c.rows) : a.live_rows);
    accumulate = true;
  }
  for_blocks(a.columns, depth, false, [&](llvm::Value* k, std::int64_t chunk) {
    for_blocks(b.columns, columns, false, [&](llvm::Value* n, std::int64_t width) {
      const std::int64_t parts =
          divided.parts != 0 ? divided.parts : parts_of_sums(a, divided.rows, width);
      for_rows(a, even_rows(a, divided.rows), false, [&](llvm::Value* m, std::int64_t height) {
        dot_block_n(part_of(a, m, k, height, chunk), part_of(b, k, n, chunk, width),
                    part_of(c, m, n, height, width), accumulate, fetches_next, parts);
      });
    });
  });
}

// Into how many sums each element of a product is divided: enough independent ones to hide the
// latency of one. That of whole blocks of `height` rows, also for the rows behind these, so that a
// row has the same bits wherever it lies.
std::int64_t Emitter::parts_of_sums(const Matrix& a, std::int64_t height,
                                    std::int64_t columns) const {
  const std::int64_t sums =
      std::min(a.rows, height) * ((columns + target_.lanes - 1) / target_.lanes);
  return sums >= 8 ? 1 : sums >= 4 ? 2 : 4;
}

// The rows of a block, of at most `height`: those of less than two blocks are halved, since a block
// of few rows has not enough sums to hide their latency.
std::int64_t Emitter::even_rows(const Matrix& a, std::int64_t height) const {
  const bool is_halved = a.live_rows == nullptr && a.rows > height && a.rows < 2 * height;
  return is_halved ? (a.rows + 1) / 2 : height;
}

void Emitter::dot_block_n(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                          bool fetches_next, std::int64_t parts) {
  std::int64_t columns = c.columns;
  auto rows = static_cast<std::size_t>(c.rows);
  int lanes = static_cast<int>(std::min<std::int64_t>(
      target_.lanes, std::max<std::int64_t>(static_cast<std::int64_t>(
                                                std::bit_ceil(static_cast<std::uint64_t>(columns))),
                                            b.of_words() ? least_word_lanes : 1)));
  auto vectors = static_cast<std::size_t>((columns + lanes - 1) / lanes);
  auto active = [&](std::size_t v) {
    return std::min<std::int64_t>(lanes, columns - static_cast<std::int64_t>(v) * lanes);
  };
  auto column = [&](std::size_t v) { return index(static_cast<std::int64_t>(v) * lanes); };
  auto row = [&](std::size_t r) { return index(static_cast<std::int64_t>(r)); };
  llvm::Type* type = lanes_type(element_type(c.dtype), lanes);
  std::size_t block = rows * vectors;
  const std::int64_t copies = std::min(parts, a.columns);
  std::vector<llvm::Value*> sums(block * static_cast<std::size_t>(copies),
                                 llvm::Constant::getNullValue(type));
  if (accumulate)
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[r * vectors + v] = load_row(c, row(r), column(v), lanes, active(v), c.dtype);
  for (std::size_t v = 0; b.starts_sums && v < vectors; ++v) {
    auto* start = load_row(b, index(b.rows), column(v), lanes, active(v), c.dtype);
    for (std::size_t r = 0; r < rows; ++r)
      sums[r * vectors + v] = plus(sums[r * vectors + v], start);
  }
  auto iteration = [&](llvm::Value* k, std::size_t copy, std::vector<llvm::Value*>& to) {
    std::vector<llvm::Value*> right;
    for (std::size_t v = 0; v < vectors; ++v)
      right.push_back(load_row(b, k, column(v), lanes, active(v), c.dtype));
    const std::int64_t line = cache_line / size_bytes(b.dtype);
    for (std::int64_t next = 0; next < columns; next += line) {
      if (fetches_next) prefetch({.pointer = place_of(b, k, index(columns + next))});
      if (b.next_block != nullptr) fetch_next_block(b, k, index(next));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      llvm::Value* left = load_row(a, row(r), k, 1, 1, c.dtype);
      if (lanes > 1) left = b_.CreateVectorSplat(static_cast<unsigned>(lanes), left);
      for (std::size_t v = 0; v < vectors; ++v) {
        llvm::Value*& sum = to[copy * block + r * vectors + v];
        sum = multiply_add(left, right[v], sum, b.in_word);
      }
    }
  };
  std::int64_t whole = a.columns / copies * copies;
  emit_loop(index(whole), copies, sums, [&](llvm::Value* k) {
    for (std::int64_t copy = 0; copy < copies; ++copy)
      iteration(b_.CreateAdd(k, index(copy)), static_cast<std::size_t>(copy), sums);
  });
  for (std::int64_t k = whole; k < a.columns; ++k)
    iteration(index(k), static_cast<std::size_t>(k - whole), sums);
  for (std::size_t copy = 1; copy < static_cast<std::size_t>(copies); ++copy)
    for (std::size_t i = 0; i < block; ++i) sums[i] = plus(sums[i], sums[copy * block + i]);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v)
      store_row(c, row(r), column(v), sums[r * vectors + v], active(v));
}

llvm::Value* Emitter::plus(llvm::Value* x, llvm::Value* y) {
  bool floating = x->getType()->getScalarType()->isFloatingPointTy();
  return floating ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
}

// `count` lanes from `first` on; one alone is an element.
llvm::Value* Emitter::part_of_lanes(llvm::Value* vector, int first, int count) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  if (type == nullptr || static_cast<int>(type->getNumElements()) == count) return vector;
  if (count == 1) return b_.CreateExtractElement(vector, static_cast<std::uint64_t>(first));
  std::vector<int> lanes(static_cast<std::size_t>(count));
  std::iota(lanes.begin(), lanes.end(), first);
  return b_.CreateShuffleVector(vector, lanes);
}

llvm::Constant* Emitter::active_mask(int lanes, std::int64_t active) {
  std::vector<llvm::Constant*> bits;
  for (int lane = 0; lane < lanes; ++lane) bits.push_back(b_.getInt1(lane < active));
  return llvm::ConstantVector::get(bits);
}

llvm::Value* Emitter::place_of(const Matrix& x, llvm::Value* i, llvm::Value* j) {
  auto* offset = b_.CreateAdd(b_.CreateMul(i, x.row_stride), b_.CreateMul(j, x.column_stride));
  return gep(x.data, x.dtype, offset);
}

// `lanes` neighbours of row i from column j, the first `active` of them; the others are zero.
llvm::Value* Emitter::load_row(const Matrix& x, llvm::Value* i, llvm::Value* j, int lanes,
                               std::int64_t active, DType wanted) {
  auto* pointer = place_of(x, i, j);
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(x.dtype)));
  llvm::Type* type = lanes_type(x.of_words() ? b_.getInt32Ty() : memory_type(x.dtype), lanes);
  llvm::Value* loaded = active >= lanes
                            ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, pointer, align))
                            : b_.CreateMaskedLoad(type, pointer, align, active_mask(lanes, active),
                                                  llvm::Constant::getNullValue(type));
  return x.of_words() ? loaded : convert(loaded, x.dtype, wanted);
}

void Emitter::store_row(const Matrix& x, llvm::Value* i, llvm::Value* j, llvm::Value* vector,
                        std::int64_t active) {
  auto* pointer = place_of(x, i, j);
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(x.dtype)));
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  if (type == nullptr || active >= static_cast<std::int64_t>(type->getNumElements())) {
    b_.CreateAlignedStore(vector, pointer, align);
    return;
  }
  store_lanes(vector, pointer, align,
              active_mask(static_cast<int>(type->getNumElements()), active));
}

// a * b + c on vectors, or on single elements. Words of i8 hold unsigned numbers in a and signed
// ones in b.
llvm::Value* Emitter::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c, int in_word) {
  llvm::Type* type = c->getType();
  if (in_word != 1) {
    const WordInstructions by = word_instructions(in_word);
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
    auto dot = lanes == 16 ? by.of_16 : lanes == 8 ? by.of_8 : by.of_4;
    llvm::Type* parts = llvm::Intrinsic::getType(context_, dot)->getParamType(1);
    return b_.CreateIntrinsic(dot, {}, {c, b_.CreateBitCast(a, parts), b_.CreateBitCast(b, parts)});
  }
  if (!type->getScalarType()->isFloatingPointTy()) return b_.CreateAdd(c, b_.CreateMul(a, b));
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {a, b, c});
}

}  // namespace tilewright::dsl
