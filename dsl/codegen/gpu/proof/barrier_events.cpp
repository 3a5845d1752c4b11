#include "dsl/codegen/gpu/proof/barrier_events.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

constexpr int warpgroup_threads = 128;

std::optional<std::int64_t> constant_of(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (constant == nullptr) return std::nullopt;
  return constant->getSExtValue();
}

[[noreturn]] void refuse(const llvm::Instruction& at, std::string_view why) {
  std::string text;
  llvm::raw_string_ostream(text) << at;
  throw InternalError(concat("[barrier_proof] ", at.getFunction()->getName().str(), ": ", why, ": ",
                             text.substr(0, 200)));
}

// The value of an expression of one slot of a ring, where the slot is `number`.
std::optional<std::int64_t> evaluate(const llvm::Value* value, const llvm::PHINode* slot,
                                     std::int64_t number) {
  if (value == slot) return number;
  if (auto constant = constant_of(value)) return constant;
  auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
  if (inst == nullptr) return std::nullopt;
  auto operand = [&](unsigned i) { return evaluate(inst->getOperand(i), slot, number); };
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(inst)) {
    auto condition = evaluate(select->getCondition(), slot, number);
    if (!condition) return std::nullopt;
    return operand(*condition != 0 ? 1 : 2);
  }
  if (!llvm::isa<llvm::BinaryOperator, llvm::ICmpInst>(inst)) return std::nullopt;
  auto a = operand(0), b = operand(1);
  if (!a || !b) return std::nullopt;
  if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(inst)) {
    if (compare->getPredicate() == llvm::CmpInst::ICMP_EQ) return *a == *b;
    if (compare->getPredicate() == llvm::CmpInst::ICMP_ULT) return *a < *b;
    return std::nullopt;
  }
  if (inst->getOpcode() == llvm::Instruction::Add) return *a + *b;
  if (inst->getOpcode() == llvm::Instruction::Sub) return *a - *b;
  return std::nullopt;
}

const llvm::PHINode* phi_below(const llvm::Value* value, int depth = 4) {
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) return phi;
  auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
  if (inst == nullptr || depth == 0) return nullptr;
  for (const llvm::Value* operand : inst->operands())
    if (auto* phi = phi_below(operand, depth - 1)) return phi;
  return nullptr;
}

bool is_variable(const llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  return load != nullptr && llvm::isa<llvm::AllocaInst>(load->getPointerOperand());
}

bool is_function_of(const llvm::Value* value, llvm::StringRef name) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName() == name;
}

}  // namespace

Events::Events(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles)
    : roles_(roles),
      kernel_(kernel),
      metadata_kind_(kernel.getContext().getMDKindID(access_metadata)) {
  TouchedMemory barriers;
  barriers.touch.group = -1;
  if (roles)
    for (const Ring& ring : roles->rings) {
      std::int64_t end = ring.barriers + 16 * ring.stages;
      barriers.touch.begin =
          barriers.touch.end == 0 ? ring.barriers : std::min(barriers.touch.begin, ring.barriers);
      barriers.touch.end = std::max(barriers.touch.end, end);
    }
  places.push_back(barriers);
}

Events::Operation Events::operation_named(llvm::StringRef name) {
  using Kind = Operation::Kind;
  if (!name.consume_front("td.")) return {};
  int number = 0;
  llvm::StringRef digits = name.take_back(name.size() - 1 - name.find_last_not_of("0123456789"));
  digits.getAsInteger(10, number);
  if (name == "barrier") return {Kind::barrier};
  if (name.starts_with("atomic_add_") || name.starts_with("reduce_add_")) return {Kind::atomic};
  if (name == "cluster_barrier_wait") return {Kind::cluster_barrier};
  if (name == "named_barrier_sync") return {Kind::named_barrier};
  if (name == "fence_proxy_async") return {Kind::fence};
  if (name == "fence_mbarrier_init") return {Kind::init_fence};
  if (name.starts_with("ldmatrix")) return {Kind::matrices};
  if (name.starts_with("stmatrix")) return {Kind::matrices, Engine::thread, true};
  if (name == "cp_async_commit") return {Kind::commit, Engine::cp_async};
  if (name.starts_with("cp_async_wait_")) return {Kind::wait, Engine::cp_async, false, number};
  if (name.starts_with("cp_async_")) return {Kind::cp_async, Engine::cp_async, true};
  if (name == "bulk_commit") return {Kind::commit, Engine::bulk};
  if (name.starts_with("bulk_wait_")) return {Kind::wait, Engine::bulk, false, number};
  if (name == "wgmma_commit") return {Kind::commit, Engine::wgmma};
  if (name.starts_with("wgmma_wait_")) {
    name.consume_front("wgmma_wait_");
    name.take_until([](char c) { return c == '_'; }).getAsInteger(10, number);
    return {Kind::wait, Engine::wgmma, false, number};
  }
  if (name.starts_with("wgmma_m")) return {Kind::wgmma, Engine::wgmma};
  if (name.starts_with("tma_load_")) return {Kind::tma_load, Engine::bulk, true};
  if (name.starts_with("tma_store_")) return {Kind::tma_store, Engine::bulk};
  if (name == "mbarrier_init") return {Kind::init, Engine::thread, true};
  if (name == "mbarrier_try_wait_parity") return {Kind::await};
  if (name == "mbarrier_arrive_expect_tx" || name == "mbarrier_expect_tx") return {Kind::expect};
  if (name.starts_with("mbarrier_arrive")) return {Kind::arrive};
  return {};
}

