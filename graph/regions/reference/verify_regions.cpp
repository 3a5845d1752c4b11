#include <algorithm>

#include "graph/regions/opaque_region.h"
#include "graph/regions/reference/verify.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// Indices at which two maps differ if they differ at all: the first and last of each mode's run,
// and the last of all. Maps are sums over digits, and what decides a digit is its first step.
void add_edges(const IndexMap& map, std::int64_t size, std::vector<std::int64_t>& edges) {
  std::int64_t bound = 1;
  for (const Mode& mode : map.modes()) {
    if (bound < size) edges.push_back(bound);
    bound *= mode.size;
    if (bound - 1 < size) edges.push_back(bound - 1);
  }
}

// Where two tables of so many rows and columns are compared.
struct Edges {
  std::vector<std::int64_t> rows, columns, inner;
};
std::vector<std::int64_t> edges_of(const IndexMap& a, const IndexMap& b, std::int64_t size) {
  std::vector<std::int64_t> edges = {0, size - 1};
  add_edges(a, size, edges);
  add_edges(b, size, edges);
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  return edges;
}

// Each element of a value of `count` once: the modes are the digits of its row-major index.
bool numbers_all(const TableAccess& place, std::int64_t count) {
  std::vector<Mode> modes = place.rows.modes();
  modes.insert(modes.end(), place.columns.modes().begin(), place.columns.modes().end());
  std::ranges::sort(modes, {}, &Mode::stride);
  std::int64_t expected = 1;
  for (const Mode& mode : modes) {
    if (mode.stride != expected) return false;
    expected *= mode.size;
  }
  return expected == count && place.offset == 0;
}

class RegionVerifier {
 public:
  RegionVerifier(const TaskList& list, const Region& region) : list_(list), region_(region) {}

  void run() {
    expect(!region_.tasks.empty(), "has no task");
    expect(std::ranges::is_sorted(region_.tasks) &&
               std::ranges::adjacent_find(region_.tasks) == region_.tasks.end() &&
               region_.tasks.back() < list_.tasks.size(),
           "does not name its tasks in order");
    expect(region_.stored.size() == region_.tasks.size(), "says of ", region_.stored.size(),
           " tasks whether they are stored");
    for (slot_ = 0; slot_ < region_.tasks.size(); ++slot_) stored();
    if (region_.tables.empty()) return task(0).is_opaque() ? epilogue() : prologue();
    expect(region_.tables.size() == region_.tasks.size(), "has ", region_.tables.size(), " tables");
    find_row_bounds();
    for (slot_ = 0; slot_ < region_.tasks.size(); ++slot_) {
      table();
      operands();
    }
    expect(region_.width == widest_, "is ", region_.width, " wide, its stores ", widest_);
    expect(region_.weight_bytes == weight_bytes_, "names ", region_.weight_bytes,
           " bytes of weights, which are ", weight_bytes_);
    expect(region_.is_in_place == overwrites_what_it_reads(), "is not in place as it says");
  }

