#include "graph/lower/flat.h"

#include <algorithm>
#include <unordered_map>

#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

namespace {

constexpr std::int64_t gpu_quantum = 16;  // 16 bytes of the smallest type
constexpr std::int64_t host_block = 2 << 10, gpu_block = 1 << 10, large_gpu_block = 2 << 10;
constexpr std::int64_t many_elements = 1 << 20;  // that give each multiprocessor several programs
constexpr std::int64_t vectors_of_a_chunk = 4;   // on the host

struct FlatRegion {
  std::int64_t elements = 0;
  // The unit of the program's parameter: elements, or on GPUs groups of 16 of them where that
  // divides, so that accesses are wide.
  std::int64_t quantum = 1;
  std::int64_t count() const { return elements / quantum; }
  // Equal for regions that become one program.
  Hash key;
};

bool is_read(const Region& region, const TaskOperand& operand) {
  return !operand.number && !(operand.producer && region.slot(*operand.producer));
}

// True if all elements of the row are one; nothing where they are not contiguous either.
std::optional<bool> is_one_element(const StridedView& view, const Table& seen, std::int64_t width) {
  auto access = compose(view, seen.place);
  if (!access || !access->rows.is_constant()) return std::nullopt;
  if (access->columns.is_constant()) return true;
  bool contiguous = access->columns.modes() == std::vector<Mode>{{width, 1}};
  return contiguous ? std::optional(false) : std::nullopt;
}

class FlatProgram {
 public:
  FlatProgram(const TaskList& list, const Region& region, const FlatRegion& flat,
              const dsl::Target& target, std::int64_t block)
      : list_(list),
        region_(region),
        flat_(flat),
        target_(target),
        block_(block),
        tracer_("flat"),
        parameters_(tracer_, list, region) {}

  LoweredProgram emit() {
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
      for (const TaskOperand& operand : task(slot).operands)
        if (is_read(region_, operand)) parameters_.add(operand.storage);
      if (region_.stored[slot]) parameters_.add(task(slot).storage);
    }
    Tile size = tracer_.scalar_param("n", DType::i64) * flat_.quantum;
    known_.resize(region_.tasks.size());
    make_single_elements();
    Tile start = dsl::program_id(0) * block_;
    if (target_.is_gpu())
      chunk(start, size - start, block_);
    else
      chunks(start, dsl::minimum(size - start, block_));
    LoweredProgram result{tracer_.finish(), {}, parameters_.memory()};
    result.function.name = program_name(list_, region_.tasks, "flat");
    return result;
  }

 private:
  const Task& task(std::size_t slot) const { return list_.tasks[region_.tasks[slot]]; }
  bool is_single(std::size_t slot) const { return region_.tables[slot].width == 1; }

  // Values that all elements share are made once.
  void make_single_elements() {
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
      for (const TaskOperand& operand : task(slot).operands) {
        if (!is_read(region_, operand)) continue;
        const Table& seen = region_.tables[slot];
        if (*is_one_element(operand.view, seen, seen.width))
          shared_.push_back({operand.storage, operand.view.offset, load_one(operand)});
      }
      if (is_single(slot)) known_[slot] = compute(slot);
    }
  }

  void chunks(const Tile& start, const Tile& length) {
    std::int64_t vector = target_.lanes, size = vectors_of_a_chunk * vector;
    Tile whole = length / size * size;
    for (Tile at : dsl::range(0, whole, size)) chunk(start + at, size, size);
    for (Tile at : dsl::range(whole, length, vector)) chunk(start + at, length - at, vector);
  }

  // `block` elements from `start` on, of which `size` exist.
  void chunk(const Tile& start, const Operand& size, std::int64_t block) {
    start_ = start;
    size_ = size;
    width_ = block;
    loaded_.clear();
    const std::vector<Tile> before = known_;
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (region_.stored[slot]) value(slot);
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (region_.stored[slot]) store(slot);
    known_ = before;
  }

  dsl::Desc memory(StorageId storage, std::int64_t offset) const {
    Offset place(offset);
    place.add(start_, 1);
    return dsl::make_desc(parameters_.pointer(storage) + place, {size_}, {1});
  }

  Tile load_one(const TaskOperand& operand) const {
    Tile at = parameters_.pointer(operand.storage) + Offset(operand.view.offset);
    return dsl::load(dsl::make_desc(at, {1}, {1}), {0}, {1});
  }

  Tile load(const TaskOperand& operand, bool one) {
    std::vector<Loaded>& known = one ? shared_ : loaded_;
    for (const Loaded& l : known)
      if (l.storage == operand.storage && l.offset == operand.view.offset) return l.tile;
    Tile tile = dsl::load(memory(operand.storage, operand.view.offset), {0}, {width_});
    known.push_back({operand.storage, operand.view.offset, tile});
    return tile;
  }

  const Tile& value(std::size_t slot) {
    if (!known_[slot].defined()) known_[slot] = compute(slot);
    return known_[slot];
  }

  Tile compute(std::size_t slot) {
    std::vector<Operand> operands;
    for (const TaskOperand& operand : task(slot).operands) {
      if (operand.number)
        operands.push_back(dsl::constant(*operand.number));
      else if (is_read(region_, operand))
        operands.push_back(load(operand, *is_one_element(operand.view, region_.tables[slot],
                                                         region_.tables[slot].width)));
      else
        operands.push_back(value(*region_.slot(*operand.producer)));
    }
    return apply_pointwise(task(slot), operands);
  }

  void store(std::size_t slot) {
    const Task& t = task(slot);
    Tile x = value(slot);
    if (x.shape().empty())
      x = dsl::splat(x, {width_});
    else if (x.shape()[0] != width_)
      x = dsl::broadcast_to(x, {width_});
    dsl::store(memory(t.storage, t.place.offset), {0}, x, cache_policy(list_, t, target_));
  }

  struct Loaded {
    StorageId storage;
    std::int64_t offset;
    Tile tile;
  };
  const TaskList& list_;
  const Region& region_;
  const FlatRegion& flat_;
  const dsl::Target& target_;
  std::int64_t block_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  std::vector<Tile> known_;              // by slot
  std::vector<Loaded> shared_, loaded_;  // single elements, and of the chunk
  Tile start_;                           // of the chunk
  Operand size_ = 0;
  std::int64_t width_ = 0;
};

