#include "dsl/ir/verify_stages.h"

#include <algorithm>

#include "dsl/ir/rewrite.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

using dsl::layout::Layout;

constexpr int lanes_of_a_warp = 32;

template <typename... Parts>
void expect(bool condition, const Inst& inst, const Parts&... parts) {
  if (condition) return;
  std::string line = inst.where.line() > 0 ? describe(inst.where) + ": " : std::string();
  raise_error(concat(line, "[", info(inst.op).name, "] ", parts...));
}

class LayoutVerifier {
 public:
  explicit LayoutVerifier(const Function& function)
      : function_(function), staged_(function.types.size(), false) {}

  void run() {
    for (std::size_t value = 0; value < function_.types.size(); ++value)
      require(
          !function_.has_layout(static_cast<Value>(value)) || function_.stage >= Stage::laid_out,
          "[func] the value %", value, " has a layout; the function is only ",
          name_of(function_.stage));
    if (function_.stage < Stage::laid_out) return;
    require(function_.warps > 0, "[func] is ", name_of(function_.stage),
            " over no warps; it must say how many hold its tiles");
    for_each_inst(function_.body, [&](const Inst& inst) {
      if (inst.schedule.staged) staged_[inst.results[0]] = true;
      for (Value result : inst.results) value(inst, result);
      for (const Block& body : inst.bodies)
        for (Value param : body.params) value(inst, param);
      if (inst.op == Op::loop_)
        for (std::size_t k = 0; k < inst.results.size(); ++k)
          same(inst, inst.bodies[0].params[1 + k], inst.results[k], "the carried value");
      if (function_.stage >= Stage::converted) operands(inst);
    });
  }

 private:
  bool is_tile(Value value) const {
    const Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }

  void value(const Inst& inst, Value value) const {
    expect(is_tile(value) == function_.has_layout(value), inst, "%", value, ": ",
           function_.type(value),
           is_tile(value) ? " has no layout; each tile has one" : " has a layout; only tiles do");
    if (!is_tile(value)) return;
    const Layout& layout = function_.layout(value);
    Shape physical = dsl::layout::physical_shape(function_.type(value).shape);
    expect(layout.shape() == physical, inst, "the layout of %", value, " is one of ",
           to_string(layout.shape()), "; it must be of ", to_string(physical));
    expect(layout.lanes() == lanes_of_a_warp && layout.warps() == function_.warps, inst,
           "the layout of %", value, " is over ", layout.lanes(), " lanes of ", layout.warps(),
           " warps; it must be over ", lanes_of_a_warp, " of ", function_.warps);
  }

  void same(const Inst& inst, Value operand, Value result, std::string_view what) const {
    if (!is_tile(operand) || !is_tile(result)) return;
    expect(function_.layout(operand) == function_.layout(result), inst, what, ", %", operand,
           ", lies elsewhere than %", result, "; both must have one layout");
  }

  void all_as(const Inst& inst, Value result) const {
    for (Value operand : inst.operands) same(inst, operand, result, "an operand");
  }

  void operands(const Inst& inst) const {
    switch (info(inst.op).op_class) {
      case OpClass::elementwise:
      case OpClass::exchange: return all_as(inst, inst.results[0]);
      case OpClass::shape: return shape(inst);
      case OpClass::selection: return same(inst, inst.operands[1], inst.results[0], "the index");
      case OpClass::memory:
        if (inst.op == Op::make_desc_) return;
        return all_as(inst, inst.results.empty() ? inst.operands[1] : inst.results[0]);
      case OpClass::reduction:
        if (is_tile(inst.results[0]))
          expect(function_.layout(inst.results[0]) ==
                     dsl::layout::slice(function_.layout(inst.operands[0]),
                                        inst.get<Reduction>().axis),
                 inst, "its result %", inst.results[0],
                 " does not lie as its operand does without the axis");
        return;
      case OpClass::contraction: return same(inst, inst.operands[2], inst.results[0], "the sum");
      case OpClass::control: return control(inst);
      case OpClass::creation:
      case OpClass::hint: return;
    }
  }

