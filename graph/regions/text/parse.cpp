#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "graph/ir/text.h"
#include "graph/ir/text_line.h"
#include "graph/regions/reference/verify.h"
#include "graph/regions/storage.h"
#include "graph/regions/text/names.h"
#include "graph/regions/text/storage_users.h"
#include "graph/regions/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Line = TextLine;
constexpr std::string_view form =
    "@id: dtype[elements] = kind, or #id %node: dtype[shape] = kind operands -> @storage after "
    "#tasks, or a region and its tables";

std::uint32_t id(Line& line, std::string_view mark) {
  line.expect(mark);
  return line.number<std::uint32_t>();
}
std::vector<TaskId> task_ids(Line& line) {
  std::vector<TaskId> ids;
  while (line.accept("#")) ids.push_back(line.number<TaskId>());
  return ids;
}
DType dtype(Line& line) {
  auto found = parse_dtype(line.word());
  if (!found) line.fail("unknown dtype");
  return *found;
}
ir::ReduceKind reduce_kind(Line& line) {
  auto found = ir::parse_reduce_kind(line.word());
  if (!found) line.fail("unknown reduction");
  return *found;
}
ir::Op tile_op(Line& line) {
  auto found = ir::parse_op(line.word());
  if (!found) line.fail("unknown tile op");
  return *found;
}

// Reads "{name=value, flag}": visit(name) reads the value of a field, or says that it is unknown.
template <typename Visit>
void read_braces(Line& line, Visit visit) {
  if (!line.accept("{")) return;
  do {
    std::string_view name = line.word();
    if (!visit(name)) line.fail(concat("there is no field ", name));
  } while (line.accept(","));
  line.expect("}");
}
// The value of a field.
template <typename T>
void read_value(Line& line, T& value) {
  line.expect("=");
  value = line.number<T>();
}

// The view in brackets, or the row-major strided view of this shape.
StridedView view(Line& line, const Shape& granted) {
  if (!line.accept("[")) return row_major(granted);
  StridedView result = row_major(Shape(line.list()));
  if (line.accept(":")) result.strides = Strides(line.list());
  if (line.accept("+")) result.offset = line.number<std::int64_t>();
  line.expect("]");
  return result;
}

ir::Scalar scalar(Line& line, DType dtype) {
  ir::Scalar result;
  result.dtype = dtype;
  line.expect("(");
  std::string_view text = line.word();
  if (!is_floating(dtype))
    result.integer = line.number_in<std::int64_t>(text);
  else if (text == "nan")
    result.floating = line.starts_with(")") ? std::numeric_limits<double>::quiet_NaN()
                                            : std::bit_cast<double>(line.number<std::uint64_t>());
  else
    result.floating = dtype == f64 ? line.number_in<double>(text)
                                   : static_cast<double>(line.number_in<float>(text));
  line.expect(")");
  return result;
}

std::vector<std::byte> bytes_of_hex(Line& line) {
  std::string_view text = line.word().substr(1);
  if (text.size() % 2 != 0) line.fail("half a byte");
  std::vector<std::byte> data;
  for (; !text.empty(); text.remove_prefix(2)) {
    std::uint8_t byte = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc() || end != text.data() + 2) line.fail("not in hexadecimal digits");
    data.push_back(std::byte{byte});
  }
  return data;
}

class Parser {
 public:
  FusedTasks run(std::string_view text) {
    int number = 0;
    for_each_line(text, form, number, [&](Line& line) {
      read_line(line);
      if (!line.done()) line.fail("the line goes on");
    });
    require(part_ == Part::between && any_list_, "[parse] line ", number,
            ": the text does not end; it must be tasks { ... } and perhaps regions { ... }");
    return std::move(result_);
  }

 private:
  enum class Part : std::uint8_t { between, tasks, regions };

  void read_line(Line& line) {
    switch (part_) {
      case Part::between: return begin(line);
      case Part::tasks: return line.accept("}") ? end_of_tasks() : task_line(line);
      case Part::regions:
        if (line.accept("}"))
          part_ = Part::between;
        else
          region_line(line);
    }
  }
  void begin(Line& line) {
    if (!any_list_) {
      line.expect("tasks {");
      part_ = Part::tasks;
    } else {
      if (any_regions_) line.fail("nothing may follow the regions");
      line.expect("regions {");
      part_ = Part::regions;
      any_regions_ = true;
    }
  }

  // Derives the values that no line gives from the tasks.
  void end_of_tasks() {
    std::vector<StorageUsers> users = storage_users(result_.list);
    for (std::size_t i = 0; i < users.size(); ++i) {
      Storage& storage = result_.list.storages[i];
      storage.writers = said_[i].writers.value_or(std::move(users[i].writers));
      storage.readers = said_[i].readers.value_or(std::move(users[i].readers));
    }
    any_list_ = true;
    part_ = Part::between;
  }

