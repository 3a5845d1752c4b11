#include "graph/lower/frame.h"

#include <algorithm>

#include "graph/regions/region_key.h"
#include "runtime/base/error.h"
#include "runtime/host_caches.h"

namespace tilewright::graph {
namespace {

// A value that will have left the cache before it is read: a GPU's, or a host's. There it is half
// of what cores share, within bounds: others share it too, and it may be cut into more caches than
// the system tells.
constexpr std::int64_t gpu_streaming_bytes = 64 << 20;
std::int64_t host_streaming_bytes() {
  return std::clamp<std::int64_t>(shared_cache_bytes() / 2, 4 << 20, 16 << 20);
}

}  // namespace

Parameters::Parameters(dsl::Tracer& tracer, const TaskList& list, const Region& region)
    : tracer_(tracer), list_(list), storages_(storages_of(list, region)) {}

dsl::Tile Parameters::new_pointer(std::size_t index, DType dtype, int align_bytes) {
  dsl::Tile pointer =
      tracer_.pointer_param("p" + std::to_string(pointers_.size()), dtype, align_bytes);
  memory_.push_back(static_cast<std::uint32_t>(index));
  pointers_.push_back(pointer);
  return pointer;
}

void Parameters::add(StorageId storage) {
  auto index = static_cast<std::size_t>(std::ranges::find(storages_, storage) - storages_.begin());
  if (std::ranges::find(memory_, index) != memory_.end()) return;
  const Storage& memory = list_.storages[storage];
  new_pointer(
      index, memory.dtype,
      memory.is_aligned ? ir::Param{}.align_bytes : static_cast<int>(size_bytes(memory.dtype)));
}

dsl::Tile Parameters::add_scratch(std::size_t number, const Scratch& scratch) {
  return new_pointer(storages_.size() + number, scratch.dtype, ir::Param{}.align_bytes);
}

const dsl::Tile& Parameters::pointer(StorageId storage) const {
  auto index = static_cast<std::size_t>(std::ranges::find(storages_, storage) - storages_.begin());
  auto it = std::ranges::find(memory_, index);
  check(it != memory_.end(), "a program uses memory that it has no parameter for");
  return pointers_[static_cast<std::size_t>(it - memory_.begin())];
}

void Offset::add(const dsl::Operand& index, std::int64_t factor) {
  if (factor == 0) return;
  if (index.is_number()) {
    check(false, "a constant index belongs to the constant offset");
  }
  dsl::Tile term = factor == 1 ? index.tile() : index * factor;
  varying_ = varying_.defined() ? varying_ + term : term;
}

void Offset::add(const dsl::Tile& term) { varying_ = varying_.defined() ? varying_ + term : term; }

dsl::Operand Offset::value() const {
  if (!varying_.defined()) return number_;
  return number_ == 0 ? varying_ : varying_ + number_;
}

Offset Offset::times(std::int64_t factor) const {
  Offset result(number_ * factor);
  if (varying_.defined()) result.add(varying_, factor);
  return result;
}

dsl::Tile operator+(const dsl::Tile& pointer, const Offset& offset) {
  return offset.is_zero() ? pointer : dsl::operator+(dsl::Operand(pointer), offset.value());
}

dsl::Tile SizeArguments::add(std::int64_t size) {
  sizes_.push_back(size);
  return tracer_.scalar_param("size" + std::to_string(sizes_.size()), DType::i64);
}

dsl::Operand SizeArguments::number(std::int64_t size) {
  return is_argument(size) ? dsl::Operand(add(size)) : dsl::Operand(size);
}

void SizeArguments::add_to(Offset& offset, const dsl::Operand& index, std::int64_t factor) {
  if (is_argument(factor))
    offset.add(index * add(factor));
  else
    offset.add(index, factor);
}

void SizeArguments::add_to(Offset& offset, std::int64_t number) {
  if (is_argument(number))
    offset.add(add(number));
  else
    offset.add_number(number);
}

ProgramGrid open_grid(const std::int64_t (&counts)[3], const dsl::Target& target) {
  ProgramGrid result{counts, {}};
  if (!target.is_gpu()) {
    for (int axis = 0; axis < 3; ++axis)
      if (counts[axis] != 1) result.index[axis] = dsl::program_id(axis);
    return result;
  }
  // A size of 1 takes no axis, so that the first is used first.
  constexpr std::int64_t longest = INT32_MAX, longest_beside = 65'535;
  std::int64_t all = result.grid.count();
  Grid grid;
  int axes = 0;
  for (std::int64_t count : counts)
    if (count != 1) grid.size[axes++] = count;
  bool folds = grid.size[1] > longest_beside || grid.size[2] > longest_beside;
  require(std::max(grid.size[0], folds ? all : 0) <= longest, "[compile] ", all,
          " programs of one kernel are more than a GPU launches; split the tensors");
  result.grid = folds ? Grid(all) : grid;
  dsl::Tile rest = folds ? dsl::program_id(0) : dsl::Tile();
  axes = 0;
  for (int i = 0; i < 3; ++i) {
    if (counts[i] == 1) continue;
    if (!folds) {
      result.index[i] = dsl::program_id(axes++);
      continue;
    }
    all /= counts[i];
    result.index[i] = all == 1 ? rest : rest % counts[i];
    if (all > 1) rest = rest / counts[i];
  }
  return result;
}

bool Matrix::is_turned(const Shape& block) const {
  return coalesces && row_stride.is_one() && !column_stride.is_one() && block[0] > 1 &&
         block[1] > 1;
}

dsl::Desc Matrix::desc(bool turned) const {
  const dsl::Operand &by_row = row_stride.value(), &by_column = column_stride.value();
  return turned ? dsl::make_desc(base, {columns, rows}, {by_column, by_row})
                : dsl::make_desc(base, {rows, columns}, {by_row, by_column});
}

dsl::Tile Matrix::load(const dsl::Operand& row, const dsl::Operand& column, const Shape& block,
                       ir::CachePolicy cache) const {
  if (!is_turned(block)) return dsl::load(desc(false), {row, column}, block, cache);
  return dsl::trans(dsl::load(desc(true), {column, row}, {block[1], block[0]}, cache));
}

void Matrix::store(const dsl::Operand& row, const dsl::Operand& column, const dsl::Tile& tile,
                   ir::CachePolicy cache) const {
  if (is_turned(tile.shape()))
    dsl::store(desc(true), {column, row}, dsl::trans(tile), cache);
  else
    dsl::store(desc(false), {row, column}, tile, cache);
}

void Matrix::prefetch(const dsl::Operand& row, const dsl::Operand& column,
                      const Shape& block) const {
  dsl::prefetch(desc(false), {row, column}, block);
}

dsl::Tile apply_pointwise(const Task& task, const std::vector<dsl::Operand>& operands) {
  if (!task.tile_op) return operands[0].tile();
  if (ir::info(*task.tile_op).immediate == ir::ImmediateKind::dtype)
    return dsl::cast(operands[0], task.dtype);
  return dsl::elementwise(*task.tile_op, operands);
}

// Memory of the caller's may begin anywhere, which stores past the cache do not allow.
ir::CachePolicy cache_policy(const TaskList& list, const Task& task, const dsl::Target& target) {
  bool is_ours = list.storages[task.storage].kind == StorageKind::result;
  std::int64_t most = target.is_gpu() ? gpu_streaming_bytes : host_streaming_bytes();
  return is_ours && task.bytes() > most ? ir::CachePolicy::evict_first : ir::CachePolicy::normal;
}

std::string_view word_of(const Task& task) {
  switch (task.kind) {
    case TaskKind::pointwise: return task.tile_op ? ir::info(*task.tile_op).name : "copy";
    case TaskKind::reduction: return ir::name_of(task.reduce);
    case TaskKind::contraction: return "matmul";
    case TaskKind::gather: return "gather";
    case TaskKind::scatter: return "scatter";
    case TaskKind::opaque:
      return task.attributes.custom.is_defined() ? std::string_view(task.attributes.custom.name())
                                                 : info(*task.op).name;
  }
  __builtin_unreachable();
}

std::string program_name(const TaskList& list, std::span<const TaskId> tasks,
                         std::string_view kind) {
  constexpr std::size_t most_words = 6;
  std::string name(kind);
  std::size_t words = 0;
  for (TaskId id : tasks) {
    if (words++ == most_words) break;
    name += concat("_", word_of(list.tasks[id]));
  }
  if (tasks.size() > most_words) name += concat("_and_", tasks.size() - most_words);
  return name;
}

}  // namespace tilewright::graph
