#include "dsl/language/tracer.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "dsl/ir/rewrite.h"
#include "dsl/ir/verify.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

thread_local Tracer* innermost = nullptr;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

// Runs `f`; errors that it raises get the user's line in front.
template <typename F>
decltype(auto) located(std::source_location where, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    raise_error(describe(where) + ": " + error.what());
  }
}

}  // namespace

Tracer::Tracer(std::string name)
    : serial_(next_serial()), builder_(function_), enclosing_(innermost) {
  function_.name = std::move(name);
  innermost = this;
}

Tracer::~Tracer() { innermost = enclosing_; }

Tracer& Tracer::current(std::string_view operation, std::source_location where) {
  if (innermost == nullptr) [[unlikely]]
    raise_error(concat(describe(where), ": [", operation,
                       "] no kernel is being traced here; tiles exist only inside a kernel's "
                       "function"));
  return *innermost;
}

bool Tracer::is_live(const Tracer* tracer, std::uint64_t serial) {
  for (const Tracer* t = innermost; t != nullptr; t = t->enclosing_)
    if (t == tracer) return t->serial_ == serial;
  return false;
}

Tile Tracer::pointer_param(std::string name, DType dtype, int align_bytes) {
  ir::Value value = builder_.param(std::move(name), ir::Type::pointer(dtype), align_bytes);
  claim_values();
  return Tile(this, value);
}

Tile Tracer::scalar_param(std::string name, DType dtype, int multiple_of) {
  ir::Value value = builder_.param(std::move(name), ir::Type::scalar(dtype));
  if (multiple_of != 1) function_.params.back().align_bytes = multiple_of;
  claim_values();
  return Tile(this, value);
}

ir::Function Tracer::finish() {
  if (!loops_.empty())
    raise_error(describe(loops_.back().where) +
                ": [range] the loop was left by break or return; a traced loop runs to its end");
  for (; !returns_.empty(); returns_.pop_back()) {
    builder_.set_location(returns_.back().where);
    builder_.close_block({});
    builder_.close_if(returns_.back().condition);
  }
  ir::compact(function_);
  ir::verify(function_);
  serial_ = next_serial();
  return std::move(function_);
}

void Tracer::require_usable(const Tile& tile, std::string_view operation,
                            std::source_location where) const {
  // Most of the time of a trace would go into describing the lines of what is right.
  auto expect = [&](bool condition, const char* what) {
    if (!condition) [[unlikely]]
      raise_error(concat(describe(where), ": [", operation, "] ", what));
  };
  expect(tile.defined(), "an operand is an empty Tile; assign a value before using it");
  expect(tile.is_live(),
         "an operand was made by a trace that is over; tiles live inside one run of a kernel");
  expect(tile.tracer() == this, "an operand belongs to another kernel that is being traced");
  expect(std::ranges::find(open_blocks_, homes_[tile.value()]) != open_blocks_.end(),
         "an operand was made inside a loop or if that has ended; to use it after, assign it to a "
         "Var declared before");
}

Tile Tracer::append(ir::Op op, const std::vector<Tile>& operands, ir::Immediate immediate,
                    std::source_location where) {
  std::vector<ir::Value> values;
  for (const Tile& tile : operands) {
    require_usable(tile, info(op).name, where);
    values.push_back(tile.value());
  }
  builder_.set_location(where);
  ir::Value value =
      located(where, [&] { return builder_.append(op, std::move(values), std::move(immediate)); });
  claim_values();
  const ir::Inst& made = builder_.block().insts.back();
  note_integer(made);
  return made.results.empty() ? Tile() : Tile(this, value);
}

void Tracer::name_value(ir::Value value, std::string name) {
  ir::give_name(function_, value, std::move(name));
}

void Tracer::note_integer(const ir::Inst& inst) {
  if (inst.results.empty()) return;
  ir::Value result = inst.results[0];
  const ir::Type& type = function_.type(result);
  if (!type.is_value() || !type.is_scalar() || !is_integer(type.dtype)) return;
  auto is_positive = [this](ir::Value value) { return is_known_positive(value); };
  bool all = std::ranges::all_of(inst.operands, is_positive);
  bool positive = false;
  if (inst.op == ir::Op::constant_) {
    integers_[result] = inst.get<ir::Scalar>().integer;
    positive = integers_[result] > 0;
  } else if (inst.op == ir::Op::num_programs_) {
    positive = true;
  } else if (inst.op == ir::Op::add_ || inst.op == ir::Op::mul_ || inst.op == ir::Op::min_) {
    positive = all;
  } else if (inst.op == ir::Op::max_) {
    positive = std::ranges::any_of(inst.operands, is_positive);
  } else if (inst.op == ir::Op::cast_) {
    positive = all && bit_width(type.dtype) > bit_width(function_.type(inst.operands[0]).dtype);
  }
  if (positive) positive_.insert(result);
}

std::optional<std::int64_t> Tracer::known_integer(ir::Value value) const {
  auto found = integers_.find(value);
  return found == integers_.end() ? std::nullopt : std::optional(found->second);
}

int Tracer::new_variable(ir::Value value) {
  variables_.emplace_back(value);
  return static_cast<int>(variables_.size()) - 1;
}

void Tracer::drop_variable(int slot) { variables_[static_cast<std::size_t>(slot)].reset(); }

std::optional<ir::Value> Tracer::variable(int slot) const {
  return variables_[static_cast<std::size_t>(slot)];
}

void Tracer::assign(int slot, ir::Value value) {
  variables_[static_cast<std::size_t>(slot)] = value;
}

