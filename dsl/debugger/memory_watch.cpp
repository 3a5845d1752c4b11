#include "dsl/debugger/memory_watch.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "dsl/interpret/access_check.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

// "kernel.cpp:12: [store] "
std::string head_of(const ir::Inst& inst) {
  std::string_view name = ir::info(inst.op).name;
  return concat(ir::source_place(inst), ": [", name.substr(0, name.find('_')), "] ");
}

ElementValue written_value(const ir::Touched& touched) {
  if (touched.written == nullptr) return {};
  const ir::TileData& data = *touched.written;
  if (!data.floating.empty()) return {data.floating[touched.element], 0};
  const std::int64_t integer = data.integer[touched.element];
  return {static_cast<double>(integer), integer};
}

// By parameter: whether it has one of the names, which must be those of pointers.
std::vector<bool> pointers_named(const ir::Function& function,
                                 const std::vector<std::string>& names) {
  std::vector<bool> is_named(function.params.size(), false);
  for (const std::string& name : names) {
    auto found = std::ranges::find(function.params, name, &ir::Param::name);
    require(found != function.params.end() && function.type(found->value).is_pointer(), "[",
            function.name, "] \"", name,
            "\" is not a pointer of the kernel, whose memory could be "
            "watched");
    is_named[static_cast<std::size_t>(found - function.params.begin())] = true;
  }
  return is_named;
}

// A NaN is like any other.
bool same(const ElementValue& a, const ElementValue& b) {
  return a.integer == b.integer &&
         (a.number == b.number || (std::isnan(a.number) && std::isnan(b.number)));
}

}  // namespace

std::string element_name(const ir::Function& function, std::span<const Argument> arguments,
                         const ir::Touched& touched) {
  if (touched.param < 0) return "an element";
  auto p = static_cast<std::size_t>(touched.param);
  const std::int64_t base = reinterpret_cast<std::int64_t>(arguments[p].pointer);
  return concat("index ", (touched.address - base) / touched.size_bytes, " of ",
                function.params[p].name);
}

RaceWatch::Kind RaceWatch::kind_of(const ir::Inst& inst) {
  if (inst.op == ir::Op::atomic_) return Kind::atomic;
  return ir::info(inst.op).effect == ir::Effect::writes ? Kind::write : Kind::read;
}

bool RaceWatch::conflict(const Access& a, const Access& b) {
  const bool both_write = a.kind == Kind::write && b.kind == Kind::write;
  if (a.program == b.program)
    return both_write && a.inst == b.inst && a.step == b.step && !same(a.value, b.value);
  if (both_write) return !same(a.value, b.value);
  return a.kind != b.kind;
}

// The first two programs of each kind are enough to find a conflict with any other; of writes the
// last of each of them.
void RaceWatch::keep(std::vector<Access>& known, const Access& access) {
  std::int64_t others = 0;
  for (Access& other : known) {
    if (other.kind != access.kind) continue;
    if (other.program == access.program) {
      other = access;
      return;
    }
    ++others;
  }
  if (others < 2) known.push_back(access);
}

void RaceWatch::look(const ir::Touched& touched, std::int64_t step) {
  Access now{kind_of(touched.inst), touched.program,       &touched.inst, step,
             touched.element,       written_value(touched)};
  std::vector<Access>& known = accesses_[touched.address];
  for (const Access& before : known)
    if (conflict(now, before)) raise(touched, now, before);
  keep(known, now);
}

// "2", what a store or atomic writes.
std::string RaceWatch::value_text(const Access& access) const {
  // A store of a block has its descriptor first, a store its address: the value is next.
  return element_text(function_.type(access.inst->operands[1]).dtype, access.value);
}

std::string RaceWatch::described(const Access& access) const {
  std::string text = ir::text_of(access.program);
  switch (access.kind) {
    case Kind::read: return text + " reads it";
    case Kind::write: return text + " writes " + value_text(access);
    case Kind::atomic: return text + " changes it by an atomic with " + value_text(access);
  }
  __builtin_unreachable();
}

void RaceWatch::raise(const ir::Touched& touched, const Access& now, const Access& before) const {
  const std::string element = element_name(function_, arguments_, touched);
  if (now.program == before.program)
    raise_error(concat(head_of(*now.inst), ir::text_of(now.program), " writes ", element,
                       " twice: elements ", before.element, " and ", now.element, " of the tile, ",
                       value_text(before), " and ", value_text(now),
                       "; the value that stays is undefined: give each element one place"));
  raise_error(concat(head_of(*now.inst), "a race for ", element, ": ", described(now), ", and ",
                     described(before), " (", ir::source_place(*before.inst),
                     "); programs run in any order and at the same time: let one program own each "
                     "element, or use atomics"));
}

WriteWatch::WriteWatch(const ir::Function& function, std::span<const Argument> arguments,
                       const std::vector<std::string>& unwritten,
                       const std::vector<std::string>& complete)
    : function_(function),
      arguments_(arguments),
      is_unwritten_(pointers_named(function, unwritten)),
      is_complete_(pointers_named(function, complete)),
      places_(function.params.size()) {}

void WriteWatch::look(const ir::Touched& touched) {
  const bool is_store = touched.inst.op != ir::Op::atomic_ && touched.written != nullptr;
  const bool is_param = touched.param >= 0;
  const auto p = static_cast<std::size_t>(touched.param);
  require(is_store || !is_param || !is_unwritten_[p] || written_.contains(touched.address),
          head_of(touched.inst), ir::text_of(touched.program), ", element ", touched.element, ": ",
          element_name(function_, arguments_, touched),
          " is read before the kernel has written it; store there first, or give memory that holds "
          "what is meant");
  if (touched.written == nullptr) return;
  written_.insert(touched.address);
  if (is_param) places_[p].insert(ir::source_place(touched.inst));
}

void WriteWatch::finish(std::span<const ir::Memory> memories) const {
  for (std::size_t p = 0; p < is_complete_.size(); ++p) {
    if (!is_complete_[p]) continue;
    const std::int64_t width = size_bytes(function_.type(function_.params[p].value).dtype);
    const std::int64_t base = reinterpret_cast<std::int64_t>(arguments_[p].pointer);
    std::int64_t missing = 0, first = 0, count = memories[p].size_bytes / width;
    for (std::int64_t i = count; i-- > 0;) {
      if (written_.contains(base + i * width)) continue;
      first = i;
      ++missing;
    }
    std::string places;
    for (const std::string& place : places_[p]) places += (places.empty() ? "" : ", ") + place;
    require(missing == 0, places.empty() ? "nowhere" : places, ": [store] index ", first, " of ",
            function_.params[p].name, " is never written, nor are ", missing - 1, " others of its ",
            count, " elements; a mask is too narrow, or programs are missing");
  }
}

}  // namespace tilewright::dsl
