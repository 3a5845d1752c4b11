#include "dsl/ir/function.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "runtime/base/error.h"

namespace tilewright::ir {

namespace {

// The one of that name; `last` is the last enumerator.
template <typename Enum>
std::optional<Enum> named(std::string_view name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

bool Scalar::operator==(const Scalar& other) const {
  return dtype == other.dtype && integer == other.integer &&
         std::bit_cast<std::uint64_t>(floating) == std::bit_cast<std::uint64_t>(other.floating);
}

Scalar Scalar::of(DType dtype, double value) {
  // A constant holds what its type can hold, so that every reader sees the same number.
  if (is_floating(dtype)) return {dtype, 0, rounded_to(dtype, value)};
  return of_integer(dtype, static_cast<std::int64_t>(value));
}

Scalar Scalar::of_integer(DType dtype, std::int64_t value) {
  if (is_floating(dtype)) return of(dtype, static_cast<double>(value));
  if (is_boolean(dtype)) return {dtype, value != 0, 0};
  // Wrap to the width, as the machine does.
  std::int64_t held = dispatch(dtype, [&](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(static_cast<T>(value));
    return value;
  });
  return {dtype, held, 0};
}

std::string source_place(const Inst& inst) {
  return inst.text_line > 0 ? concat("line ", inst.text_line) : describe(inst.where);
}

std::string_view name_of(const Function& function, Value value) {
  return value < function.hints.size() ? std::string_view(function.hints[value])
                                       : std::string_view();
}

void give_name(Function& function, Value value, std::string name) {
  if (function.hints.size() <= value) function.hints.resize(function.types.size());
  function.hints[value] = std::move(name);
}

void Function::set_layout(Value value, const dsl::layout::Layout& layout) {
  auto known = std::ranges::find(layouts, layout);
  auto id = static_cast<std::int32_t>(known - layouts.begin());
  if (known == layouts.end()) layouts.push_back(layout);
  if (value >= layout_of.size()) layout_of.resize(types.size(), -1);
  layout_of[value] = id;
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::traced: return "traced";
    case Stage::scheduled: return "scheduled";
    case Stage::laid_out: return "laid_out";
    case Stage::converted: return "converted";
    case Stage::allocated: return "allocated";
    case Stage::synchronised: return "synchronised";
  }
  __builtin_unreachable();
}

std::optional<Stage> parse_stage(std::string_view name) { return named(name, Stage::synchronised); }

std::string_view name_of(Barrier barrier) {
  switch (barrier) {
    case Barrier::none: return "none";
    case Barrier::array: return "array";
    case Barrier::scratch: return "scratch";
  }
  __builtin_unreachable();
}

std::string_view name_of(Product product) {
  switch (product) {
    case Product::along_n: return "along_n";
    case Product::along_k: return "along_k";
    case Product::interleaved: return "interleaved";
    case Product::packed: return "packed";
    case Product::tiled: return "tiled";
  }
  __builtin_unreachable();
}

std::optional<Product> parse_product(std::string_view name) { return named(name, Product::tiled); }

std::string_view name_of(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::add: return "add";
    case AtomicKind::max: return "max";
    case AtomicKind::min: return "min";
    case AtomicKind::and_: return "and";
    case AtomicKind::or_: return "or";
    case AtomicKind::xor_: return "xor";
    case AtomicKind::exchange: return "exchange";
    case AtomicKind::compare_exchange: return "compare_exchange";
  }
  __builtin_unreachable();
}

std::string_view name_of(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::relaxed: return "relaxed";
    case MemoryOrder::acquire: return "acquire";
    case MemoryOrder::release: return "release";
    case MemoryOrder::acq_rel: return "acq_rel";
  }
  __builtin_unreachable();
}

std::optional<MemoryOrder> parse_memory_order(std::string_view name) {
  return named(name, MemoryOrder::acq_rel);
}

std::string_view name_of(MemoryScope scope) {
  switch (scope) {
    case MemoryScope::cta: return "cta";
    case MemoryScope::gpu: return "gpu";
    case MemoryScope::sys: return "sys";
  }
  __builtin_unreachable();
}

std::optional<MemoryScope> parse_memory_scope(std::string_view name) {
  return named(name, MemoryScope::sys);
}

bool acquires(MemoryOrder order) {
  return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
}

bool releases(MemoryOrder order) {
  return order == MemoryOrder::release || order == MemoryOrder::acq_rel;
}

bool ends_by_condition(const Inst& inst) {
  return inst.op == Op::loop_ && inst.get<LoopEnd>().by_condition;
}

std::string_view name_of(InputPrecision precision) {
  switch (precision) {
    case InputPrecision::ieee: return "ieee";
    case InputPrecision::tf32: return "tf32";
    case InputPrecision::tf32x3: return "tf32x3";
  }
  __builtin_unreachable();
}

std::optional<InputPrecision> parse_input_precision(std::string_view name) {
  return named(name, InputPrecision::tf32x3);
}

std::string_view name_of(CachePolicy policy) {
  switch (policy) {
    case CachePolicy::normal: return "normal";
    case CachePolicy::evict_first: return "evict_first";
    case CachePolicy::evict_last: return "evict_last";
    case CachePolicy::no_allocate: return "no_allocate";
    case CachePolicy::ca: return "ca";
    case CachePolicy::cg: return "cg";
    case CachePolicy::cv: return "cv";
    case CachePolicy::wb: return "wb";
    case CachePolicy::cs: return "cs";
    case CachePolicy::wt: return "wt";
  }
  __builtin_unreachable();
}

