#include "dsl/interpret/interpret.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>

#include "dsl/assembly/assembly.h"
#include "dsl/interpret/access_check.h"
#include "dsl/interpret/cluster_rendezvous.h"
#include "dsl/interpret/observer.h"
#include "dsl/interpret/tile_data.h"
#include "dsl/ir/message.h"
#include "runtime/base/error.h"
#include "runtime/code/message.h"

namespace tilewright::ir {
namespace {

using Integers = std::vector<std::int64_t>;

// Copies one element between memory and a column.
void read_element(DType dtype, std::int64_t address, TileData& out, std::size_t i) {
  dispatch(dtype, [&](auto element) {
    std::memcpy(&element, reinterpret_cast<const void*>(address), sizeof element);
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>)
      out.integer[i] = static_cast<std::int64_t>(element);
    else if constexpr (std::is_same_v<T, double>)
      out.floating[i] = element;
    else
      out.floating[i] = static_cast<float>(element);
  });
}

void write_element(DType dtype, std::int64_t address, const TileData& from, std::size_t i) {
  dispatch(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>)
      element = static_cast<T>(from.integer[i]);
    else if constexpr (std::is_same_v<T, double>)
      element = from.floating[i];
    else
      element = T(static_cast<float>(from.floating[i]));
    std::memcpy(reinterpret_cast<void*>(address), &element, sizeof element);
  });
}

// How an atomic operation makes the new value of the old one and its operand; nothing: the operand
// takes its place.
std::optional<Op> combining_op(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::add: return Op::add_;
    case AtomicKind::max: return Op::max_;
    case AtomicKind::min: return Op::min_;
    case AtomicKind::and_: return Op::and_;
    case AtomicKind::or_: return Op::or_;
    case AtomicKind::xor_: return Op::xor_;
    case AtomicKind::exchange:
    case AtomicKind::compare_exchange: return std::nullopt;
  }
  __builtin_unreachable();
}

// True if memory holds exactly the bits of an element.
bool holds(DType dtype, std::int64_t address, const TileData& expected, std::size_t i) {
  std::array<std::byte, 8> bits{};
  write_element(dtype, reinterpret_cast<std::int64_t>(bits.data()), expected, i);
  return std::memcmp(bits.data(), reinterpret_cast<const void*>(address),
                     static_cast<std::size_t>(size_bytes(dtype))) == 0;
}

// Runs one program of the grid.
class Interpreter {
 public:
  Interpreter(const Function& function, const Grid& grid, std::span<const Argument> arguments,
              const AccessCheck& access, const Observer& observer)
      : function_(function),
        grid_(grid),
        access_(access),
        observer_(observer),
        values_(function.types.size()) {
    for (std::size_t i = 0; i < function.params.size(); ++i) bind(i, arguments[i]);
  }

  // In a cluster, the programs meet there.
  void run(const ProgramIndex& program, ClusterRendezvous* rendezvous = nullptr) {
    program_ = program;
    rendezvous_ = rendezvous;
    block(function_.body);
  }

 private:
  const Type& type(Value value) const { return function_.type(value); }
  const TileData& data(Value value) const { return *values_[value]; }
  std::int64_t scalar(Value value) const { return values_[value]->integer[0]; }
  void set(Value value, TileDataPtr held) { values_[value] = std::move(held); }
  void set_integer(Value value, std::int64_t number) {
    auto out = std::make_shared<TileData>();
    out->integer.assign(1, number);
    set(value, std::move(out));
  }

  void bind(std::size_t i, Argument argument) {
    Value value = function_.params[i].value;
    const Type& t = type(value);
    auto out = std::make_shared<TileData>(t);
    if (t.is_pointer()) {
      out->integer[0] = reinterpret_cast<std::int64_t>(argument.pointer);
      out->param = static_cast<int>(i);
    } else {
      // A scalar lies in the low bytes.
      read_element(t.dtype, reinterpret_cast<std::int64_t>(&argument), *out, 0);
    }
    set(value, std::move(out));
  }