const Events::Operation& Events::operation_of(const llvm::Function& function) {
  auto found = operations_.find(&function);
  if (found == operations_.end())
    found = operations_.emplace(&function, operation_named(function.getName())).first;
  return found->second;
}

bool Events::is_await_loop(const llvm::BasicBlock& block) {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr && branch->isConditional() && branch->getSuccessor(1) == &block &&
         is_function_of(branch->getCondition(), "td.mbarrier_try_wait_parity");
}

bool Events::is_stage_bytes(std::int64_t factor) const {
  if (roles_)
    for (const Ring& ring : roles_->rings)
      if (ring.stage_bytes == factor) return true;
  return std::ranges::find(ring_stages_, factor) != ring_stages_.end();
}

void Events::walk(const llvm::Value* value, Address& address) const {
  if (auto constant = constant_of(value)) {
    address.constant += *constant;
    return;
  }
  auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
  if (inst == nullptr) return;
  switch (inst->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::GetElementPtr:
      walk(inst->getOperand(0), address);
      walk(inst->getOperand(1), address);
      return;
    // For a descriptor: the address is below its other fields.
    case llvm::Instruction::Or:
    case llvm::Instruction::And:
    case llvm::Instruction::LShr:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::PtrToInt: walk(inst->getOperand(0), address); return;
    case llvm::Instruction::Mul:
    case llvm::Instruction::Shl: {
      auto by = constant_of(inst->getOperand(1));
      if (!by) return;
      std::int64_t factor =
          inst->getOpcode() == llvm::Instruction::Shl ? std::int64_t{1} << *by : *by;
      const llvm::Value* leaf = inst->getOperand(0);
      bool is_slot = is_variable(leaf) || (is_stage_bytes(factor) && phi_below(leaf) != nullptr);
      if (!is_slot) return;
      address.slot = leaf;
      address.factor = factor;
      return;
    }
    case llvm::Instruction::Call:
      if (is_function_of(inst, "td.mapa")) walk(inst->getOperand(0), address);
      return;
    default: return;
  }
}

Events::Address Events::address_of(const llvm::Value* value) const {
  Address address;
  walk(value, address);
  return address;
}

int Events::slot_number(const llvm::Value* slot) {
  auto [found, is_new] = slot_numbers_.emplace(slot, static_cast<int>(slots.size()));
  if (is_new) slots.push_back(slot);
  return found->second;
}

int Events::place_of(const llvm::MDNode& note) {
  auto [found, is_new] = place_of_note_.emplace(&note, static_cast<int>(places.size()));
  if (is_new) {
    places.push_back({read_metadata(note)});
    if (places.back().touch.ring >= 0) ring_stages_.push_back(places.back().touch.stage_bytes);
  }
  return found->second;
}

int Events::place_of_array(const llvm::Value* pointer, int group) {
  const llvm::Value* array = pointer;
  while (auto* step = llvm::dyn_cast<llvm::GEPOperator>(array)) array = step->getPointerOperand();
  for (std::size_t i = places.size(); i-- > 0;)
    if (places[i].array == array && places[i].touch.group == group) return static_cast<int>(i);
  places.push_back({{.group = group}, array});
  return static_cast<int>(places.size()) - 1;
}

