// Memory operations and reductions of the language.
#include "dsl/language/operands.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"

namespace tilewright::dsl {
namespace {

using ir::Op;

// A pointer operand, and the type of what it points to.
Tile pointer_of(const OperationUse& site, const Operand& operand) {
  Tile pointer = site.tile(operand);
  site.expect(pointer.type().is_pointer(), "the address is ", pointer.type(),
              "; it must be a pointer or a tile of them");
  return pointer;
}

ir::Type pointee(const Tile& pointer) { return ir::Type::tile(pointer.dtype(), pointer.shape()); }

Tile mask_of(const OperationUse& site, const Operand& mask, const Tile& pointer) {
  return site.fit(mask, pointee(pointer).with_dtype(DType::boolean), "the mask");
}

std::vector<Tile> indices(const OperationUse& site, const std::vector<Operand>& operands) {
  std::vector<Tile> tiles;
  for (const Operand& operand : operands) tiles.push_back(site.tile(operand, DType::i64));
  return tiles;
}

// The descriptor and, after it, offsets.
std::vector<Tile> block_at(const OperationUse& site, const Desc& desc,
                           const std::vector<Operand>& offsets) {
  std::vector<Tile> operands = indices(site, offsets);
  operands.insert(operands.begin(), desc.handle());
  return operands;
}

}  // namespace

Tile load(const Operand& pointer, CachePolicy cache) {
  OperationUse site("load", pointer.where);
  return site.append(Op::load_, {pointer_of(site, pointer)}, ir::Access{cache});
}

Tile load(const Operand& pointer, const Operand& mask, CachePolicy cache) {
  OperationUse site("load", pointer.where);
  Tile from = pointer_of(site, pointer);
  return site.append(Op::load_, {from, mask_of(site, mask, from)}, ir::Access{cache});
}

Tile load(const Operand& pointer, const Operand& mask, const Operand& other, CachePolicy cache) {
  OperationUse site("load", pointer.where);
  Tile from = pointer_of(site, pointer), lanes = mask_of(site, mask, from);
  Tile instead = site.fit(other, pointee(from), "the replacement value");
  return site.append(Op::load_, {from, lanes, instead}, ir::Access{cache});
}

void store(const Operand& pointer, const Operand& value, CachePolicy cache) {
  OperationUse site("store", pointer.where);
  Tile to = pointer_of(site, pointer);
  site.append(Op::store_, {to, site.fit(value, pointee(to), "the value")}, ir::Access{cache});
}

void store(const Operand& pointer, const Operand& value, const Operand& mask, CachePolicy cache) {
  OperationUse site("store", pointer.where);
  Tile to = pointer_of(site, pointer), from = site.fit(value, pointee(to), "the value");
  site.append(Op::store_, {to, from, mask_of(site, mask, to)}, ir::Access{cache});
}

Tile atomic(ir::AtomicKind kind, const Operand& pointer, const Operand& value,
            const std::optional<Operand>& mask, Ordering ordering) {
  OperationUse site("atomic", pointer.where);
  Tile to = pointer_of(site, pointer);
  std::vector<Tile> operands = {to, site.fit(value, pointee(to), "the value")};
  if (mask) operands.push_back(mask_of(site, *mask, to));
  return site.append(Op::atomic_, operands, ir::Atomic{kind, ordering.order, ordering.scope});
}
Tile atomic_cas(const Operand& pointer, const Operand& expected, const Operand& value,
                const std::optional<Operand>& mask, Ordering ordering) {
  OperationUse site("atomic", pointer.where);
  Tile to = pointer_of(site, pointer);
  Tile with = site.fit(value, pointee(to), "the value");
  Tile lanes = mask_of(site, mask.value_or(Operand(1, pointer.where)), to);
  Tile known = site.fit(expected, pointee(to), "what is expected");
  return site.append(Op::atomic_, {to, with, lanes, known},
                     ir::Atomic{ir::AtomicKind::compare_exchange, ordering.order, ordering.scope});
}
Tile atomic_add(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
                Ordering ordering) {
  return atomic(ir::AtomicKind::add, pointer, value, mask, ordering);
}
Tile atomic_max(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
                Ordering ordering) {
  return atomic(ir::AtomicKind::max, pointer, value, mask, ordering);
}
Tile atomic_min(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
                Ordering ordering) {
  return atomic(ir::AtomicKind::min, pointer, value, mask, ordering);
}
Tile atomic_and(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
                Ordering ordering) {
  return atomic(ir::AtomicKind::and_, pointer, value, mask, ordering);
}
Tile atomic_or(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
               Ordering ordering) {
  return atomic(ir::AtomicKind::or_, pointer, value, mask, ordering);
}
Tile atomic_xor(const Operand& pointer, const Operand& value, const std::optional<Operand>& mask,
                Ordering ordering) {
  return atomic(ir::AtomicKind::xor_, pointer, value, mask, ordering);
}
Tile atomic_exchange(const Operand& pointer, const Operand& value,
                     const std::optional<Operand>& mask, Ordering ordering) {
  return atomic(ir::AtomicKind::exchange, pointer, value, mask, ordering);
}

Desc make_desc(const Operand& base, const std::vector<Operand>& sizes,
               const std::vector<Operand>& strides) {
  OperationUse site("make_desc", base.where);
  site.expect(sizes.size() == strides.size() && !sizes.empty(), "there are ", sizes.size(),
              " sizes and ", strides.size(), " strides; a size and a stride an axis are needed");
  Desc::Parts parts{pointer_of(site, base), indices(site, sizes), indices(site, strides)};
  std::vector<Tile> operands = {parts.base};
  for (const auto& list : {parts.sizes, parts.strides})
    operands.insert(operands.end(), list.begin(), list.end());
  return Desc(site.append(Op::make_desc_, operands), std::move(parts));
}

Tile load(const Desc& desc, const std::vector<Operand>& offsets, const Shape& block,
          CachePolicy cache, std::source_location where) {
  OperationUse site("load_desc", where);
  return site.append(Op::load_desc_, block_at(site, desc, offsets), ir::BlockAccess{block, cache});
}

void store(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
           CachePolicy cache) {
  OperationUse site("store_desc", value.where);
  std::vector<Tile> operands = block_at(site, desc, offsets);
  operands.insert(operands.begin() + 1, site.tile(value));
  site.append(Op::store_desc_, operands, ir::Access{cache});
}

void prefetch(const Desc& desc, const std::vector<Operand>& offsets, const Shape& block,
              std::source_location where) {
  OperationUse site("prefetch_desc", where);
  site.append(Op::prefetch_desc_, block_at(site, desc, offsets), ir::Extent{block});
}

void device_print(const std::string& text, const std::vector<Operand>& values,
                  std::source_location where) {
  OperationUse site("print", where);
  std::vector<Tile> operands;
  for (const Operand& value : values) operands.push_back(site.tile(value));
  site.append(Op::print_, operands, ir::Text{text});
}

void device_assert(const Operand& condition, const std::string& text,
                   const std::vector<Operand>& values) {
  OperationUse site("device_assert", condition.where);
  std::vector<Tile> operands = {site.tile(condition, DType::boolean)};
  for (const Operand& value : values) {
    Tile shown = site.tile(value);
    operands.push_back(shown.shape().empty() ? shown : site.broadcast(shown, operands[0].shape()));
  }
  site.append(Op::assert_, operands, ir::Text{text});
}

Tile reduce(const Operand& x, ir::ReduceKind kind, int axis, bool keep_dims) {
  OperationUse site("reduce", x.where);
  Tile tile = site.tile(x);
  int place = site.axis(axis, tile.shape().rank());
  Tile result = site.append(Op::reduce_, {tile}, ir::Reduction{kind, place});
  return keep_dims ? site.append(Op::expand_dims_, {result}, ir::Axis{place}) : result;
}

Tile sum(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ir::ReduceKind::sum, axis, keep_dims);
}
Tile max(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ir::ReduceKind::max, axis, keep_dims);
}
Tile min(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ir::ReduceKind::min, axis, keep_dims);
}

void form_clusters(int programs, std::source_location where) {
  Tracer::current("form_clusters", where).set_cluster(programs);
}

Tile cluster_reduce(const Operand& x, ir::ReduceKind kind) {
  OperationUse site("cluster_reduce", x.where);
  return site.append(Op::cluster_reduce_, {site.tile(x)}, ir::Reduction{kind, 0});
}

}  // namespace tilewright::dsl