 private:
  const Task& task(std::size_t slot) const { return list_.tasks[region_.tasks[slot]]; }
  [[noreturn]] void fail(const std::string& what) const {
    std::string where = concat("the region of #", region_.tasks.empty() ? 0 : region_.tasks[0]);
    if (slot_ < region_.tasks.size()) where += concat(" at #", region_.tasks[slot_]);
    raise_internal_error(concat(where, " ", what), std::source_location::current());
  }
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      fail(concat(parts...));
  }

  // The rule for tasks after the first where nothing is known of rows: each element is computed
  // from the same element of each operand.
  void epilogue() {
    for (slot_ = 1; slot_ < region_.tasks.size(); ++slot_) {
      const Task& t = task(slot_);
      expect(t.kind == TaskKind::pointwise && t.shape == task(0).shape,
             "is not part of an epilogue");
      for (const TaskOperand& operand : t.operands) {
        if (operand.number) continue;
        if (operand.producer && region_.slot(*operand.producer)) {
          expect(is_whole(operand.view) && operand.view.shape == t.shape,
                 "reads other elements than it computes");
          continue;
        }
        for (TaskId id : region_.tasks)
          expect(list_.tasks[id].storage != operand.storage, "reads what #", id, " writes");
      }
    }
    for (slot_ = 1; slot_ < region_.tasks.size(); ++slot_)
      for (const TaskOperand& operand : task(0).operands)
        expect(operand.number || operand.storage != task(slot_).storage,
               "writes memory that the first task reads");
  }

  // The rule for tasks before an accumulation: values for it alone, of memory that it does not
  // change.
  void prologue() {
    const std::size_t last = region_.tasks.size() - 1;
    const Task& accumulation = task(last);
    slot_ = last;
    expect(accumulation.op == Op::scatter_reduce, "has several tasks and no tables");
    expect(source_reads(list_, region_.tasks).has_value(), "does not go through its source");
    for (slot_ = 0; slot_ < last; ++slot_) {
      const Task& t = task(slot_);
      expect(t.kind == TaskKind::pointwise || t.kind == TaskKind::gather,
             "is not part of a prologue");
      expect(!region_.stored[slot_], "is wanted elsewhere");
      for (const TaskOperand& operand : t.operands)
        expect(operand.number || operand.storage != accumulation.storage,
               "reads memory that the accumulation changes");
    }
  }

  void find_row_bounds() {
    row_bounds_ = {1};
    for (std::int64_t size : region_.digits.sizes())
      row_bounds_.push_back(row_bounds_.back() * size);
    expect(row_bounds_.back() == region_.rows, "has digits of ", row_bounds_.back(), " rows");
  }

  void stored() const {
    const Storage& storage = list_.storages[task(slot_).storage];
    const bool outside = storage.kind != StorageKind::result || storage.is_output ||
                         storage.readers.empty() || storage.writers.size() != 1 ||
                         !std::ranges::all_of(storage.readers, [&](TaskId r) {
                           return region_.slot(r).has_value();
                         });
    expect(region_.stored[slot_] == outside, "says that the value is ",
           region_.stored[slot_] ? "" : "not ", "wanted in memory");
  }

  // Rows times width are the elements of the value, each once where it is stored.
  void table() {
    const Task& t = task(slot_);
    const Table& table = region_.tables[slot_];
    const auto& [place, width, inner] = table;
    expect(width >= 1 && place.columns.size() <= width, "has a table of ", width, " columns");
    if (region_.stored[slot_]) {
      expect(!inner && region_.rows * width == t.count() && numbers_all(place, t.count()),
             "stores ", t.count(), " elements, its table has ", region_.rows, " rows of ", width,
             " that are not each of them once");
      widest_ = std::max(widest_, width);
      strided(compose(t.place, place), "stores");
    } else if (!inner && region_.rows * width != t.count()) {
      expect(place.rows.is_constant() && width == t.count(), "has a table of ", region_.rows,
             " rows of ", width, " for ", t.count(), " elements");
    }
    if (t.kind == TaskKind::contraction)
      weight_bytes_ += element_count(t.operands[1].view.shape) * size_bytes(t.dtype);
    expect(!region_.splits_columns || !region_.stored[slot_] || width == region_.width, "stores ",
           width, " columns, of which blocks are cut as of ", region_.width);
  }

  void operands() const {
    const Task& t = task(slot_);
    for (std::size_t i = 0; i < t.operands.size(); ++i) {
      const TaskOperand& operand = t.operands[i];
      if (operand.number) continue;
      auto producer = operand.producer ? region_.slot(*operand.producer) : std::nullopt;
      if (producer && t.kind == TaskKind::pointwise && is_whole(operand.view) &&
          region_.tables[*producer] == region_.tables[slot_])
        continue;
      auto seen = operand_table(t, i, region_.tables[slot_]);
      if (!producer) {
        if (seen) strided(compose(operand.view, seen->place), "reads");
        continue;
      }
      expect(seen.has_value(), "computes operand ", i, ", which is not read row by row");
      agree(i, *seen, region_.tables[*producer]);
    }
  }

  // As most operands are seen: nothing needs to be composed.
  static bool is_whole(const StridedView& view) {
    return view.offset == 0 && is_row_major(view.shape, view.strides);
  }

  // Element (row, column) of the operand is where the producer's table has it.
  void agree(std::size_t i, const Table& seen, const Table& producer) const {
    const StridedView& view = task(slot_).operands[i].view;
    expect(seen.inner.has_value() == producer.inner.has_value(), "wants operand ", i, " ",
           seen.inner ? "" : "not ", "as weights, and it is otherwise");
    if (seen == producer && is_whole(view)) return;
    const IndexMap memory = index_map(view), none;
    const IndexMap &inner = seen.inner ? *seen.inner : none,
                   &made_inner = producer.inner ? *producer.inner : none;
    const Edges edges = {edges_of(seen.place.rows, producer.place.rows, region_.rows),
                         edges_of(seen.place.columns, producer.place.columns, seen.width),
                         edges_of(inner, made_inner, inner.size())};
    for (std::int64_t r : edges.rows)
      for (std::int64_t c : edges.columns)
        for (std::int64_t k : edges.inner) {
          const std::int64_t read =
              view.offset + memory(seen.place.rows(r) + seen.place.columns(c) + inner(k));
          const std::int64_t made = producer.place.offset + producer.place.rows(r) +
                                    producer.place.columns(c) + made_inner(k);
          expect(read == made, "reads element ", read, " of operand ", i, " at row ", r,
                 ", column ", c, ", whose table has element ", made, " there");
        }
  }

  void strided(const std::optional<TableAccess>& access, const char* does) const {
    expect(access && access->columns.modes().size() <= 1, does,
           " memory that is not at one stride a column");
    std::int64_t bound = 1;
    for (const Mode& mode : access->rows.modes())
      expect(std::ranges::binary_search(row_bounds_, bound *= mode.size), does,
             " memory that is not at one stride a digit of the rows");
  }

  bool overwrites_what_it_reads() const {
    for (std::size_t late = 0; late < region_.tasks.size(); ++late)
      for (TaskId before : task(late).after)
        if (auto early = region_.slot(before))
          for (const TaskOperand& operand : task(*early).operands)
            if (!operand.number && operand.storage == task(late).storage) return true;
    return false;
  }

  const TaskList& list_;
  const Region& region_;
  std::size_t slot_ = SIZE_MAX;  // that is looked at
  std::int64_t widest_ = 1, weight_bytes_ = 0;
  std::vector<std::int64_t> row_bounds_;  // products of the sizes of digits
};

}  // namespace

void verify(const TaskList& list, const Region& region) { RegionVerifier(list, region).run(); }

void verify(const TaskList& list, std::span<const FusedRegion> regions) {
  std::vector<std::size_t> region_of(list.tasks.size(), SIZE_MAX);
  auto fail = [](const auto&... parts) {
    raise_internal_error(concat(parts...), std::source_location::current());
  };
  for (std::size_t i = 0; i < regions.size(); ++i) {
    verify(list, regions[i].region);
    for (TaskId task : regions[i].region.tasks) {
      if (region_of[task] != SIZE_MAX) fail("task #", task, " is in two regions");
      region_of[task] = i;
    }
  }
  for (TaskId task = 0; task < list.tasks.size(); ++task) {
    if (region_of[task] == SIZE_MAX) fail("task #", task, " is in no region");
    for (TaskId before : list.tasks[task].after)
      if (region_of[before] > region_of[task])
        fail("the region of #", task, " comes before that of #", before, ", which it waits for");
  }
}

}  // namespace tilewright::graph