  // Runs the instructions and returns the operands of the closing yield, if there is one.
  std::vector<TileDataPtr> block(const Block& block) {
    for (const Inst& inst : block.insts) {
      if (inst.op == Op::yield_) {
        std::vector<TileDataPtr> yielded;
        for (Value value : inst.operands) yielded.push_back(values_[value]);
        return yielded;
      }
      step(inst);
      if (observer_.executed) observer_.executed({inst, program_, values_});
    }
    return {};
  }

  void step(const Inst& inst) {
    switch (info(inst.op).op_class) {
      case OpClass::elementwise: return elementwise(inst);
      case OpClass::creation: return creation(inst);
      case OpClass::shape: return shape(inst);
      case OpClass::selection:
        return set(inst.results[0], gather_data(data(inst.operands[0]), data(inst.operands[1]),
                                                type(inst.operands[0]).shape, inst.get<Axis>().axis,
                                                type(inst.results[0])));
      case OpClass::memory: return memory(inst);
      case OpClass::reduction:
        return set(inst.results[0], reduce_data(data(inst.operands[0]), type(inst.operands[0]),
                                                inst.get<Reduction>(), type(inst.results[0])));
      case OpClass::contraction:
        return set(inst.results[0], dot_data(data(inst.operands[0]), data(inst.operands[1]),
                                             data(inst.operands[2]), type(inst.operands[0]),
                                             type(inst.results[0]), inst.get<Precision>().input));
      case OpClass::exchange: return exchange(inst);
      case OpClass::control: return inst.op == Op::loop_ ? loop(inst) : branch(inst);
      case OpClass::hint: return hint(inst);
    }
  }

  void exchange(const Inst& inst) {
    const TileDataPtr& mine = values_[inst.operands[0]];
    TileDataPtr all = mine;
    if (rendezvous_ != nullptr)
      all = rendezvous_->combine(static_cast<int>(program_[0] % function_.cluster), inst, mine,
                                 type(inst.results[0]));
    set(inst.results[0], std::move(all));
  }

  void elementwise(const Inst& inst) {
    const Type& result = type(inst.results[0]);
    auto out = std::make_shared<TileData>(result);
    if (inst.op == Op::offset_) {
      const TileData &base = data(inst.operands[0]), &by = data(inst.operands[1]);
      std::int64_t width = size_bytes(result.dtype);
      for (std::size_t i = 0; i < out->integer.size(); ++i)
        out->integer[i] = base.integer[i] + by.integer[i] * width;
      out->param = base.param;
      return set(inst.results[0], std::move(out));
    }
    if (inst.op == Op::inline_asm_) {
      require_meaning(assembly_of(inst.get<Text>().text), source_place(inst), function_.name);
      return set(inst.results[0], std::make_shared<TileData>(data(inst.operands[0])));
    }
    std::array<Column, 3> columns;
    for (std::size_t i = 0; i < inst.operands.size(); ++i)
      columns[i] = data(inst.operands[i]).column();
    const Type& operand = type(inst.operands.back());
    bool pointers = operand.is_pointer();  // of a select
    if (pointers && data(inst.operands[1]).param == data(inst.operands[2]).param)
      out->param = data(inst.operands[1]).param;
    DType computed = pointers ? DType::i64 : operand.dtype;
    evaluate_elements(inst.op, computed, result.dtype,
                      std::span(columns).first(inst.operands.size()), out->mutable_column(),
                      element_count(result.shape));
    set(inst.results[0], std::move(out));
  }

  void creation(const Inst& inst) {
    Value result = inst.results[0];
    if (inst.op == Op::splat_) return set(result, splat_data(data(inst.operands[0]), type(result)));
    if (inst.op == Op::program_id_ || inst.op == Op::num_programs_) {
      auto axis = static_cast<std::size_t>(inst.get<Axis>().axis);
      return set_integer(result, inst.op == Op::program_id_ ? program_[axis] : grid_.size[axis]);
    }
    auto out = std::make_shared<TileData>(type(result));
    if (inst.op == Op::arange_) {
      std::int64_t next = inst.get<Bounds>().start;
      for (std::int64_t& element : out->integer) element = next++;
    } else if (!out->floating.empty()) {
      out->floating[0] = inst.get<Scalar>().floating;
    } else {
      out->integer[0] = inst.get<Scalar>().integer;
    }
    set(result, std::move(out));
  }

