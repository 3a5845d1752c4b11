#include "graph/regions/region.h"

#include <algorithm>

#include "graph/regions/opaque_region.h"
#include "graph/regions/region_strays.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t largest_whole_weights = 256 << 10;  // bytes

IndexMap line(std::int64_t size, std::int64_t stride) {
  return IndexMap(std::vector<Mode>{{size, stride}});
}

IndexMap divided(const IndexMap& map, std::int64_t by) {
  std::vector<Mode> modes = map.modes();
  for (Mode& mode : modes) mode.stride /= by;
  return IndexMap(modes);
}

// True if products that see a gather's value so take a whole row of its table each, as a matrix.
bool looks_up_matrices(const Table& weights, const Task& gather) {
  const std::int64_t width = gather.shape[-1];
  std::int64_t last = 0;
  for (const IndexMap& map : {weights.place.columns, *weights.inner})
    for (const Mode& mode : map.modes()) last += (mode.size - 1) * mode.stride;
  return last < width && weights.place.columns.modes().size() <= 1 &&
         std::ranges::all_of(weights.place.rows.modes(),
                             [&](const Mode& mode) { return mode.stride % width == 0; });
}

bool is_bijection(const Table& table, const Task& task, std::int64_t rows) {
  if (rows * table.width != task.count() || table.place.offset != 0) return false;
  auto moves = [](const IndexMap& map) {
    return std::ranges::none_of(map.modes(), [](const Mode& m) { return m.stride == 0; });
  };
  return moves(table.place.rows) && moves(table.place.columns);
}

// The longest columns behind the scattered axis that source and target have in one stride.
Table scatter_table(const Task& task) {
  int begin = task.scatter_axis + 1, end = task.shape.rank();
  auto is_one_run = [&](const StridedView& view, const IndexMap& columns) {
    auto run = compose(index_map(view), columns);
    return run && run->modes().size() <= 1;
  };
  while (begin < end) {
    IndexMap columns = axes_map(task.shape, begin, end);
    const TaskOperand& source = task.operands[0];
    if (is_one_run(task.place, columns) && (source.number || is_one_run(source.view, columns)))
      break;
    ++begin;
  }
  IndexMap columns = axes_map(task.shape, begin, end);
  return {{other_axes_map(task.shape, begin, end), columns, 0}, columns.size()};
}

// The table that a task must have, where it has no choice.
std::optional<Table> fixed_table(const Task& task) {
  std::int64_t count = task.count();
  switch (task.kind) {
    case TaskKind::pointwise:
    case TaskKind::opaque: return std::nullopt;
    case TaskKind::reduction: return Table{{line(count, 1), IndexMap(), 0}, 1};
    case TaskKind::contraction:
    case TaskKind::gather: {
      if (task.gathers_elements()) return std::nullopt;
      std::int64_t width = task.shape[-1];
      return Table{{line(count / width, width), line(width, 1), 0}, width};
    }
    case TaskKind::scatter:
      return task.scatters_elements() ? std::nullopt : std::optional(scatter_table(task));
  }
  __builtin_unreachable();
}

}  // namespace

std::optional<std::size_t> Region::slot(TaskId task) const {
  auto it = std::ranges::lower_bound(tasks, task);
  if (it == tasks.end() || *it != task) return std::nullopt;
  return static_cast<std::size_t>(it - tasks.begin());
}

std::optional<Table> operand_table(const Task& task, std::size_t i, const Table& table) {
  switch (task.kind) {
    case TaskKind::pointwise:
    case TaskKind::scatter: return table;
    case TaskKind::reduction: {
      const Shape& shape = task.operands[0].view.shape;
      IndexMap columns = axes_map(shape, task.axis_begin, task.axis_end);
      return Table{{other_axes_map(shape, task.axis_begin, task.axis_end), columns, 0},
                   columns.size()};
    }
    case TaskKind::contraction: {
      if (i != 0) return weight_table(task);
      const Shape& shape = task.operands[0].view.shape;
      return Table{{line(element_count(shape) / shape[-1], shape[-1]), line(shape[-1], 1), 0},
                   shape[-1]};
    }
    case TaskKind::gather:
      if (i != 1) return std::nullopt;
      if (task.gathers_elements()) return table;
      if (table.inner) return Table{{divided(table.place.rows, task.shape[-1]), IndexMap(), 0}, 1};
      return Table{{line(task.count() / task.shape[-1], 1), IndexMap(), 0}, 1};
    case TaskKind::opaque: return std::nullopt;
  }
  __builtin_unreachable();
}