std::vector<int> Tracer::live_slots() const {
  std::vector<int> slots;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i]) slots.push_back(static_cast<int>(i));
  return slots;
}

void Tracer::claim_values() { homes_.resize(function_.types.size(), open_blocks_.back()); }

ir::Block& Tracer::open_block(std::vector<ir::Type> param_types) {
  open_blocks_.push_back(++blocks_opened_);
  ir::Block& block = builder_.open_block(std::move(param_types));
  claim_values();
  return block;
}

void Tracer::leave_block() { open_blocks_.pop_back(); }

Tile Tracer::open_loop(const Tile& low, std::source_location where, std::optional<int> going) {
  Loop loop{live_slots(), {}, {}, 0, where, {going.has_value()}};
  if (going) std::ranges::rotate(loop.slots, std::ranges::find(loop.slots, *going));
  std::vector<ir::Type> types = {low.type()};
  for (int slot : loop.slots) {
    loop.outer.push_back(*variable(slot));
    types.push_back(function_.type(loop.outer.back()));
  }
  const ir::Block& block = open_block(std::move(types));
  loop.index = block.params.front();
  loop.params.assign(block.params.begin() + 1, block.params.end());
  for (std::size_t i = 0; i < loop.slots.size(); ++i) assign(loop.slots[i], loop.params[i]);
  loops_.push_back(std::move(loop));
  return Tile(this, loops_.back().index);
}

void Tracer::close_loop(const Tile& index, const Tile& low, const Tile& high, const Tile& step) {
  check(!loops_.empty(), "no loop is open");
  Loop loop = std::move(loops_.back());
  loops_.pop_back();
  require(loop.index == index.value(), describe(loop.where),
          ": [range] the loop was left by break or return; a traced loop runs to its end");
  std::vector<ir::Value> yields;
  std::vector<bool> carried;
  ir::Replacements untouched;
  for (std::size_t i = 0; i < loop.slots.size(); ++i) {
    ir::Value value = variable(loop.slots[i]).value_or(loop.params[i]);
    yields.push_back(value);
    carried.push_back(value != loop.params[i] || (i == 0 && loop.end.by_condition));
    if (!carried[i]) untouched.add(loop.params[i], loop.outer[i]);
  }
  builder_.set_location(loop.where);
  std::vector<ir::Value> results = located(loop.where, [&] {
    return builder_.close_loop(low.value(), high.value(), step.value(), loop.outer, yields,
                               loop.end);
  });
  leave_block();
  claim_values();
  ir::Inst& inst = builder_.block().insts.back();
  ir::keep_results(inst, carried);
  ir::replace_uses(inst.bodies.front(), untouched);

  Variables after(variables_.size());
  for (std::size_t i = 0; i < loop.slots.size(); ++i)
    if (int slot = loop.slots[i]; variable(slot))
      after[static_cast<std::size_t>(slot)] = carried[i] ? results[i] : loop.outer[i];
  variables_ = std::move(after);
}

Tracer::Variables Tracer::run_body(const std::function<void()>& body, const std::vector<int>& slots,
                                   std::source_location where) {
  Variables entry = variables_;
  std::size_t loops = loops_.size();
  open_block({});
  body();
  if (loops_.size() != loops)
    raise_error(describe(loops_.back().where) +
                ": [range] the loop was left by break or return; a traced loop runs to its end");
  std::vector<ir::Value> yields;
  for (int slot : slots)
    yields.push_back(variable(slot).value_or(*entry[static_cast<std::size_t>(slot)]));
  builder_.set_location(where);
  builder_.close_block(std::move(yields));
  leave_block();
  claim_values();
  entry.resize(variables_.size());  // slots made by the body are dead
  return std::exchange(variables_, std::move(entry));
}

void Tracer::return_if(const Tile& condition, std::source_location where) {
  require_usable(condition, "return_if", where);
  require(condition.type() == ir::Type::scalar(DType::boolean), describe(where),
          ": [return_if] the condition is ", condition.type(), "; it must be a bool scalar");
  require(
      open_blocks_.size() == returns_.size() + 1, describe(where),
      ": [return_if] stands inside a loop or if, which run to their end; put the condition into "
      "a Var declared before, and return after");
  builder_.set_location(where);
  open_block({});
  builder_.close_block({});
  leave_block();
  open_block({});
  returns_.push_back({condition.value(), where});
}

void Tracer::branch(const Tile& condition, const std::function<void()>& then,
                    const std::function<void()>& otherwise, std::source_location where) {
  require_usable(condition, "if", where);
  require(condition.type() == ir::Type::scalar(DType::boolean), describe(where),
          ": [if] the condition is ", condition.type(), "; it must be a bool scalar");
  std::vector<int> slots = live_slots();
  std::vector<ir::Value> entry;
  for (int slot : slots) entry.push_back(*variable(slot));
  Variables first = run_body(then, slots, where), second = run_body(otherwise, slots, where);
  builder_.set_location(where);
  std::vector<ir::Value> results =
      located(where, [&] { return builder_.close_if(condition.value()); });
  claim_values();

  std::vector<bool> assigned;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto slot = static_cast<std::size_t>(slots[i]);
    bool dropped = !first[slot] || !second[slot];
    assigned.push_back(!dropped && (*first[slot] != entry[i] || *second[slot] != entry[i]));
    if (dropped) variables_[slot].reset();
    if (assigned[i]) variables_[slot] = results[i];
  }
  ir::keep_results(builder_.block().insts.back(), assigned);
}

}  // namespace tilewright::dsl