// Nothing where the region is not flat.
std::optional<FlatRegion> flat_region(const TaskList& list, const Region& region,
                                      const dsl::Target& target) {
  if (region.rows != 1 || region.width < 2) return std::nullopt;
  FlatRegion flat;
  flat.elements = region.width;
  if (target.is_gpu() && flat.elements % gpu_quantum == 0) flat.quantum = gpu_quantum;
  std::vector<StorageId> storages = storages_of(list, region);
  Hasher hasher;
  hasher.add(flat.quantum);
  auto memory = [&](StorageId id, std::int64_t offset) {
    hasher.add(std::ranges::find(storages, id) - storages.begin()).add(offset);
    hasher.add(list.storages[id].dtype).add(list.storages[id].is_aligned);
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    const Table& table = region.tables[slot];
    if (task.kind != TaskKind::pointwise || (table.width != 1 && table.width != flat.elements))
      return std::nullopt;
    hasher.add(task.tile_op ? static_cast<int>(*task.tile_op) : -1).add(task.dtype);
    hasher.add(table.width == 1).add(task.operands.size());
    for (const TaskOperand& operand : task.operands) {
      hasher.add(operand.number.has_value());
      if (operand.number) {
        hasher.add(operand.number->dtype).add(operand.number->integer);
        hasher.add(operand.number->floating);
      } else if (is_read(region, operand)) {
        auto one = is_one_element(operand.view, table, table.width);
        if (!one) return std::nullopt;
        hasher.add(-1).add(*one);
        memory(operand.storage, operand.view.offset);
      } else {
        hasher.add(*region.slot(*operand.producer));
      }
    }
    hasher.add(static_cast<bool>(region.stored[slot]));
    if (!region.stored[slot]) continue;
    if (is_one_element(task.place, table, flat.elements) != false) return std::nullopt;
    hasher.add(cache_policy(list, task, target));
    memory(task.storage, task.place.offset);
  }
  flat.key = hasher.finish();
  return flat;
}

// Elements of a program, a multiple of 64, for so many in all its launches.
std::int64_t flat_block(const dsl::Target& target, std::int64_t elements) {
  if (!target.is_gpu()) return host_block;
  return elements >= many_elements ? large_gpu_block : gpu_block;
}

bool is_family(const TaskList&, const Region& region) { return region.family_elements != 0; }

// The program takes `count()` after its pointers.
LoweredRegion lower_flat(const TaskList& list, const Region& region, const dsl::Target& target,
                         const BlockSizes&) {
  FlatRegion flat = *flat_region(list, region, target);
  std::int64_t block = flat_block(target, region.family_elements);
  LoweredRegion result;
  result.kind = "flat";
  result.programs.push_back(FlatProgram(list, region, flat, target, block).emit());
  return result;
}

Hash key_of_flat(const TaskList& list, const Region& region, const dsl::Target& target) {
  return flat_region(list, region, target)->key;
}

SizedLaunch launch_of_flat(const TaskList& list, const Region& region, const dsl::Target& target) {
  FlatRegion flat = *flat_region(list, region, target);
  return {Grid(divide_up(flat.elements, flat_block(target, region.family_elements))), flat.count()};
}

}  // namespace

void find_families(const TaskList& list, std::vector<FusedRegion>& regions,
                   const dsl::Target& target) {
  struct Family {
    std::int64_t first_size = 0, elements = 0;
    bool has_sizes = false;
  };
  std::unordered_map<Hash, Family> families;
  std::vector<std::optional<FlatRegion>> flat;
  for (const FusedRegion& fused : regions) {
    flat.push_back(flat_region(list, fused.region, target));
    if (!flat.back()) continue;
    Family& family = families.try_emplace(flat.back()->key).first->second;
    std::int64_t size = flat.back()->elements;
    if (family.elements == 0) family.first_size = size;
    family.has_sizes |= family.first_size != size;
    family.elements += size;
  }
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (!flat[i]) continue;
    const Family& family = families.at(flat[i]->key);
    const Region& region = regions[i].region;
    if (family.has_sizes || region.is_in_place || region.sizes_vary)
      regions[i].region.family_elements = family.elements;
  }
}

// The size of its blocks makes no difference to the results, and is no choice.
constinit const Lowering lowerings::flat = {.name = "flat",
                                            .matches = is_family,
                                            .lower = lower_flat,
                                            .key = key_of_flat,
                                            .launch = launch_of_flat,
                                            .may_batch = true};

}  // namespace tilewright::graph
