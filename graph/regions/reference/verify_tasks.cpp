#include <algorithm>

#include "dsl/ir/type_rules.h"
#include "graph/custom/definition.h"
#include "graph/ir/shape_rules.h"
#include "graph/regions/reference/overlap.h"
#include "graph/regions/reference/verify.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

class TaskVerifier {
 public:
  explicit TaskVerifier(const TaskList& list)
      : list_(list), writers_(list.storages.size(), 0), readers_(list.storages.size(), 0) {}

  void run() {
    for (id_ = 0; id_ < list_.tasks.size(); ++id_) storages_know(list_.tasks[id_]);
    for (StorageId id = 0; id < list_.storages.size(); ++id) storage(id);
    for (id_ = 0; id_ < list_.tasks.size(); ++id_) task(list_.tasks[id_]);
    for (StorageId id = 0; id < list_.storages.size(); ++id) is_written_whole(id);
    for (const TaskList::Output& output : list_.outputs)
      if (!output.input) {
        expect_storage(output.storage < list_.storages.size(), output.storage,
                       "is an output and does not exist");
        expect_storage(list_.storages[output.storage].is_output, output.storage,
                       "is an output and does not say so");
      }
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    raise_internal_error(what, std::source_location::current());
  }
  template <typename... Parts>
  void expect_storage(bool condition, StorageId id, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      fail(concat("storage @", id, " ", parts...));
  }
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      fail(concat("task #", id_, ": ", parts...));
  }

  // The lists of a storage name its tasks in their order, each once.
  void storages_know(const Task& t) {
    expect(t.storage < list_.storages.size(), "writes @", t.storage, ", which does not exist");
    take(list_.storages[t.storage].writers, writers_[t.storage], t.storage, "writers");
    for (const TaskResult& other : t.others) {
      expect(other.storage < list_.storages.size(), "writes @", other.storage,
             ", which does not exist");
      take(list_.storages[other.storage].writers, writers_[other.storage], other.storage,
           "writers");
    }
    for (const TaskOperand& operand : t.operands) {
      if (operand.number) continue;
      expect(operand.storage < list_.storages.size(), "reads @", operand.storage,
             ", which does not exist");
      take(list_.storages[operand.storage].readers, readers_[operand.storage], operand.storage,
           "readers");
    }
  }
  void take(const std::vector<TaskId>& users, std::size_t& taken, StorageId id,
            const char* what) const {
    if (taken > 0 && users[taken - 1] == id_) return;  // it reads the storage twice
    expect_storage(taken < users.size() && users[taken] == id_, id, "does not know its ", what);
    ++taken;
  }

  void storage(StorageId id) const {
    const Storage& s = list_.storages[id];
    const bool in_input = s.kind == StorageKind::input || s.kind == StorageKind::packed;
    expect_storage(in_input == (s.input >= 0), id, "names input ", s.input);
    expect_storage(s.elements >= 0, id, "has ", s.elements, " elements");
    expect_storage(s.writers.size() == writers_[id], id, "does not know its writers");
    expect_storage(s.readers.size() == readers_[id], id, "does not know its readers");
    expect_storage(
        s.kind == StorageKind::input || s.kind == StorageKind::result || s.writers.empty(), id,
        "is written and must not be");
    expect_storage(!s.is_output || s.kind == StorageKind::result, id, "is an output of its own");
    if (s.kind == StorageKind::constant)
      expect_storage(std::ssize(s.data) == s.elements * size_bytes(s.dtype), id, "has ",
                     s.data.size(), " bytes of ", s.elements, " elements");
  }

  // Writers but for updates touch each element once, together as many as there are.
  void is_written_whole(StorageId id) const {
    const Storage& s = list_.storages[id];
    if (s.kind != StorageKind::result) return;
    std::int64_t written = 0;
    for (TaskId writer : s.writers) {
      const Task& task = list_.tasks[writer];
      if (task.storage == id && !task.is_update()) written += task.count();
      const bool is_read = std::ranges::any_of(task.operands, [&](const TaskOperand& operand) {
        return !operand.number && operand.storage == id;
      });
      for (const TaskResult& other : task.others)
        if (other.storage == id && !is_read) written += element_count(other.shape);
    }
    expect_storage(written == s.elements, id, "has ", s.elements, " elements, of which ", written,
                   " are written");
  }

  void task(const Task& t) {
    const Storage& target = list_.storages[t.storage];
    expect(t.dtype == target.dtype, "the value is ", t.dtype, ", @", t.storage, " is ",
           target.dtype);
    expect(t.place.shape == t.shape && std::ranges::all_of(t.shape, [](auto n) { return n > 0; }),
           "the value is ", t.shape, ", its place is ", t.place.shape);
    is_inside(t.place, target);
    for (const TaskOperand& operand : t.operands) is_legal(operand);
    typed(t);
    order(t);
  }

  void is_inside(const StridedView& view, const Storage& storage) const {
    expect(view.shape.rank() == view.strides.rank(), "a view of ", view.shape, " has the strides ",
           view.strides);
    if (element_count(view.shape) == 0) return;  // an operand of the user's op, say
    const Extent extent = extent_of(view);
    if (storage.kind == StorageKind::input) return;  // whose strides and size are the caller's
    expect(extent.first >= 0 && extent.last < storage.elements, "elements ", extent.first, " to ",
           extent.last, " of a storage of ", storage.elements);
  }

  DType dtype_of(const TaskOperand& operand) const {
    return operand.number ? operand.number->dtype : list_.storages[operand.storage].dtype;
  }

  void is_legal(const TaskOperand& operand) const {
    if (operand.number) {
      expect(!operand.producer, "a number has a producer");
      return;
    }
    const Storage& storage = list_.storages[operand.storage];
    is_inside(operand.view, storage);
    if (!operand.producer) return;
    expect(*operand.producer < id_, "the producer #", *operand.producer, " does not come before");
    const Task& producer = list_.tasks[*operand.producer];
    expect(producer.storage == operand.storage, "the producer #", *operand.producer,
           " does not write @", operand.storage);
    expect(storage.kind == StorageKind::result && storage.writers.size() == 1 &&
               !producer.is_update() && producer.place == row_major(producer.shape) &&
               producer.count() == storage.elements,
           "the value of #", *operand.producer, " is not all that @", operand.storage, " holds");
  }

  void typed(const Task& t) const {
    switch (t.kind) {
      case TaskKind::pointwise: return pointwise(t);
      case TaskKind::reduction: return reduction(t);
      case TaskKind::contraction: return contraction(t);
      case TaskKind::gather: return gather(t);
      case TaskKind::scatter: return scatter(t);
      case TaskKind::opaque: return opaque(t);
    }
  }
  void need_operands(const Task& t, std::size_t count) const {
    expect(t.operands.size() == count, "has ", t.operands.size(), " operands, not ", count);
  }
  void need_dtype(const Task& t, std::size_t i, DType wanted) const {
    expect(dtype_of(t.operands[i]) == wanted, "operand ", i, " is ", dtype_of(t.operands[i]),
           ", not ", wanted);
  }
  void need_shape(const Task& t, std::size_t i, const Shape& wanted) const {
    expect(t.operands[i].view.shape == wanted, "operand ", i, " is ", t.operands[i].view.shape,
           ", not ", wanted);
  }
  void need_index(const Task& t, std::size_t i) const {
    DType dtype = dtype_of(t.operands[i]);
    expect(dtype == DType::i32 || dtype == DType::i64, "row numbers are ", dtype);
  }

  // By the rule of the tile op, on single elements: shapes are all one.
  void pointwise(const Task& t) const {
    for (std::size_t i = 0; i < t.operands.size(); ++i) need_shape(t, i, t.shape);
    if (!t.tile_op) {
      need_operands(t, 1);
      return need_dtype(t, 0, t.dtype);
    }
    constexpr int most = 3;
    ir::Type types[most];
    const ir::OpInfo& row = ir::info(*t.tile_op);
    const auto count = static_cast<int>(t.operands.size());
    expect(count <= most && row.op_class == ir::OpClass::elementwise && count >= row.min_operands &&
               count <= row.max_operands,
           row.name, " of ", count, " operands");
    for (int i = 0; i < count; ++i)
      types[i] = ir::Type::scalar(dtype_of(t.operands[static_cast<std::size_t>(i)]));
    ir::Immediate immediate;
    if (row.immediate == ir::ImmediateKind::dtype) immediate = t.dtype;
    try {
      const ir::Type type =
          ir::result_types(*t.tile_op, std::span(types, t.operands.size()), immediate).front();
      expect(type.dtype == t.dtype, row.name, " gives ", type.dtype, ", not ", t.dtype);
    } catch (const Error& error) {
      expect(false, error.what());
    }
  }
  void reduction(const Task& t) const {
    need_operands(t, 1);
    const TaskOperand& x = t.operands[0];
    expect(t.axis_begin >= 0 && t.axis_begin < t.axis_end && t.axis_end <= x.view.shape.rank(),
           "reduces the axes ", t.axis_begin, " to ", t.axis_end, " of ", x.view.shape);
    Shape shape = x.view.shape;
    std::fill(shape.begin() + t.axis_begin, shape.begin() + t.axis_end, 1);
    expect(shape == t.shape, "gives ", shape, ", not ", t.shape);
    const DType from = dtype_of(x);
    const ir::ReduceOperands wanted = ir::info(t.reduce).operands;
    expect(wanted != ir::ReduceOperands::integers, "reduces by ", ir::name_of(t.reduce),
           ", which kernels have and graphs have not");
    const bool of_booleans = wanted == ir::ReduceOperands::booleans;
    const bool fits =
        ir::gives_index(t.reduce)
            ? t.dtype == DType::i64
            : (t.dtype == from || t.dtype == accumulator(from) || accumulator(t.dtype) == from) &&
                  of_booleans == is_boolean(from);
    expect(fits, "the ", ir::name_of(t.reduce), " of ", from, " is ", t.dtype);
  }
  void contraction(const Task& t) const {
    need_operands(t, 2);
    const Shape &a = t.operands[0].view.shape, &b = t.operands[1].view.shape;
    expect(!t.operands[1].number, "the second operand is a number");
    expect(a.rank() >= 2 && a.rank() == b.rank() && a[-1] == b[-2] &&
               std::equal(a.begin(), a.end() - 2, b.begin()),
           "multiplies ", a, " by ", b);
    Shape shape = a;
    shape[-1] = b[-1];
    expect(shape == t.shape, "gives ", shape, ", not ", t.shape);
    const DType from = dtype_of(t.operands[0]);
    need_dtype(t, 1, from);
    expect(t.dtype == ir::product_dtype(from) || (t.dtype == from && !is_float8(from)),
           "the product of ", from, " is ", t.dtype);
  }
  void gather(const Task& t) const {
    need_operands(t, 2);
    const Shape& table = t.operands[0].view.shape;
    expect(!t.operands[0].number && !t.operands[1].number, "an operand is a number");
    expect(table.rank() == 2, "the table is ", table);
    Shape shape = t.operands[1].view.shape;
    shape.push_back(table[1]);
    expect(shape == t.shape, "gives ", shape, ", not ", t.shape);
    need_dtype(t, 0, t.dtype);
    need_index(t, 1);
  }
  void scatter(const Task& t) const {
    need_operands(t, 2);
    need_shape(t, 0, t.shape);
    need_shape(t, 1, t.shape);
    need_dtype(t, 0, t.dtype);
    need_index(t, 1);
    expect(t.scatter_axis >= 0 && t.scatter_axis < t.shape.rank() && t.scatter_size >= 0,
           "scatters ", t.scatter_size, " rows along the axis ", t.scatter_axis, " of ", t.shape);
    expect(t.place.strides[t.scatter_axis] == 0, "the scattered axis has the stride ",
           t.place.strides[t.scatter_axis], " in its place");
    for (int axis = 0; axis < t.shape.rank(); ++axis)
      expect(axis == 0 || axis == t.scatter_axis || t.operands[1].view.strides[axis] == 0,
             "row numbers differ along the axis ", axis);
    StridedView last = t.place;
    if (t.scatter_size > 0) last.offset += (t.scatter_size - 1) * t.scatter_stride;
    is_inside(last, list_.storages[t.storage]);
  }
  void opaque(const Task& t) const {
    expect(t.op.has_value(), "is opaque and has no op");
    std::vector<ValueType> types;
    for (const TaskOperand& operand : t.operands)
      types.push_back({dtype_of(operand), operand.view.shape});
    ValueType result = infer(*t.op, types, t.attributes, t.dtype, std::source_location::current());
    if (info(*t.op).kind == Kind::custom) result = flat_type(result);
    ValueType own{t.dtype, t.shape};
    for (const auto& [storage, dtype, shape] : t.others) {
      const Storage& memory = list_.storages[storage];
      const bool fits =
          memory.kind == StorageKind::input || memory.elements == element_count(shape);
      expect(memory.dtype == dtype && fits, "a result of ", dtype, " ", shape, " lies in @",
             storage, ", which is of another type");
      own.others.push_back({dtype, shape});
    }
    expect(result == own, "is ", t.dtype, " ", t.shape, "; ", info(*t.op).name, " gives ",
           result.dtype, " ", result.shape);
  }

  // The tasks that a task must wait for: writers of the memory that it reads, readers and writers
  // of the memory that it writes.
  void order(const Task& t) const {
    expect(std::ranges::is_sorted(t.after) &&
               std::ranges::adjacent_find(t.after) == t.after.end() &&
               (t.after.empty() || t.after.back() < id_),
           "comes after a task that does not come before it");
    expect(t.kind == TaskKind::scatter || is_injective(t.place), "writes an element twice");
    for (const TaskOperand& operand : t.operands)
      if (!operand.number)
        for (TaskId writer : list_.storages[operand.storage].writers) comes_after(t, writer);
    const Storage& target = list_.storages[t.storage];
    for (TaskId reader : target.readers)
      if (reader < id_ && !waits_for(t, reader))
        for (const TaskOperand& operand : list_.tasks[reader].operands)
          expect(
              operand.number || operand.storage != t.storage || writes_apart_from(t, operand.view),
              "overwrites what #", reader, " reads and does not come after it");
    for (TaskId writer : target.writers)
      if (writer < id_ && !waits_for(t, writer))
        expect(write_apart(t, list_.tasks[writer]), "overwrites the value of #", writer,
               " and does not come after it");
  }
  static bool waits_for(const Task& t, TaskId before) {
    return std::ranges::binary_search(t.after, before);
  }
  void comes_after(const Task& t, TaskId before) const {
    expect(before >= id_ || waits_for(t, before), "shares memory with #", before,
           " and does not come after it");
  }

  const TaskList& list_;
  std::vector<std::size_t> writers_, readers_;  // of each storage: how many are accounted for
  TaskId id_ = 0;
};

}  // namespace

void verify(const TaskList& list) { TaskVerifier(list).run(); }

}  // namespace tilewright::graph