// How many stages after this turn's an access of a ring goes to: read off the address, for each
// slot.
int Events::turn_of(TouchedMemory& place, const llvm::Value* pointer,
                    const llvm::Instruction& at) const {
  const SharedAccess& touch = place.touch;
  Address address = address_of(pointer);
  if (address.slot == nullptr) {
    std::int64_t stage = (address.constant - touch.begin) / touch.stage_bytes;
    if (stage < 0 || stage >= touch.stages) refuse(at, "no stage of its ring");
    return static_cast<int>(stage);
  }
  const llvm::PHINode* slot = phi_below(address.slot);
  if (slot == nullptr || address.factor != touch.stage_bytes) refuse(at, "no slot of its ring");
  if (place.head == nullptr) {
    for (unsigned i = 0; i < slot->getNumIncomingValues(); ++i) {
      const llvm::Value* next = slot->getIncomingValue(i);
      if (constant_of(next) == 0) continue;
      for (std::int64_t k = 0; k < touch.stages; ++k)
        if (evaluate(next, slot, k) != (k + 1) % touch.stages)
          refuse(at, "the slots of its ring do not follow each other");
    }
    place.head = slot->getParent();
  }
  std::optional<std::int64_t> turn;
  for (std::int64_t k = 0; k < touch.stages; ++k) {
    auto stage = evaluate(address.slot, slot, k);
    if (!stage || *stage < 0 || *stage >= touch.stages) refuse(at, "a stage outside its ring");
    std::int64_t here = (*stage - k + touch.stages) % touch.stages;
    if (turn && *turn != here)
      refuse(at, "a stage that is not as many iterations ahead as it must be");
    turn = here;
  }
  return static_cast<int>(*turn);
}

void Events::read_access(const llvm::Instruction& at, Engine engine, AccessKind access,
                         const llvm::Value* pointer, std::vector<Event>& to) {
  Event event{Event::Kind::access, engine, access, 0, -1, 0, -1, -1, -1, false, &at};
  const llvm::MDNode* note = at.getMetadata(metadata_kind_);
  unsigned space =
      pointer->getType()->isPointerTy() ? pointer->getType()->getPointerAddressSpace() : 3;
  if (space == 1) {
    int group = 0;
    if (note != nullptr && access == AccessKind::write) group = read_metadata(*note).group;
    event.touch = place_of_array(pointer, group);
  } else {
    if (note == nullptr) refuse(at, "an access to shared memory without a note");
    event.touch = place_of(*note);
    TouchedMemory& place = places[static_cast<std::size_t>(event.touch)];
    if (place.touch.ring >= 0) event.turn = turn_of(place, pointer, at);
  }
  if (!to.empty()) {  // as the one before in this block
    const Event& last = to.back();
    if (last.at->getParent() == at.getParent() && last.kind == event.kind &&
        last.touch == event.touch && last.turn == event.turn && last.access == access &&
        last.engine == engine)
      return;
  }
  to.push_back(event);
}

Event Events::memory_barrier_event(Event::Kind kind, const llvm::CallInst& call) {
  Address address = address_of(call.getArgOperand(0));
  if (address.slot != nullptr && address.factor == 8)
    for (std::size_t i = 0; i < roles_->rings.size(); ++i) {
      const Ring& ring = roles_->rings[i];
      bool full = address.constant == ring.barriers;
      if (!full && address.constant != ring.barriers + 8 * ring.stages) continue;
      return {kind,
              Engine::thread,
              AccessKind::atomic,
              0,
              barriers_place(),
              0,
              slot_number(address.slot),
              -1,
              static_cast<int>(i),
              full,
              &call};
    }
  refuse(call, "a barrier in shared memory outside every ring");
}

Event Events::stage_event(Event::Kind kind, const llvm::Value* pointer,
                          const llvm::CallInst& call) {
  Address address = address_of(pointer);
  if (address.slot != nullptr)
    for (std::size_t i = 0; i < roles_->rings.size(); ++i) {
      const Ring& ring = roles_->rings[i];
      if (address.factor != ring.stage_bytes || address.constant < ring.start ||
          address.constant >= ring.start + ring.stage_bytes)
        continue;
      return {kind,
              Engine::wgmma,
              AccessKind::read,
              0,
              barriers_place(),
              0,
              slot_number(address.slot),
              -1,
              static_cast<int>(i),
              false,
              &call};
    }
  refuse(call, "a stage outside every ring");
}