  void shape(const Inst& inst) {
    Value operand = inst.operands[0], result = inst.results[0];
    if (inst.op == Op::broadcast_)
      return set(result, broadcast_data(data(operand), type(operand).shape, type(result)));
    if (inst.op == Op::permute_)
      return set(result, permute_data(data(operand), type(operand).shape,
                                      inst.get<Permutation>().dims, type(result)));
    set(result, values_[operand]);  // all others: the row-major order stays
  }

  void memory(const Inst& inst) {
    if (inst.op == Op::load_) return load(inst);
    if (inst.op == Op::store_) return store(inst);
    if (inst.op == Op::atomic_) return atomic(inst);
    if (inst.op == Op::load_desc_) return load_desc(inst);
    if (inst.op == Op::store_desc_) return store_desc(inst);
    // make_desc: the base address, the sizes and the strides, in the order of the operands.
    auto out = std::make_shared<TileData>();
    for (Value operand : inst.operands) out->integer.push_back(scalar(operand));
    out->param = data(inst.operands[0]).param;
    set(inst.results[0], std::move(out));
  }

  void load(const Inst& inst) {
    const TileData& ptr = data(inst.operands[0]);
    const TileData* mask = inst.operands.size() > 1 ? &data(inst.operands[1]) : nullptr;
    const TileData* other = inst.operands.size() > 2 ? &data(inst.operands[2]) : nullptr;
    const Type& result = type(inst.results[0]);
    auto out =
        other != nullptr ? std::make_shared<TileData>(*other) : std::make_shared<TileData>(result);
    std::int64_t width = size_bytes(result.dtype);
    for (std::size_t i = 0; i < ptr.integer.size(); ++i) {
      if (mask != nullptr && mask->integer[i] == 0) continue;
      access_({inst, program_, ptr.param, ptr.integer[i], width, i, nullptr});
      read_element(result.dtype, ptr.integer[i], *out, i);
    }
    set(inst.results[0], std::move(out));
  }

  void store(const Inst& inst) {
    const TileData &ptr = data(inst.operands[0]), &value = data(inst.operands[1]);
    const TileData* mask = inst.operands.size() > 2 ? &data(inst.operands[2]) : nullptr;
    DType dtype = type(inst.operands[1]).dtype;
    for (std::size_t i = 0; i < ptr.integer.size(); ++i) {
      if (mask != nullptr && mask->integer[i] == 0) continue;
      access_({inst, program_, ptr.param, ptr.integer[i], size_bytes(dtype), i, &value});
      write_element(dtype, ptr.integer[i], value, i);
    }
  }

  // In the order of the elements: each finds what those before it have left.
  void atomic(const Inst& inst) {
    const TileData &ptr = data(inst.operands[0]), &value = data(inst.operands[1]);
    const TileData* mask = inst.operands.size() > 2 ? &data(inst.operands[2]) : nullptr;
    const TileData* expected = inst.operands.size() > 3 ? &data(inst.operands[3]) : nullptr;
    const Type& t = type(inst.results[0]);
    auto old = std::make_shared<TileData>(t);
    TileData made(t);
    auto op = combining_op(inst.get<Atomic>().kind);
    auto one = [&](auto column, std::size_t i) {
      if (is_floating(t.dtype))
        column.floating += i;
      else
        column.integer += i;
      return column;
    };
    for (std::size_t i = 0; i < ptr.integer.size(); ++i) {
      if (mask != nullptr && mask->integer[i] == 0) continue;
      access_({inst, program_, ptr.param, ptr.integer[i], size_bytes(t.dtype), i, &value});
      read_element(t.dtype, ptr.integer[i], *old, i);
      if (expected != nullptr && !holds(t.dtype, ptr.integer[i], *expected, i)) continue;
      std::array<Column, 2> both = {one(old->column(), i), one(value.column(), i)};
      if (op) evaluate_elements(*op, t.dtype, t.dtype, both, one(made.mutable_column(), i), 1);
      write_element(t.dtype, ptr.integer[i], op ? made : value, i);
    }
    set(inst.results[0], std::move(old));
  }

