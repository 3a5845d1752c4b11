#include "dsl/codegen/gpu/proof/barrier_state.h"

#include <llvm/IR/DebugInfoMetadata.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

using What = Fact::What;
using Kind = Event::Kind;

bool entry_before(const BarrierState::Entry& a, const BarrierState::Entry& b) {
  return a.fact < b.fact;
}

std::string_view verb(AccessKind kind) {
  return kind == AccessKind::read ? "read" : kind == AccessKind::write ? "write" : "atomic access";
}

}  // namespace

bool BarrierState::contains(const Fact& fact) const {
  return std::binary_search(entries_.begin(), entries_.end(), Entry{fact, nullptr}, entry_before);
}

void BarrierState::add(const Fact& fact, const llvm::Instruction* at) {
  Entry entry{fact, at};
  auto place = std::lower_bound(entries_.begin(), entries_.end(), entry, entry_before);
  if (place == entries_.end() || place->fact != fact) entries_.insert(place, entry);
}

bool BarrierState::merge(const BarrierState& other) {
  auto is_new = [&](const Entry& entry) { return !contains(entry.fact); };
  if (std::ranges::none_of(other.entries_, is_new)) return false;
  std::vector<Entry> both;
  std::set_union(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                 std::back_inserter(both), entry_before);
  entries_ = std::move(both);
  return true;
}

void BarrierState::sort() {
  if (!std::ranges::is_sorted(entries_, entry_before)) std::ranges::sort(entries_, entry_before);
  auto rest = std::ranges::unique(entries_, {}, &Entry::fact);
  entries_.erase(rest.begin(), rest.end());
}

void Transfer::prepare(const std::vector<Event>& all) {
  read_by_engines_.assign(events_.places.size(), false);
  ring_of_slot_.assign(events_.slots.size(), -1);
  std::vector<const SharedAccess*> by_engines;
  for (const Event& event : all) {
    bool by_engine = event.engine == Engine::bulk || event.engine == Engine::wgmma;
    if (event.kind == Kind::access && by_engine)
      by_engines.push_back(&events_.places[static_cast<std::size_t>(event.touch)].touch);
    if (event.kind == Kind::fill)
      by_engines.push_back(&events_.places[static_cast<std::size_t>(event.touch)].touch);
    if (event.kind == Kind::await) ring_of_slot_[static_cast<std::size_t>(event.slot)] = event.ring;
  }
  for (std::size_t i = 0; i < events_.places.size(); ++i) {
    const TouchedMemory& place = events_.places[i];
    read_by_engines_[i] =
        place.array == nullptr && std::ranges::any_of(by_engines, [&](const SharedAccess* touch) {
          return place.touch.first() < touch->last() && touch->first() < place.touch.last();
        });
  }
}

bool Transfer::overlap(const Fact& fact, const Event& event) const {
  const TouchedMemory& a = events_.places[static_cast<std::size_t>(fact.index)];
  const TouchedMemory& b = events_.places[static_cast<std::size_t>(event.touch)];
  if (a.array != b.array) return false;  // two arrays, or an array and shared memory
  if (a.array != nullptr) return true;
  if (a.touch.ring >= 0 && a.touch.ring == b.touch.ring) {
    if (fact.turn != BarrierState::any_turn && fact.turn != event.turn) return false;
    return a.touch.begin < b.touch.end && b.touch.begin < a.touch.end;
  }
  return a.touch.first() < b.touch.last() && b.touch.first() < a.touch.last();
}

void Transfer::access(const Event& event, int threads, BarrierState& state) const {
  Fact fact;
  fact.engine = event.engine;
  fact.access = event.access;
  fact.turn = static_cast<std::int8_t>(event.turn);
  fact.index = static_cast<std::int32_t>(event.touch);
  fact.threads = static_cast<std::int32_t>(threads);
  if (state.contains(fact)) return;
  const TouchedMemory& place = events_.places[static_cast<std::size_t>(event.touch)];
  bool engine_reads = event.engine == Engine::bulk || event.engine == Engine::wgmma;
  for (const BarrierState::Entry& entry : state.entries()) {
    const Fact& before = entry.fact;
    if (before.what > What::unfenced) break;
    bool harmless = (before.access == AccessKind::read && event.access == AccessKind::read) ||
                    (before.access == AccessKind::atomic && event.access == AccessKind::atomic &&
                     !engine_reads);
    if (harmless || !overlap(before, event)) continue;
    if (place.touch.by_cluster && event.access == AccessKind::write) continue;  // the other set
    if (before.what == What::unfenced) {
      if (engine_reads) raise(event, entry, "has no fence for the engine since");
      continue;
    }
    int group = events_.places[static_cast<std::size_t>(before.index)].touch.group;
    if (group == place.touch.group && before.age == 0 && before.engine == event.engine) continue;
    raise(event, entry,
          before.engine == Engine::thread ? "has no barrier since" : "is not awaited since");
  }
  if (event.kind == Kind::access) state.add(fact, event.at);
}