  void task_line(Line& line) {
    if (line.accept("@")) return storage(line);
    if (line.accept("#")) return task(line);
    if (line.accept("f32_products")) {
      result_.list.f32_products = ir::InputPrecision::tf32;
      return line.expect(ir::name_of(ir::InputPrecision::tf32));
    }
    if (line.accept("transforms_rows")) {
      result_.list.transforms_rows = true;
      return;
    }
    if (line.accept("row_invariant")) {
      result_.list.row_invariant = true;
      return;
    }
    line.expect("return");
    while (!line.done()) {
      TaskList::Output output;
      if (line.accept("input")) output.input = line.number<int>();
      if (line.accept("@")) output.storage = line.number<StorageId>();
      result_.list.outputs.push_back(output);
      if (!line.done()) line.expect(",");
    }
  }

  void storage(Line& line) {
    if (line.number<std::size_t>() != result_.list.storages.size())
      line.fail("this storage is not the next");
    Storage storage;
    SaidUsers said;
    line.expect(":");
    storage.dtype = dtype(line);
    if (line.accept("[")) {
      storage.elements = line.number<std::int64_t>();
      line.expect("]");
    }
    line.expect("=");
    auto kind = parse_kind<StorageKind>(line.word());
    if (!kind) line.fail("unknown kind of storage");
    storage.kind = *kind;
    if (*kind == StorageKind::input || *kind == StorageKind::packed)
      storage.input = line.number<int>();
    std::optional<std::vector<std::byte>> data;
    read_braces(line, [&](std::string_view name) {
      return storage_field(line, name, storage, said, data);
    });
    if (data)
      storage.data = std::move(*data);
    else if (*kind == StorageKind::constant)
      storage.data = constant_data(storage);
    result_.list.storages.push_back(std::move(storage));
    said_.push_back(std::move(said));
  }
  struct SaidUsers {
    std::optional<std::vector<TaskId>> writers, readers;
  };
  static bool storage_field(Line& line, std::string_view name, Storage& storage, SaidUsers& said,
                            std::optional<std::vector<std::byte>>& data) {
    auto users = [&] {
      line.expect("=");
      line.expect("(");
      std::vector<TaskId> ids = task_ids(line);
      line.expect(")");
      return ids;
    };
    if (name == "input") {
      read_value(line, storage.input);
    } else if (name == "unaligned") {
      storage.is_aligned = false;
    } else if (name == "frozen") {
      storage.is_frozen = true;
    } else if (name == "start") {
      read_value(line, storage.start);
    } else if (name == "step") {
      read_value(line, storage.step);
    } else if (name == "data") {
      line.expect("=");
      data = bytes_of_hex(line);
    } else if (name == "from") {
      line.expect("=");
      storage.packed_from = view(line, {});
    } else if (name == "panels") {
      read_value(line, storage.panels.width);
      storage.panels.in_pairs = line.accept("in_pairs");
    } else if (name == "winograd") {
      storage.is_winograd = true;
    } else if (name == "writers") {
      said.writers = users();
    } else if (name == "readers") {
      said.readers = users();
    } else if (name == "output") {
      storage.is_output = true;
    } else {
      return false;
    }
    return true;
  }

  void task(Line& line) {
    if (line.number<std::size_t>() != result_.list.tasks.size())
      line.fail("this task is not the next");
    Task task;
    task.node = id(line, "%");
    line.expect(":");
    task.dtype = dtype(line);
    line.expect("[");
    task.shape = Shape(line.list());
    line.expect("]");
    line.expect("=");
    auto kind = parse_kind<TaskKind>(line.word());
    if (!kind) line.fail("unknown kind of task");
    task.kind = *kind;
    operands(line, task);
    read_braces(line, [&](std::string_view name) { return task_field(line, name, task); });
    line.expect("->");
    task.storage = id(line, "@");
    task.place = view(line, task.shape);
    while (line.accept("and")) {
      TaskResult& other = task.others.emplace_back();
      other.dtype = dtype(line);
      line.expect("[");
      other.shape = Shape(line.list());
      line.expect("]");
      other.storage = id(line, "@");
    }
    if (line.accept("after")) task.after = task_ids(line);
    result_.list.tasks.push_back(std::move(task));
  }
  static bool task_field(Line& line, std::string_view name, Task& task) {
    if (name == "tile_op") {
      line.expect("=");
      task.tile_op = tile_op(line);
    } else if (name == "reduce") {
      line.expect("=");
      task.reduce = reduce_kind(line);
    } else if (name == "axes") {
      read_value(line, task.axis_begin);
      line.expect(":");
      task.axis_end = line.number<int>();
    } else if (name == "axis") {
      read_value(line, task.scatter_axis);
    } else if (name == "size") {
      read_value(line, task.scatter_size);
    } else if (name == "stride") {
      read_value(line, task.scatter_stride);
    } else {
      return false;
    }
    return true;
  }

  static void op(Line& line, Task& task) {
    task.op = parse_op(line.word());
    if (!task.op) line.fail("unknown op");
    if (!line.accept("{")) return;
    do {
      std::string_view name = line.word();
      line.expect("=");
      if (!read_attribute(line, name, task.attributes))
        line.fail(concat("there is no attribute ", name));
    } while (line.accept(","));
    line.expect("}");
  }