  // Calls `visit(element, address)` for what of the block lies inside the described array.
  template <typename Visit>
  void for_each_inside(const Inst& inst, const Shape& block, std::size_t first_offset, DType dtype,
                       Visit visit) {
    const TileData& desc = data(inst.operands[0]);
    auto rank = static_cast<std::size_t>(block.rank());
    std::int64_t count = element_count(block), width = size_bytes(dtype);
    const TileData* written = inst.op == Op::store_desc_ ? &data(inst.operands[1]) : nullptr;
    Integers offsets;
    for (std::size_t axis = 0; axis < rank; ++axis)
      offsets.push_back(scalar(inst.operands[first_offset + axis]));
    for (std::int64_t element = 0; element < count; ++element) {
      std::int64_t rest = element, place = 0;
      bool inside = true;
      for (std::size_t axis = rank; axis-- > 0;) {
        std::int64_t size = block[static_cast<int>(axis)];
        std::int64_t index = offsets[axis] + rest % size;
        rest /= size;
        inside = inside && index >= 0 && index < desc.integer[1 + axis];
        place += index * desc.integer[1 + rank + axis];
      }
      if (!inside) continue;
      std::int64_t address = desc.integer[0] + place * width;
      const auto i = static_cast<std::size_t>(element);
      access_({inst, program_, desc.param, address, width, i, written});
      visit(i, address);
    }
  }

  void load_desc(const Inst& inst) {
    const Type& result = type(inst.results[0]);
    auto out = std::make_shared<TileData>(result);
    for_each_inside(inst, result.shape, 1, result.dtype, [&](std::size_t i, std::int64_t address) {
      read_element(result.dtype, address, *out, i);
    });
    set(inst.results[0], std::move(out));
  }

  void store_desc(const Inst& inst) {
    const Type& t = type(inst.operands[1]);
    const TileData& value = data(inst.operands[1]);
    for_each_inside(inst, t.shape, 2, t.dtype, [&](std::size_t i, std::int64_t address) {
      write_element(t.dtype, address, value, i);
    });
  }

  void hint(const Inst& inst) {
    if (inst.op == Op::print_)
      write_text(message(inst, inst.operands, 0));
    else if (inst.op == Op::assert_)
      require_all(inst);
  }

  // The text with the values, of which tiles give the element.
  std::string message(const Inst& inst, std::span<const Value> values, std::size_t element) const {
    std::vector<DType> dtypes;
    std::vector<std::uint64_t> words;
    for (Value value : values) {
      dtypes.push_back(type(value).dtype);
      const std::size_t i = type(value).is_scalar() ? 0 : element;
      words.push_back(is_floating(dtypes.back())
                          ? std::bit_cast<std::uint64_t>(data(value).floating[i])
                          : static_cast<std::uint64_t>(data(value).integer[i]));
    }
    return message_text(message_format(inst.get<Text>().text, dtypes).c_str(), words.data());
  }

  void require_all(const Inst& inst) const {
    const std::vector<std::int64_t>& conditions = data(inst.operands[0]).integer;
    const auto broken =
        static_cast<std::size_t>(std::ranges::find(conditions, 0) - conditions.begin());
    if (broken == conditions.size()) return;
    const Shape& shape = type(inst.operands[0]).shape;
    raise_error(assertion_text(function_.name, inst.where, program_, shape,
                               static_cast<std::int64_t>(broken),
                               message(inst, std::span(inst.operands).subspan(1), broken)));
  }