void Transfer::slot_event(const Event& event, BarrierState& state) const {
  auto slot = static_cast<std::int32_t>(event.slot);
  auto find = [&](What what, int index, int age) -> const BarrierState::Entry* {
    for (const BarrierState::Entry& entry : state.entries())
      if (entry.fact.what == what && entry.fact.index == index && entry.fact.age == age)
        return &entry;
    return nullptr;
  };
  auto drop = [&](What what) {
    state.update(
        [&](const Fact& fact) { return fact.what != what || fact.index != slot || fact.age != 0; });
  };
  auto fact = [&](What what) {
    Fact made;
    made.what = what;
    made.index = slot;
    return made;
  };
  switch (event.kind) {
    case Kind::load_slot:
      if (ring_of_slot_[static_cast<std::size_t>(slot)] < 0) return;
      for (What what : {What::unawaited, What::unexpected, What::released, What::multiplied})
        drop(what);
      state.add(fact(What::unawaited), event.at);
      state.add(fact(What::unexpected), event.at);
      return;
    case Kind::store_slot: {
      state.update([&](const Fact& old) {
        return old.what != What::kept || old.variable != event.variable;
      });
      if (slot < 0 || ring_of_slot_[static_cast<std::size_t>(slot)] < 0) return;
      Fact kept = fact(What::kept);
      kept.variable = static_cast<std::int32_t>(event.variable);
      state.add(kept, event.at);
      return;
    }
    case Kind::await: return drop(What::unawaited);
    case Kind::expect: return drop(What::unexpected);
    case Kind::fill:
    case Kind::multiply: {
      if (ring_of_slot_[static_cast<std::size_t>(slot)] != event.ring)
        raise(event, "nobody waits for the barrier of this ring's stage");
      if (auto* at = find(What::unawaited, slot, 0))
        raise(event, *at, "is not followed by a wait for its barrier");
      if (auto* at = find(What::released, slot, 0)) raise(event, *at, "gave it back");
      if (event.kind == Kind::fill) {
        if (auto* at = find(What::unexpected, slot, 0))
          raise(event, *at, "is not followed by the bytes that are expected");
        return access(event, 0, state);
      }
      Fact multiplied = fact(What::multiplied);
      multiplied.engine = Engine::wgmma;
      return state.add(multiplied, event.at);
    }
    case Kind::release: {
      // The slot itself, or those that its variable may hold.
      std::vector<std::pair<int, int>> given;
      if (ring_of_slot_[static_cast<std::size_t>(slot)] >= 0) given.emplace_back(slot, 0);
      auto* load = llvm::dyn_cast<llvm::LoadInst>(events_.slots[static_cast<std::size_t>(slot)]);
      for (const BarrierState::Entry& entry : state.entries())
        if (given.empty() && entry.fact.what == What::kept && load != nullptr &&
            events_.slots[static_cast<std::size_t>(entry.fact.variable)] ==
                load->getPointerOperand())
          given.emplace_back(entry.fact.index, entry.fact.age);
      for (auto [index, age] : given) {
        if (auto* at = find(What::multiplied, index, age))
          raise(event, *at, "is not awaited since");
        Fact released = fact(What::released);
        released.index = static_cast<std::int32_t>(index);
        released.age = static_cast<std::uint8_t>(age);
        state.add(released, event.at);
      }
      return;
    }
    default: return;
  }
}