Table weight_table(const Task& product) {
  const Shape& shape = product.operands[1].view.shape;
  std::int64_t k = shape[-2], n = shape[-1], batch = element_count(shape) / (k * n);
  // Each named first: where one raises within nested braces, GCC 12 destroys another twice.
  IndexMap rows({{product.shape[-2], 0}, {batch, k * n}}), columns = line(n, 1), depth = line(k, n);
  return {{std::move(rows), std::move(columns), 0}, n, std::move(depth)};
}

std::optional<RowDigits> inner_digits(const TaskList& list, const Region& region,
                                      std::size_t product) {
  const TaskOperand& weights = list.tasks[region.tasks[product]].operands[1];
  RowDigits digits(weights.view.shape[-2]);
  std::vector<bool> seen(region.tasks.size(), false);
  std::vector<std::size_t> work;
  auto visit = [&](const TaskOperand& operand) {
    auto slot = operand.producer ? region.slot(*operand.producer) : std::nullopt;
    if (slot && !seen[*slot]) work.push_back(*slot);
    if (slot) seen[*slot] = true;
    return slot.has_value();
  };
  visit(weights);
  while (!work.empty()) {
    std::size_t slot = work.back();
    work.pop_back();
    const Task& task = list.tasks[region.tasks[slot]];
    for (const TaskOperand& operand : task.operands) {
      const bool says_which = task.kind == TaskKind::gather && &operand == &task.operands[1];
      if (operand.number || says_which || visit(operand)) continue;
      auto inner = compose(index_map(operand.view), *region.tables[slot].inner);
      if (!inner || !digits.add(*inner)) return std::nullopt;
    }
  }
  return digits;
}

// One attempt to see a set of tasks as a region.
class RegionSolver {
 public:
  RegionSolver(RegionBuilder& builder, std::span<const TaskId> tasks)
      : builder_(builder), list_(builder.list_) {
    region_.tasks.assign(tasks.begin(), tasks.end());
    for (std::size_t i = 0; i < tasks.size(); ++i)
      builder_.slots_[tasks[i]] = static_cast<std::int32_t>(i);
  }
  ~RegionSolver() {
    for (TaskId task : region_.tasks) builder_.slots_[task] = -1;
  }
  RegionSolver(const RegionSolver&) = delete;
  RegionSolver& operator=(const RegionSolver&) = delete;

  std::optional<Region> solve() {
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (task(slot).is_opaque()) return opaque();
    find_stored();
    if (const std::optional<std::size_t> slot = slot_of_fixed_table()) {
      const Table table = *fixed_table(task(*slot));
      region_.rows = task(*slot).count() / table.width;
      return attempt(*slot, table) ? std::optional(region_) : std::nullopt;
    }
    // No task has a fixed table: see the largest one as few and long rows as memory allows.
    std::size_t anchor = 0;
    for (std::size_t slot = 1; slot < region_.tasks.size(); ++slot)
      if (task(slot).count() > task(anchor).count()) anchor = slot;
    std::optional<Region> found;
    for_each_choice(task(anchor), [&](const Table& table) {
      region_.rows = task(anchor).count() / table.width;
      if (attempt(anchor, table)) found = region_;
      return found.has_value();
    });
    return found;
  }