  // Behind a kind: a tile op or a reduction, where it has one, and what it works on.
  void operands(Line& line, Task& task) {
    if (task.kind == TaskKind::reduction) task.reduce = reduce_kind(line);
    if (task.kind == TaskKind::opaque) op(line, task);
    bool more = !line.starts_with("{") && !line.starts_with("->");
    if (more && task.kind == TaskKind::pointwise && !line.starts_with("#") &&
        !line.starts_with("@")) {
      std::string_view word = line.word();
      if (line.starts_with("(")) {  // a copy of a number
        task.operands.push_back(number(line, word, task.shape));
        more = line.accept(",");
      } else {
        task.tile_op = ir::parse_op(word);
        if (!task.tile_op) line.fail("unknown tile op");
        more = !line.starts_with("{") && !line.starts_with("->");
      }
    }
    while (more) {
      task.operands.push_back(operand(line, task.shape));
      more = line.accept(",");
    }
  }
  TaskOperand number(Line& line, std::string_view dtype, const Shape& granted) {
    auto type = parse_dtype(dtype);
    if (!type) line.fail("unknown dtype");
    ir::Scalar value = scalar(line, *type);
    return rest_of_operand(line, {value, 0, {}, {}}, granted);
  }
  TaskOperand operand(Line& line, const Shape& granted) {
    if (!line.starts_with("#") && !line.starts_with("@")) return number(line, line.word(), granted);
    return rest_of_operand(line, {}, granted);
  }
  TaskOperand rest_of_operand(Line& line, TaskOperand operand, const Shape& granted) {
    if (line.accept("#")) {
      operand.producer = line.number<TaskId>();
      if (*operand.producer < result_.list.tasks.size())
        operand.storage = result_.list.tasks[*operand.producer].storage;
    }
    if (line.accept("@")) operand.storage = line.number<StorageId>();
    operand.view = view(line, granted);
    return operand;
  }

  void region_line(Line& line) {
    if (line.accept("region")) return region(line);
    if (result_.regions.empty()) line.fail("a table without a region");
    Region& region = result_.regions.back().region;
    region.tasks.push_back(id(line, "#"));
    line.expect(":");
    if (line.accept("rows")) region.tables.push_back(table(line));
    region.stored.push_back(line.accept("stored"));
  }
  void region(Line& line) {
    FusedRegion& fused = result_.regions.emplace_back();
    Region& region = fused.region;
    line.expect("rows");
    read_value(line, region.rows);
    line.expect(",");
    line.expect("width");
    read_value(line, region.width);
    region.digits = RowDigits(region.rows);
    if (line.accept(",")) {
      line.expect("digits");
      line.expect("=");
      // Each has stride 1, so that no two of them are one mode.
      std::vector<Mode> modes;
      for (std::int64_t size : line.list()) modes.push_back({size, 1});
      if (!region.digits.add(IndexMap(modes))) line.fail("the digits do not make up the rows");
    }
    read_braces(line, [&](std::string_view name) {
      if (name == "splits_columns")
        region.splits_columns = true;
      else if (name == "in_place")
        region.is_in_place = true;
      else if (name == "weight_bytes")
        read_value(line, region.weight_bytes);
      else if (name == "family_elements")
        read_value(line, region.family_elements);
      else if (name == "sizes_vary")
        region.sizes_vary = true;
      else if (name == "saved")
        read_value(line, fused.bytes_saved);
      else if (name == "again")
        fused.is_again = true;
      else
        return false;
      return true;
    });
  }
  // Behind "rows".
  static Table table(Line& line) {
    Table table;
    table.place.rows = index_map(line);
    line.expect("columns");
    table.place.columns = index_map(line);
    if (line.accept("inner")) table.inner = index_map(line);
    if (line.accept("offset")) table.place.offset = line.number<std::int64_t>();
    table.width = line.accept("width") ? line.number<std::int64_t>() : table.place.columns.size();
    return table;
  }
  static IndexMap index_map(Line& line) {
    std::vector<Mode> modes;
    line.expect("(");
    while (!line.accept(")")) {
      Mode& mode = modes.emplace_back();
      mode.size = line.number<std::int64_t>();
      line.expect(":");
      mode.stride = line.number<std::int64_t>();
    }
    return IndexMap(modes);
  }

  FusedTasks result_;
  std::vector<SaidUsers> said_;  // of each storage
  Part part_ = Part::between;
  bool any_list_ = false, any_regions_ = false;
};

}  // namespace

FusedTasks parse_tasks(std::string_view text) {
  FusedTasks result = Parser().run(text);
  try {
    verify(result.list);
    if (!result.regions.empty()) verify(result.list, result.regions);
  } catch (const InternalError& error) {
    raise_error(concat("[parse] the tasks are not legal: ", error.what()));
  }
  return result;
}

}  // namespace tilewright::graph