  void shape(const Inst& inst) const {
    if (inst.op == Op::convert_layout_ || staged_[inst.operands[0]]) return;
    if (!is_tile(inst.operands[0]) || !is_tile(inst.results[0])) return;
    auto source = shape_source(function_, inst, function_.layout(inst.results[0]));
    expect(!source || *source == function_.layout(inst.operands[0]), inst, "its operand %",
           inst.operands[0], " does not lie where its result %", inst.results[0], " can name it");
  }

  void control(const Inst& inst) const {
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      if (inst.op == Op::loop_)
        same(inst, inst.operands[3 + k], inst.results[k], "an initial value");
      for (const Block& body : inst.bodies)
        same(inst, body.insts.back().operands[k], inst.results[k], "the yielded value");
    }
  }

  const Function& function_;
  std::vector<bool> staged_;  // by value: it lies in shared memory, wherever its layout says
};

// Bytes of shared memory from `begin` on.
struct SharedRange {
  std::int64_t begin = 0, end = 0;
  bool overlaps(const SharedRange& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const SharedRange&) const = default;
};

SharedRange place_of(const Inst& inst) {
  std::int64_t begin = inst.schedule.shared_offset;
  return {begin, begin + inst.schedule.shared_bytes};
}

std::string to_string(const SharedRange& place) { return concat(place.begin, " to ", place.end); }

class PlaceVerifier {
 public:
  explicit PlaceVerifier(const Function& function) : function_(function) {}

  void run() {
    const SharedMemory& shared = function_.shared;
    bool is_allocated = function_.stage >= Stage::allocated;
    require(is_allocated || shared == SharedMemory{}, "[func] has places in shared memory, and is ",
            name_of(function_.stage), "; allocate_shared says that");
    require(shared.reserved <= shared.bytes, "[func] reserves ", shared.reserved, " of ",
            shared.bytes, " bytes of shared memory; there must be as many");
    block(function_.body);
  }

 private:
  void block(const Block& block) {
    for (const Inst& inst : block.insts) {
      const Schedule& schedule = inst.schedule;
      expect(schedule.shared_bytes == 0 || function_.stage >= Stage::allocated, inst,
             "has a place in shared memory; the function is only ", name_of(function_.stage));
      expect(schedule.barrier == Barrier::none || function_.stage >= Stage::synchronised, inst,
             "has a barrier; the function is only ", name_of(function_.stage));
      if (schedule.shared_bytes != 0) place(inst);
      bool is_ring = inst.op == Op::loop_ && schedule.shared_bytes != 0;
      if (is_ring) rings_.push_back(&inst);
      for (const Block& body : inst.bodies) this->block(body);
      if (is_ring) rings_.pop_back();
    }
  }

  void place(const Inst& inst) const {
    const SharedRange own = place_of(inst);
    expect(own.begin >= function_.shared.reserved && own.end <= function_.shared.bytes, inst,
           "its bytes of shared memory, ", to_string(own), ", lie outside the function's ",
           function_.shared.reserved, " to ", function_.shared.bytes);
    for (const Inst* ring : rings_)
      expect(!own.overlaps(place_of(*ring)), inst, "its bytes of shared memory, ", to_string(own),
             ", overlap those of a loop around it, ", to_string(place_of(*ring)),
             "; parts in use at one time must lie apart");
  }

  const Function& function_;
  std::vector<const Inst*> rings_;  // of the loops around
};

// Goes along all paths with what threads may have done since all last met.
class BarrierVerifier {
 public:
  explicit BarrierVerifier(const Function& function)
      : function_(function), base_(array_bases(function)) {}

  void run() { turns(function_.body, {}); }

 private:
  struct State {
    std::vector<Value> read, written;  // arrays; sorted
    std::vector<SharedRange> scratch;  // that may still be read; sorted
    bool operator==(const State&) const = default;
    void merge(const State& other) {
      for (Value array : other.read) insert(read, array);
      for (Value array : other.written) insert(written, array);
      for (const SharedRange& place : other.scratch) insert(scratch, place);
    }
  };
  static auto key(Value array) { return array; }
  static auto key(const SharedRange& place) { return std::pair(place.begin, place.end); }
  template <typename T>
  static void insert(std::vector<T>& list, const T& item) {
    auto at = std::ranges::lower_bound(list, key(item), {}, [](const T& t) { return key(t); });
    if (at == list.end() || !(*at == item)) list.insert(at, item);
  }