void Transfer::apply(const Event& event, int threads, BarrierState& state) const {
  // A thread waits for and fences its own accesses: all threads do so for all, or those that
  // satisfied a condition for those that satisfy it now.
  auto is_own = [&](const Fact& fact) {
    return threads == 0 || (threads > 0 && fact.threads == threads);
  };
  switch (event.kind) {
    case Kind::access: return access(event, threads, state);
    case Kind::barrier:
    case Kind::warpgroup_barrier:
      if (threads != 0) return;  // not all of them come
      return state.update([&](Fact& fact) {
        if (fact.what != What::access || fact.engine != Engine::thread) return true;
        auto place = static_cast<std::size_t>(fact.index);
        const SharedAccess& touch = events_.places[place].touch;
        if (event.kind == Kind::warpgroup_barrier && !touch.by_warpgroup) return true;
        if (touch.by_cluster && event.number != 1) return true;
        if (fact.access != AccessKind::write || fact.fenced || !read_by_engines_[place])
          return false;
        fact.what = What::unfenced;
        return true;
      });
    case Kind::fence:
    case Kind::init_fence:
      return state.update([&](Fact& fact) {
        bool writes = fact.what <= What::unfenced && fact.access == AccessKind::write &&
                      fact.engine == Engine::thread;
        bool is_init = fact.index == events_.barriers_place();
        if (!writes || is_init != (event.kind == Kind::init_fence)) return true;
        if (!is_own(fact)) return true;
        fact.fenced = true;
        return fact.what == What::access;
      });
    case Kind::commit:
      return state.update([&](Fact& fact) {
        bool given = fact.what == What::access || fact.what == What::multiplied;
        if (given && is_own(fact) && fact.engine == event.engine &&
            fact.commits < BarrierState::many)
          ++fact.commits;
        return true;
      });
    case Kind::wait:
      return state.update([&](Fact& fact) {
        if (fact.engine != event.engine || fact.commits <= event.number || !is_own(fact))
          return true;
        if (fact.what == What::multiplied) return false;
        fact.engine = Engine::thread;
        fact.commits = 0;
        return true;
      });
    case Kind::end:
      for (const BarrierState::Entry& entry : state.entries())
        if (entry.fact.what == What::access && entry.fact.engine != Engine::thread)
          raise(event, entry, "is not awaited before the thread ends");
      return;
    default: return slot_event(event, state);
  }
}

std::string Transfer::line_of(const llvm::Instruction* at) const {
  const llvm::DebugLoc& place = at->getDebugLoc();
  if (!place) return "an unknown line";
  std::string file = place->getFilename().str();
  return concat(file.substr(file.rfind('/') + 1), ":", place.getLine());
}

std::string Transfer::describe(int place, int turn, AccessKind kind,
                               const llvm::Instruction* at) const {
  std::string what = concat(verb(kind), " at ", line_of(at), " of ");
  const TouchedMemory& where = events_.places[static_cast<std::size_t>(place)];
  if (where.array != nullptr)
    return concat(what, "array %", where.array->getName().str(), " (parameter ",
                  llvm::cast<llvm::Argument>(where.array)->getArgNo(), ")");
  what += concat("shared bytes [", where.touch.begin, ", ", where.touch.end, ")");
  if (where.touch.ring >= 0) what += concat(" of the stage ", turn, " turns ahead");
  return what;
}

void Transfer::raise(const Event& event, const BarrierState::Entry& with,
                     std::string_view why) const {
  std::string now, before;
  if (event.touch < 0)
    now = "the end of a thread";
  else if (event.slot >= 0)
    now = concat(event.kind == Kind::release ? "giving back" : "use of", " a stage of ring ",
                 event.ring, " at ", line_of(event.at));
  else
    now = describe(event.touch, event.turn, event.access, event.at);
  if (with.fact.what <= What::unfenced)
    before = describe(with.fact.index, with.fact.turn, with.fact.access, with.at);
  else
    before = concat(with.fact.what == What::multiplied ? "the product" : "the turn", " at ",
                    line_of(with.at));
  throw InternalError(concat("[barrier_proof] ", kernel_.getName().str(), ": ", now,
                             " is out of order: ", before, " ", why));
}

void Transfer::raise(const Event& event, std::string_view why) const {
  throw InternalError(concat("[barrier_proof] ", kernel_.getName().str(), ": ", "use of ring ",
                             event.ring, " at ", line_of(event.at), ": ", why));
}

}  // namespace tilewright::dsl::gpu