 private:
  const Task& task(std::size_t slot) const { return list_.tasks[region_.tasks[slot]]; }
  std::optional<std::size_t> slot_of(TaskId id) const {
    std::int32_t slot = builder_.slots_[id];
    return slot < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(slot));
  }

  // Nothing is known of its rows, so nothing joins it but an epilogue or a prologue.
  std::optional<Region> opaque() {
    if (region_.tasks.size() == 1) {
      region_.stored = {true};
      return region_;
    }
    const bool is_prologue = builder_.limits_.accumulations_compute_sources &&
                             source_reads(list_, region_.tasks).has_value();
    if (!is_prologue && !is_with_epilogue(list_, region_.tasks)) return std::nullopt;
    find_stored();
    return region_;
  }

  // The first task with a table that it has no choice of; a gather may be a product's weights, and
  // comes behind others.
  std::optional<std::size_t> slot_of_fixed_table() const {
    std::optional<std::size_t> found;
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
      const bool is_gather = task(slot).kind == TaskKind::gather;
      if ((found && is_gather) || !fixed_table(task(slot))) continue;
      found = slot;
      if (!is_gather) break;
    }
    return found;
  }

  // Calls visit(table) for each way to see a pointwise value as a table, long rows first, until it
  // returns true.
  template <typename Visit>
  static void for_each_choice(const Task& task, Visit visit) {
    int rank = task.shape.rank();
    if (task.count() == 1) {
      visit(Table{{IndexMap(), IndexMap(), 0}, 1});
      return;
    }
    for (int end = rank; end > 0; --end) {
      for (int begin = 0; begin <= end; ++begin) {
        if (begin < end && task.shape[begin] == 1) continue;  // the same as begin + 1
        if (begin == end && end < rank) continue;
        IndexMap columns = axes_map(task.shape, begin, end);
        Table table{{other_axes_map(task.shape, begin, end), columns, 0}, columns.size()};
        if (visit(table)) return;
      }
    }
  }

  void find_stored() {
    region_.stored.assign(region_.tasks.size(), false);
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
      const Storage& storage = list_.storages[task(slot).storage];
      bool inside = storage.kind == StorageKind::result && !storage.is_output &&
                    !storage.readers.empty() && storage.writers.size() == 1;
      region_.stored[slot] =
          !inside || std::ranges::any_of(storage.readers, [&](TaskId r) { return !slot_of(r); });
    }
  }

  // Spreads the anchor's table over the region and checks all that must hold.
  bool attempt(std::size_t anchor, const Table& table) {
    region_.tables.assign(region_.tasks.size(), {});
    region_.digits = RowDigits(region_.rows);
    region_.is_in_place = false;
    region_.weight_bytes = 0;
    work_.clear();
    if (!assign(anchor, table)) return false;
    for (std::size_t next = 0;; ++next) {
      while (!work_.empty()) {
        std::size_t slot = work_.back();
        work_.pop_back();
        if (!spread_to_operands(slot) || !spread_to_consumers(slot)) return false;
      }
      if (next == region_.tasks.size()) break;
      if (region_.tables[next].width == 0 && !assign_apart(next)) return false;
    }
    return finish();
  }

  bool assign(std::size_t slot, const Table& table) {
    const Task& t = task(slot);
    if (region_.tables[slot].width != 0) return region_.tables[slot] == table;
    if (table.inner) {
      const bool is_looked_up =
          t.kind == TaskKind::gather && !t.gathers_elements() && looks_up_matrices(table, t);
      if ((t.kind != TaskKind::pointwise && !is_looked_up) || region_.stored[slot]) return false;
    } else if (auto fixed = fixed_table(t)) {
      if (*fixed != table) return false;
    } else if (!is_bijection(table, t, region_.rows)) {
      // All rows are the same one, which each program computes for itself.
      bool shared = table.place.rows.is_constant() && !region_.stored[slot] &&
                    table.width == t.count() && table.place.offset == 0;
      if (!shared) return false;
    }
    region_.tables[slot] = table;
    work_.push_back(slot);
    return true;
  }

  // A task that no edge of the region leads to.
  bool assign_apart(std::size_t slot) {
    if (auto fixed = fixed_table(task(slot)))
      return task(slot).count() / fixed->width == region_.rows && assign(slot, *fixed);
    bool found = false;
    for_each_choice(task(slot), [&](const Table& table) {
      if (task(slot).count() / table.width == region_.rows) found = assign(slot, table);
      return found;
    });
    return found;
  }

  // The table that operand `i` of a task, which sees itself as `table`, wants its producer to have.
  std::optional<Table> wanted(const Task& t, std::size_t i, const Table& table) const {
    auto seen = operand_table(t, i, table);
    if (!seen) return std::nullopt;
    auto place = compose(t.operands[i].view, seen->place);
    if (!place) return std::nullopt;
    if (seen->inner) {
      if (place->offset != 0) return std::nullopt;  // a part of the producer's value
      auto inner = compose(index_map(t.operands[i].view), *seen->inner);
      return inner ? std::optional(Table{*place, seen->width, *inner}) : std::nullopt;
    }
    if (place->columns.is_constant()) return Table{{place->rows, IndexMap(), place->offset}, 1};
    return Table{*place, seen->width};
  }

  // The table of a task that reads this one through a view of all elements.
  static std::optional<Table> read_through(const StridedView& view, const Table& table) {
    if (view.offset != 0 || table.place.offset != 0) return std::nullopt;
    const auto back = inverse(index_map(view));
    if (!back) return std::nullopt;
    auto rows = compose(*back, table.place.rows), columns = compose(*back, table.place.columns);
    if (!rows || !columns) return std::nullopt;
    return Table{{*rows, *columns, 0}, table.width};
  }

  bool spread_to_operands(std::size_t slot) {
    const Task& t = task(slot);
    for (std::size_t i = 0; i < t.operands.size(); ++i) {
      auto producer = t.operands[i].producer ? slot_of(*t.operands[i].producer) : std::nullopt;
      if (!producer) continue;
      bool index = i == 1 && ((t.kind == TaskKind::gather && !t.gathers_elements()) ||
                              (t.kind == TaskKind::scatter && !t.scatters_elements()));
      auto table = index ? std::nullopt : wanted(t, i, region_.tables[slot]);
      if (!table || !assign(*producer, *table)) return false;
    }
    return true;
  }

  bool spread_to_consumers(std::size_t slot) {
    for (TaskId id : builder_.consumers_[region_.tasks[slot]]) {
      auto consumer = slot_of(id);
      if (!consumer || region_.tables[*consumer].width != 0) continue;
      const Task& c = task(*consumer);
      if (auto fixed = fixed_table(c)) {
        if (c.count() / fixed->width != region_.rows || !assign(*consumer, *fixed)) return false;
        continue;
      }
      bool found = false;
      auto take = [&](const Table& choice) {
        if (c.count() / choice.width != region_.rows) return false;
        for (std::size_t i = 0; i < c.operands.size(); ++i)
          if (c.operands[i].producer == region_.tasks[slot])
            if (wanted(c, i, choice) != region_.tables[slot]) return false;
        return found = assign(*consumer, choice);
      };
      for_each_choice(c, take);
      // The same elements under another shape or in another order have the table whose elements
      // these are, whatever axes it has. Otherwise perhaps another edge reaches the task.
      if (found || region_.tables[slot].inner) continue;
      for (const TaskOperand& operand : c.operands)
        if (operand.producer == region_.tasks[slot] && !found)
          if (const auto table = read_through(operand.view, region_.tables[slot])) take(*table);
    }
    return true;
  }

  bool finish() {
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (!reads_are_strided(slot) || !store_is_strided(slot)) return false;
    return dependences_are_kept() && !joins_stray_reduction(list_, region_.tasks, region_.rows) &&
           choose_columns();
  }

  bool is_computed(const TaskOperand& x) const { return x.producer && slot_of(*x.producer); }
  bool add_access(const std::optional<TableAccess>& access) {
    return access && access->columns.modes().size() <= 1 && region_.digits.add(access->rows);
  }
  bool reads_are_strided(std::size_t slot) {
    const Task& t = task(slot);
    for (std::size_t i = 0; i < t.operands.size(); ++i) {
      const TaskOperand& operand = t.operands[i];
      if (operand.number || (operand.producer && slot_of(*operand.producer))) continue;
      if (auto seen = operand_table(t, i, region_.tables[slot])) {
        if (!add_access(compose(operand.view, seen->place))) return false;
        if (t.kind != TaskKind::contraction || i == 0) continue;
        auto inner = compose(index_map(operand.view), *seen->inner);
        if (!inner || inner->modes().size() > 1) return false;
      }
    }
    if (t.kind != TaskKind::contraction) return true;
    return !is_computed(t.operands[1]) || inner_digits(list_, region_, slot).has_value();
  }
  bool store_is_strided(std::size_t slot) {
    if (!region_.stored[slot]) return true;
    // Blocks of columns are cut alike, so a value that all rows share cannot be stored.
    return add_access(compose(task(slot).place, region_.tables[slot].place));
  }

  // A task that overwrites what another of the region reads must touch the same elements in the
  // same row and column; any other order between two tasks than through a value is impossible.
  bool dependences_are_kept() {
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      for (TaskId before : task(slot).after)
        if (auto other = slot_of(before))
          if (!is_in_step(*other, slot)) return false;
    return true;
  }
  bool is_in_step(std::size_t first, std::size_t second) {
    const Task &a = task(first), &b = task(second);
    if (a.storage == b.storage) return false;
    for (const TaskOperand& operand : b.operands)
      if (!operand.number && operand.storage == a.storage &&
          operand.producer != region_.tasks[first])
        return false;
    auto written = compose(b.place, region_.tables[second].place);
    for (std::size_t i = 0; i < a.operands.size(); ++i) {
      if (a.operands[i].number || a.operands[i].storage != b.storage) continue;
      auto seen = operand_table(a, i, region_.tables[first]);
      if (!seen || seen->inner || b.kind == TaskKind::scatter ||
          compose(a.operands[i].view, seen->place) != written)
        return false;
      region_.is_in_place = true;
    }
    return true;
  }

  // The rows that multiply one matrix, where each of a batch has its own; else all.
  std::int64_t rows_of_a_weight(const Task& product) const {
    const StridedView& weights = product.operands[1].view;
    bool has_own = weights.shape.rank() > 2;
    for (int axis = 0; axis + 2 < weights.shape.rank(); ++axis)
      has_own = has_own && (weights.shape[axis] == 1 || weights.strides[axis] != 0);
    return has_own ? product.shape[-2] : region_.rows;
  }

  // Decides whether columns may be split; false if the region is not worth having then.
  bool choose_columns() {
    bool whole_product = false, any_whole = false, product = false;
    std::vector<bool> whole(region_.tasks.size(), false);  // someone needs whole rows of it
    for (std::size_t slot = region_.tasks.size(); slot-- > 0;) {
      const Task& t = task(slot);
      bool spreads =
          t.kind == TaskKind::reduction || t.kind == TaskKind::contraction || whole[slot];
      any_whole = any_whole || t.kind == TaskKind::reduction;
      if (t.kind == TaskKind::contraction) {
        const RegionLimits& limits = builder_.limits_;
        if (is_computed(t.operands[0]) && region_.rows > limits.rows_of_computed_operands)
          return false;
        if (is_computed(t.operands[1]) && rows_of_a_weight(t) > limits.rows_of_computed_weights)
          return false;
        // Chunks of columns that come later would read rows that are written already.
        if (region_.is_in_place && is_computed(t.operands[0])) return false;
        product = true;
        whole_product = whole_product || whole[slot];
        region_.weight_bytes += element_count(t.operands[1].view.shape) * size_bytes(t.dtype);
      }
      for (const TaskOperand& operand : t.operands)
        if (auto p = operand.producer ? slot_of(*operand.producer) : std::nullopt)
          if (spreads) whole[*p] = true;
    }
    region_.width = 1;
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (region_.stored[slot]) region_.width = std::max(region_.width, region_.tables[slot].width);
    // Operands of whole rows may not be overwritten by a block of columns.
    bool splits = (!region_.is_in_place || (!product && !any_whole)) && !whole_product;
    for (std::size_t slot = 0; slot < region_.tasks.size() && splits; ++slot)
      if (region_.stored[slot])
        splits =
            region_.tables[slot].width == region_.width && task(slot).kind != TaskKind::reduction;
    // Splitting a region without products would recompute its reductions in each block.
    region_.splits_columns = splits && (product || !any_whole);
    const std::int64_t most = region_.is_in_place && !whole_product
                                  ? builder_.limits_.weights_in_place
                                  : largest_whole_weights;
    return !product || region_.splits_columns || region_.tasks.size() == 1 ||
           region_.weight_bytes <= most;
  }

  RegionBuilder& builder_;
  const TaskList& list_;
  Region region_;
  std::vector<std::size_t> work_;
};

RegionBuilder::RegionBuilder(const TaskList& list, const RegionLimits& limits)
    : list_(list), limits_(limits), slots_(list.tasks.size(), -1), consumers_(list.tasks.size()) {
  for (TaskId id = 0; id < list.tasks.size(); ++id)
    for (const TaskOperand& operand : list.tasks[id].operands)
      if (operand.producer &&
          (consumers_[*operand.producer].empty() || consumers_[*operand.producer].back() != id))
        consumers_[*operand.producer].push_back(id);
}

std::optional<Region> RegionBuilder::build(std::span<const TaskId> tasks) {
  return RegionSolver(*this, tasks).solve();
}

}  // namespace tilewright::graph