void Events::read_call(const llvm::CallInst& call, std::vector<Event>& to) {
  using Kind = Operation::Kind;
  const llvm::Function* function = call.getCalledFunction();
  if (function == nullptr) return;
  const Operation operation = operation_of(*function);
  auto plain = [&](Event::Kind kind) {
    to.push_back({kind, operation.engine, AccessKind::read, operation.number, -1, 0, -1, -1, -1,
                  false, &call});
  };
  switch (operation.kind) {
    case Kind::none: return;
    case Kind::barrier: return plain(Event::Kind::barrier);
    case Kind::cluster_barrier: {
      auto* before = call.getPrevNode();
      bool at_once = before != nullptr && is_function_of(before, "td.cluster_barrier_arrive");
      if (!at_once) return;
      plain(Event::Kind::barrier);
      to.back().number = 1;
      return;
    }
    case Kind::named_barrier: {
      bool all = constant_of(call.getArgOperand(0)).has_value() && roles_ &&
                 constant_of(call.getArgOperand(1)) == 32 * roles_->consumer_warps;
      if (all) return plain(Event::Kind::barrier);
      if (constant_of(call.getArgOperand(1)) == warpgroup_threads)
        plain(Event::Kind::warpgroup_barrier);
      return;
    }
    case Kind::fence: return plain(Event::Kind::fence);
    case Kind::init_fence: return plain(Event::Kind::init_fence);
    case Kind::commit: return plain(Event::Kind::commit);
    case Kind::wait: return plain(Event::Kind::wait);
    case Kind::atomic:
      return read_access(call, Engine::thread, AccessKind::atomic, call.getArgOperand(0), to);
    case Kind::matrices:
    case Kind::cp_async:
    case Kind::tma_store:
      return read_access(call, operation.engine,
                         operation.writes ? AccessKind::write : AccessKind::read,
                         call.getArgOperand(0), to);
    case Kind::wgmma: {
      for (const llvm::Value* operand : call.args()) {
        if (!operand->getType()->isIntegerTy(64)) continue;
        if (!roles_) {
          read_access(call, operation.engine, AccessKind::read, operand, to);
          continue;
        }
        Event event = stage_event(Event::Kind::multiply, operand, call);
        bool known = std::any_of(to.rbegin(), to.rend(), [&](const Event& e) {
          return e.at == &call && e.slot == event.slot;
        });
        if (!known) to.push_back(event);
      }
      return;
    }
    case Kind::tma_load:
      if (!roles_) refuse(call, "TMA fills no ring");
      to.push_back(stage_event(Event::Kind::fill, call.getArgOperand(0), call));
      return;
    case Kind::init:
      to.push_back({Event::Kind::access, Engine::thread, AccessKind::write, 0, barriers_place(), 0,
                    -1, -1, -1, false, &call});
      return;
    case Kind::await:
      if (is_await_loop(*call.getParent()))
        to.push_back(memory_barrier_event(Event::Kind::await, call));
      return;
    case Kind::expect: to.push_back(memory_barrier_event(Event::Kind::expect, call)); return;
    case Kind::arrive: to.push_back(memory_barrier_event(Event::Kind::release, call)); return;
  }
}

void Events::read(const llvm::Instruction& inst, std::vector<Event>& to) {
  auto variable_event = [&](Event::Kind kind, const llvm::Value* slot,
                            const llvm::Value* variable) {
    to.push_back({kind, Engine::thread, AccessKind::read, 0, -1, 0, slot ? slot_number(slot) : -1,
                  slot_number(variable), -1, false, &inst});
  };
  switch (inst.getOpcode()) {
    case llvm::Instruction::Load: {
      const auto& load = llvm::cast<llvm::LoadInst>(inst);
      const llvm::Value* pointer = load.getPointerOperand();
      if (llvm::isa<llvm::AllocaInst>(pointer)) {
        if (roles_) variable_event(Event::Kind::load_slot, &inst, pointer);
      } else if (pointer->getType()->getPointerAddressSpace() != 0) {
        read_access(inst, Engine::thread, load.isAtomic() ? AccessKind::atomic : AccessKind::read,
                    pointer, to);
      }
      return;
    }
    case llvm::Instruction::Store: {
      const auto& store = llvm::cast<llvm::StoreInst>(inst);
      const llvm::Value *value = store.getValueOperand(), *pointer = store.getPointerOperand();
      if (llvm::isa<llvm::AllocaInst>(pointer)) {
        if (roles_)
          variable_event(Event::Kind::store_slot, is_variable(value) ? value : nullptr, pointer);
      } else if (pointer->getType()->getPointerAddressSpace() != 0) {
        read_access(inst, Engine::thread, AccessKind::write, pointer, to);
      }
      return;
    }
    case llvm::Instruction::AtomicRMW:
    case llvm::Instruction::AtomicCmpXchg:
      return read_access(inst, Engine::thread, AccessKind::atomic, inst.getOperand(0), to);
    case llvm::Instruction::Call: return read_call(llvm::cast<llvm::CallInst>(inst), to);
    case llvm::Instruction::Ret:
      to.push_back(
          {Event::Kind::end, Engine::thread, AccessKind::read, 0, -1, 0, -1, -1, -1, false, &inst});
      return;
    default: return;
  }
}

}  // namespace tilewright::dsl::gpu