  void loop(const Inst& inst) {
    std::int64_t index = scalar(inst.operands[0]), high = scalar(inst.operands[1]);
    std::int64_t step = scalar(inst.operands[2]);
    const Block& body = inst.bodies[0];
    std::vector<TileDataPtr> carried;
    for (std::size_t i = 3; i < inst.operands.size(); ++i)
      carried.push_back(values_[inst.operands[i]]);
    bool u64 = type(inst.operands[0]).dtype == DType::u64;
    auto below = [u64](std::int64_t a, std::int64_t b) {
      return u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
    };
    auto goes_on = [&] { return !ends_by_condition(inst) || carried[0]->integer[0] != 0; };
    while (below(index, high) && goes_on()) {
      require(u64 || step > 0, "[loop] ", source_place(inst), ": the step is ", step,
              "; it must be positive");
      set_integer(body.params[0], index);
      for (std::size_t i = 0; i < carried.size(); ++i) set(body.params[1 + i], carried[i]);
      carried = block(body);
      std::int64_t next = 0;
      // An index that would pass the end of its type has passed `high`.
      if (__builtin_add_overflow(index, step, &next) && !u64) break;
      if (u64 && !below(index, next)) break;
      index = next;
    }
    for (std::size_t i = 0; i < carried.size(); ++i) set(inst.results[i], carried[i]);
  }

  void branch(const Inst& inst) {
    auto yielded = block(inst.bodies[scalar(inst.operands[0]) != 0 ? 0 : 1]);
    for (std::size_t i = 0; i < yielded.size(); ++i) set(inst.results[i], yielded[i]);
  }

  const Function& function_;
  const Grid& grid_;
  const AccessCheck& access_;
  const Observer& observer_;
  ProgramIndex program_{};
  ClusterRendezvous* rendezvous_ = nullptr;
  std::vector<TileDataPtr> values_;
};

bool exchanges(const Function& function) {
  bool found = false;
  for_each_inst(function.body,
                [&](const Inst& inst) { found |= info(inst.op).op_class == OpClass::exchange; });
  return found && function.cluster > 1;
}

void run_programs(const Function& function, const Grid& grid, std::span<const Argument> arguments,
                  std::span<const Memory> memories, std::optional<std::uint64_t> shuffle,
                  const Observer& observer) {
  require(arguments.size() == function.params.size(), "[interpret] ", function.name, " has ",
          function.params.size(), " parameters, ", arguments.size(), " arguments were given");
  require(memories.empty() || memories.size() == arguments.size(), "[interpret] ", memories.size(),
          " memories were given for ", arguments.size(),
          " arguments; give one an argument, or none");
  AccessCheck access(function, arguments, memories, observer);
  const std::int64_t together = exchanges(function) ? function.cluster : 1;
  require(grid.size[0] % together == 0, "[interpret] ", function.name, " has clusters of ",
          together, " programs along axis 0, where the grid has ", grid.size[0],
          "; it must be a multiple");
  std::vector<Interpreter> interpreters(static_cast<std::size_t>(together),
                                        Interpreter(function, grid, arguments, access, observer));
  auto run = [&](const ProgramIndex& first) {
    if (together == 1) return interpreters[0].run(first);
    ClusterRendezvous rendezvous(static_cast<int>(together));
    rendezvous.run([&](int rank) {
      interpreters[static_cast<std::size_t>(rank)].run({first[0] + rank, first[1], first[2]},
                                                       &rendezvous);
    });
  };
  const std::int64_t across = grid.size[0] / together, count = across * grid.size[1] * grid.size[2];
  auto run_number = [&](std::int64_t n) {
    run({n % across * together, n / across % grid.size[1], n / across / grid.size[1]});
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle) std::shuffle(order.begin(), order.end(), std::mt19937_64(*shuffle));
  std::ranges::for_each(order, run_number);
}

}  // namespace

void interpret(const Function& function, const Grid& grid, std::span<const Argument> arguments,
               std::span<const Memory> memories) {
  run_programs(function, grid, arguments, memories, std::nullopt, {});
}

void interpret(const Function& function, const Grid& grid, std::span<const Argument> arguments,
               std::span<const Memory> memories, const Observer& observer) {
  run_programs(function, grid, arguments, memories, std::nullopt, observer);
}

void interpret_shuffled(const Function& function, const Grid& grid,
                        std::span<const Argument> arguments, std::uint64_t seed) {
  run_programs(function, grid, arguments, {}, seed, {});
}

}  // namespace tilewright::ir