  State block(const Block& block, State state) {
    for (const Inst& inst : block.insts) instruction(inst, state);
    return state;
  }

  // Turn after turn until none brings anything new; the state in which one may begin.
  State turns(const Block& body, State state, bool meets_first = false) {
    while (true) {
      State end = block(body, meets_first ? State{} : state), before = state;
      // Programs that warps with roles run one after the other differ in their arrays.
      if (&body == &function_.body) {
        if (!function_.roles) return end;
        end.read = end.written = {};
      }
      state.merge(end);
      if (state == before) return state;
    }
  }

  void instruction(const Inst& inst, State& state) {
    if (inst.op == Op::loop_) return loop(inst, state);
    if (inst.op == Op::if_) {
      State other = block(inst.bodies[1], state);
      state = block(inst.bodies[0], std::move(state));
      return state.merge(other);
    }
    if (inst.op == Op::cluster_reduce_ && function_.cluster > 1) state = {};
    bool moves_boxes = inst.schedule.staged || inst.schedule.boxed;
    if (info(inst.op).op_class == OpClass::memory && inst.op != Op::make_desc_ && !moves_boxes)
      array(inst, state);
    if (inst.schedule.shared_bytes == 0) return;
    scratch(inst, state);
    state = {};  // all meet before they read it
    insert(state.scratch, place_of(inst));
  }

  void array(const Inst& inst, State& state) const {
    if (inst.schedule.barrier == Barrier::array) state = {};
    const Value array = base_[inst.operands[0]];
    const bool writes = info(inst.op).effect == Effect::writes;
    auto is_in = [&](const std::vector<Value>& list) {
      return std::ranges::binary_search(list, array);
    };
    expect(!is_in(state.written), inst, writes ? "writes" : "reads",
           " an array that other threads may have written since all last met; there must be a "
           "barrier before");
    expect(!writes || !is_in(state.read), inst,
           "writes an array that other threads may still read; there must be a barrier before");
    insert(writes ? state.written : state.read, array);
  }

  static void scratch(const Inst& inst, State& state) {
    if (inst.schedule.barrier == Barrier::scratch) state = {};
    for (const SharedRange& place : state.scratch)
      expect(!place.overlaps(place_of(inst)), inst, "writes bytes ", to_string(place_of(inst)),
             " of shared memory, of which other threads may still read ", to_string(place),
             "; there must be a barrier before");
  }

  void loop(const Inst& inst, State& state) {
    const bool has_ring = inst.schedule.shared_bytes != 0;
    if (has_ring) scratch(inst, state);
    state = turns(inst.bodies[0], std::move(state), has_ring);
    if (has_ring) insert(state.scratch, place_of(inst));
  }

  const Function& function_;
  std::vector<Value> base_;  // the array, by pointer or descriptor
};

}  // namespace

std::optional<Layout> shape_source(const Function& function, const Inst& inst,
                                   const Layout& result) {
  namespace layout = dsl::layout;
  const Shape& from = function.type(inst.operands[0]).shape;
  const Shape& to = function.type(inst.results[0]).shape;
  if (inst.op == Op::expand_dims_) return layout::slice(result, inst.get<Axis>().axis);
  if (inst.op == Op::broadcast_)
    return layout::broadcast_source(result, layout::physical_shape(from));
  if (inst.op == Op::permute_) {
    const auto& dims = inst.get<Permutation>().dims;
    std::vector<int> inverse(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
    return layout::permute(result, inverse);
  }
  if (inst.op == Op::reshape_ && layout::physical_shape(from) == from &&
      layout::physical_shape(to) == to)
    return layout::reshape(result, from);
  return std::nullopt;
}

void verify_layouts(const Function& function) { LayoutVerifier(function).run(); }

void verify_shared(const Function& function) {
  PlaceVerifier(function).run();
  if (function.stage >= Stage::synchronised) BarrierVerifier(function).run();
}

}  // namespace tilewright::ir