std::optional<CachePolicy> parse_cache_policy(std::string_view name) {
  return named(name, CachePolicy::wt);
}

bool fits_loads(CachePolicy policy) { return policy <= CachePolicy::cv; }

bool fits_stores(CachePolicy policy) {
  return policy != CachePolicy::ca && policy != CachePolicy::cv;
}

CachePolicy cache_policy(const Inst& inst) {
  if (auto* a = std::get_if<Access>(&inst.immediate)) return a->cache;
  if (auto* a = std::get_if<BlockAccess>(&inst.immediate)) return a->cache;
  return CachePolicy::normal;
}

std::optional<AtomicKind> parse_atomic_kind(std::string_view name) {
  return named(name, AtomicKind::compare_exchange);
}

namespace {

// Values are hashed by the order of their first appearance, so that numbering does not matter.
class FunctionHasher {
 public:
  explicit FunctionHasher(const Function& function) : function_(function) {}

  Hash run() {
    hasher_.add(function_.params.size());
    for (const Param& param : function_.params) {
      define(param.value);
      if (param.align_bytes != Param{}.align_bytes) hasher_.add(param.align_bytes);
    }
    if (function_.cluster != 1) hasher_.add(function_.cluster);
    if (function_.most_stages != 0 || function_.most_registers != 0)
      hasher_.add(function_.most_stages).add(function_.most_registers);
    if (function_.row_invariant) hasher_.add("row_invariant");
    if (function_.warps != 0) hasher_.add(function_.warps);
    if (function_.roles)
      hasher_.add(function_.roles->stages).add(function_.roles->cluster_axis.value_or(-1));
    if (function_.stage != Stage::traced) hasher_.add(function_.stage);
    if (function_.shared != SharedMemory{})
      hasher_.add(function_.shared.bytes).add(function_.shared.reserved);
    block(function_.body);
    return hasher_.finish();
  }

 private:
  void define(Value value) {
    order_.emplace(value, order_.size());
    const Type& type = function_.type(value);
    hasher_.add(type.kind).add(type.dtype).add(type.shape).add(type.desc_rank);
    if (function_.has_layout(value)) {
      Hash layout = function_.layout(value).hash();
      hasher_.add(layout.low).add(layout.high);
    }
  }

  void block(const Block& b) {
    hasher_.add(b.params.size());
    for (Value value : b.params) define(value);
    hasher_.add(b.insts.size());
    for (const Inst& inst : b.insts) {
      hasher_.add(inst.op).add(inst.operands.size());
      for (Value value : inst.operands) hasher_.add(order_.at(value));
      immediate(inst.immediate);
      if (inst.schedule != Schedule{}) schedule(inst.schedule);
      hasher_.add(inst.results.size());
      for (Value value : inst.results) define(value);
      for (const Block& body : inst.bodies) block(body);
    }
  }

  void schedule(const Schedule& s) {
    hasher_.add(s.stages).add(s.staged).add(s.deferred).add(s.alternating).add(s.boxed);
    if (s.barrier != Barrier::none) hasher_.add(s.barrier);
    if (s.shared_bytes != 0) hasher_.add(s.shared_bytes).add(s.shared_offset);
    hasher_.add(s.kept).add(s.joined).add(s.quarters).add(s.tabulated);
    hasher_.add(s.product).add(s.in_panels).add(s.hoisted);
  }

  void immediate(const Immediate& imm) {
    // The usual end of a loop is nothing to tell of.
    const bool is_usual = imm == Immediate(LoopEnd{});
    hasher_.add(is_usual ? std::size_t{0} : imm.index());
    if (auto* s = std::get_if<Scalar>(&imm)) hasher_.add(s->dtype).add(s->integer).add(s->floating);
    if (auto* b = std::get_if<Bounds>(&imm)) hasher_.add(b->start).add(b->end);
    if (auto* a = std::get_if<Axis>(&imm)) hasher_.add(a->axis);
    if (auto* e = std::get_if<Extent>(&imm)) hasher_.add(e->shape);
    if (auto* p = std::get_if<Permutation>(&imm)) hasher_.add(p->dims);
    if (auto* d = std::get_if<DType>(&imm)) hasher_.add(*d);
    if (auto* a = std::get_if<Access>(&imm)) hasher_.add(a->cache);
    if (auto* a = std::get_if<BlockAccess>(&imm)) hasher_.add(a->shape).add(a->cache);
    if (auto* r = std::get_if<Reduction>(&imm)) hasher_.add(r->kind).add(r->axis);
    if (auto* a = std::get_if<Atomic>(&imm)) {
      hasher_.add(a->kind);
      if (*a != Atomic{a->kind}) hasher_.add(a->order).add(a->scope);
    }
    if (auto* t = std::get_if<Text>(&imm)) hasher_.add(t->text);
    if (auto* p = std::get_if<Precision>(&imm)) hasher_.add(p->input);
  }

  const Function& function_;
  Hasher hasher_;
  std::unordered_map<Value, std::size_t> order_;
};

}  // namespace

Hash content_hash(const Function& function) { return FunctionHasher(function).run(); }

}  // namespace tilewright::ir
