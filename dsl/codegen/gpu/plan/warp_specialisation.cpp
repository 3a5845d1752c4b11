#include "dsl/codegen/gpu/plan/warp_specialisation.h"

#include <algorithm>

#include "dsl/analysis/program_dependence.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int most_ring_stages = 6;
constexpr int enough_stages = 4;
constexpr int swizzled_rows = 8;                  // that the pattern of a swizzle repeats after
constexpr std::int64_t barrier_bytes = 1024;      // of all rings
constexpr std::int64_t scratch_bytes = 16 << 10;  // left to reductions and changes of layout
// Accumulators and operands in registers, in 32-bit words; the rest is for everything else.
constexpr std::int64_t most_words = 176;

// Plans what nothing is decided for, or follows what is decided.
class SpecialisationPlanner {
 public:
  SpecialisationPlanner(const ir::Function& function, const Uses& uses,
                        const std::vector<ScalarFacts>& facts, const Target& target)
      : function_(function), uses_(uses), facts_(facts), target_(target) {
    roles_.produced.assign(function.types.size(), false);
  }

  // Plans for clusters of programs that are neighbours along an axis; false if there is no more
  // than one program along it.
  bool share_along(int axis) {
    roles_.cluster = function_.cluster;
    roles_.cluster_axis = axis;
    differs_ = depends_on_program(function_, axis);
    return std::ranges::find(differs_, true) != differs_.end();
  }
  std::int64_t shared_bytes() const { return shared_bytes_; }

  std::optional<WarpSpecialisation> run() {
    if (!has_copies_and_warpgroups() || !find_products()) return std::nullopt;
    if (!is_decided() && !fits_registers()) return std::nullopt;
    if (!collect(function_.body) || fetched_products_ != products_.size()) return std::nullopt;
    if (!produce_what_decides(function_.body)) return std::nullopt;
    find_stores();
    if (roles_.cluster > 1 && !can_share()) return std::nullopt;
    find_alternating();
    if (!place()) return std::nullopt;
    return std::move(roles_);
  }

 private:
  bool is_decided() const { return function_.roles.has_value(); }
  bool may_be_staged(const Inst& load) const { return !is_decided() || load.schedule.staged; }

  bool has_copies_and_warpgroups() const {
    return target_.gpu().has_tensor_copies && target_.gpu().has_warpgroup_products;
  }
  // All products have 64 or 128 rows, or there are no roles.
  bool find_products() {
    std::int64_t rows = 0;
    bool alike = true;
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      // Which all threads take part in, or how often nobody knows but those that compute.
      alike = alike && inst.op != Op::cluster_reduce_ && !ir::ends_by_condition(inst);
      if (inst.op != Op::dot_) return;
      products_.push_back(&inst);
      std::int64_t here = physical_shape(function_.type(inst.results[0]).shape)[0];
      alike = alike && (rows == 0 || rows == here);
      rows = here;
    });
    if (!alike || (rows != 64 && rows != 128)) return false;
    roles_.consumer_warps = static_cast<int>(rows / 16);
    if (is_decided() && roles_.consumer_warps != function_.warps) return false;
    return std::ranges::all_of(products_, [&](const Inst* dot) {
      auto how = tensor_core_dot(function_, *dot, roles_.consumer_warps, target_);
      return how && how->warpgroups;
    });
  }

  // The load that an operand is, as it is or with axes exchanged; null if it is none.
  const Inst* load_of(Value operand) const {
    const Inst* inst = uses_.definition(operand);
    if (inst != nullptr && inst->op == Op::permute_) inst = uses_.definition(inst->operands[0]);
    return inst != nullptr && inst->op == Op::load_desc_ ? inst : nullptr;
  }

  // True if a product adds to the result of another of the same block, in the same registers.
  bool continues_a_product(const Inst& dot) const {
    const Inst* inst = uses_.definition(dot.operands[2]);
    while (inst != nullptr && ir::info(inst->op).op_class == ir::OpClass::elementwise)
      inst = uses_.definition(inst->operands[0]);
    return inst != nullptr && inst->op == Op::dot_;
  }

  // For the products of one block of code, all of which may be under way.
  bool fits_registers() const {
    std::int64_t most = 0;
    auto count = [&](const ir::Block& block) {
      std::int64_t sums = 0, left_words = 0;
      for (const Inst& inst : block.insts) {
        if (inst.op != Op::dot_) continue;
        if (!continues_a_product(inst))
          sums += physical_shape(function_.type(inst.results[0]).shape)[1] / 2;
        const ir::Type& left = function_.type(inst.operands[0]);
        if (load_of(inst.operands[0]) == nullptr)
          left_words =
              std::max(left_words, physical_shape(left.shape)[1] * size_bytes(left.dtype) / 8);
      }
      most = std::max(most, sums + left_words);
    };
    count(function_.body);
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      for (const ir::Block& body : inst.bodies) count(body);
    });
    return most <= most_words;
  }

  // Rings, for the products and loads that stand in the same block.
  bool collect(const ir::Block& block) {
    for (const Inst& inst : block.insts) {
      for (const ir::Block& body : inst.bodies)
        if (!collect(body)) return false;
      if (inst.op == Op::load_desc_ && is_invariant_operand(inst) && may_be_staged(inst)) {
        Fetch fetch{&inst};
        if (!stage(inst, inst.results[0], false, fetch)) return false;
        roles_.fetches.push_back(std::move(fetch));
      }
      if (inst.op != Op::dot_) continue;
      Fetch fetch{&inst};
      for (int i : {0, 1}) stage(inst, i, block, fetch);
      bool has_right = std::ranges::any_of(
          fetch.loads, [&](const StagedLoad& load) { return load.operand == inst.operands[1]; });
      // A left operand that the consumers had to load turn by turn would keep them waiting.
      const Inst* left = load_of(inst.operands[0]);
      bool has_left = fetch.loads.size() == 2 || left == nullptr || is_invariant_operand(*left);
      if (!has_left || !has_right) return false;
      fetch.deferred = products_in(block) == 1 && fetch.loads.size() == 2 &&
                       only_accumulates(uses_, inst, block);
      if (is_decided()) {
        if (inst.schedule.deferred && !fetch.deferred) return false;
        fetch.deferred = inst.schedule.deferred;
      }
      roles_.fetches.push_back(std::move(fetch));
      ++fetched_products_;
    }
    return true;
  }

  static int products_in(const ir::Block& block) {
    return static_cast<int>(std::ranges::count(block.insts, Op::dot_, &Inst::op));
  }

  void stage(const Inst& dot, int index, const ir::Block& block, Fetch& fetch) {
    Value value = dot.operands[static_cast<std::size_t>(index)];
    const Inst* load = load_of(value);
    if (load == nullptr || !is_in(block, load) || is_invariant_operand(*load) ||
        !may_be_staged(*load))
      return;
    auto operand = product_operand(uses_, *load);
    if (!operand) return;
    bool rows_along_k = (index == 0) != operand->transposed;
    if (size_bytes(function_.type(value).dtype) != 2 && !rows_along_k) return;
    stage(*load, value, operand->transposed, fetch);
  }

  // Adds a load to what is fetched, if TMA can.
  bool stage(const Inst& load, Value operand, bool transposed, Fetch& fetch) {
    const Inst* desc = uses_.definition(load.operands[0]);
    if (desc == nullptr || uses_.is_written(uses_.base(load.operands[0]))) return false;
    const ir::Type& type = function_.type(load.results[0]);
    if (type.shape.rank() != 2 || physical_shape(type.shape) != type.shape) return false;
    int bytes = static_cast<int>(size_bytes(type.dtype));
    std::int64_t row_bytes = type.shape[1] * bytes;
    if (row_bytes < 32) return false;
    int swizzle = static_cast<int>(std::min<std::int64_t>(128, row_bytes));
    auto copy =
        tensor_copy(function_, uses_, facts_, *desc, type.shape[0], swizzle / bytes, swizzle);
    if (!copy) return false;
    copy->map.rounds_to_tf32 = type.dtype == DType::f32;
    auto shared = layout::SharedLayout::tma(type.shape, bytes, swizzle);
    fetch.copied_bytes += shared.size_bytes();
    std::int64_t size = (shared.size_bytes() + 1023) / 1024 * 1024;
    fetch.loads.push_back({&load, operand, transposed, std::move(shared), fetch.stage_bytes});
    fetch.stage_bytes += size;
    bool is_shared = is_common(load, *copy);
    if (is_shared) {
      copy->map.box[1] /= roles_.cluster;
      shared_bytes_ += size;
    }
    fetch.copies.push_back({add_map(copy->map), std::move(copy->outer), is_shared});
    return true;
  }

  // True if all programs of a cluster take the same block, in parts that a swizzle keeps apart.
  bool is_common(const Inst& load, const TensorCopy& copy) const {
    auto is_same = [&](Value value) { return !differs_[value]; };
    return roles_.cluster > 1 && copy.map.box[1] % (swizzled_rows * roles_.cluster) == 0 &&
           std::all_of(load.operands.begin() + 1, load.operands.end(), is_same) &&
           std::ranges::all_of(copy.outer, is_same);
  }

  // Something is shared, all blocks fetch equally often, and a program that is gone through again
  // leaves no trace: all it writes are boxes, which can be left out.
  bool can_share() const {
    bool fine = shared_bytes_ > 0;
    std::size_t writes = 0;
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      if (ir::info(inst.op).effect == ir::Effect::writes || inst.op == Op::print_) ++writes;
      if (inst.bodies.empty() || !has_work(inst)) return;
      std::size_t deciding = inst.op == Op::loop_ ? 3 : 1;
      for (std::size_t i = 0; i < deciding; ++i) fine = fine && !differs_[inst.operands[i]];
    });
    return fine && writes == roles_.stores.size();
  }

  // True if a loaded block is the left operand of products only, of several or of one in a loop.
  bool is_invariant_operand(const Inst& load) const {
    const auto& users = uses_.users(load.results[0]);
    bool only_left = !users.empty() && std::ranges::all_of(users, [&](const Inst* user) {
      return user->op == Op::dot_ && user->operands[0] == load.results[0] &&
             user->operands[1] != load.results[0];
    });
    return only_left && (users.size() > 1 || !stand_together(load, *users[0]));
  }
  bool stand_together(const Inst& a, const Inst& b) const {
    bool found = is_in(function_.body, &a) && is_in(function_.body, &b);
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      for (const ir::Block& body : inst.bodies)
        found = found || (is_in(body, &a) && is_in(body, &b));
    });
    return found;
  }

  int add_map(const TensorMapSpec& map) {
    auto found = std::ranges::find(roles_.maps, map);
    if (found == roles_.maps.end()) found = roles_.maps.insert(found, map);
    return static_cast<int>(found - roles_.maps.begin());
  }

  bool has_work(const Inst& inst) const {
    bool found = std::ranges::any_of(
        inst.results, [&](Value result) { return static_cast<bool>(roles_.produced[result]); });
    for (const ir::Block& body : inst.bodies)
      for (const Inst& inner : body.insts) found = found || is_ring_load(inner) || has_work(inner);
    return found;
  }
  bool is_ring_load(const Inst& inst) const {
    for (const Fetch& fetch : roles_.fetches)
      for (const StagedLoad& load : fetch.loads)
        if (load.load == &inst) return true;
    return false;
  }

  // Marks what offsets of loads, and the bounds and conditions around them, are computed from.
  // False if that is more than scalars. Marking may give work to loops before; so again until
  // nothing is new.
  bool produce_what_decides(const ir::Block& body) {
    for (const Fetch& fetch : roles_.fetches)
      for (std::size_t i = 0; i < fetch.loads.size(); ++i) {
        const Inst& load = *fetch.loads[i].load;
        for (std::size_t k = 1; k < load.operands.size(); ++k)
          if (!produce(load.operands[k])) return false;
        for (Value index : fetch.copies[i].outer)
          if (!produce(index)) return false;
      }
    for (std::size_t before = 0; before != marked_;) {
      before = marked_;
      bool fine = true;
      ir::for_each_inst(body, [&](const Inst& inst) {
        if (inst.bodies.empty() || !has_work(inst)) return;
        std::size_t deciding = inst.op == Op::loop_ ? 3 : 1;
        for (std::size_t i = 0; i < deciding; ++i) fine = fine && produce(inst.operands[i]);
      });
      if (!fine) return false;
    }
    return true;
  }

  bool produce(Value value) {
    if (roles_.produced[value]) return true;
    const ir::Type& type = function_.type(value);
    if (!type.is_scalar()) return false;
    roles_.produced[value] = true;
    ++marked_;
    if (const Inst* inst = uses_.definition(value)) return produce_operands(*inst, value);
    // A parameter of the function, or of a loop.
    bool fine = true;
    ir::for_each_inst(function_.body, [&](const Inst& loop) {
      if (loop.op != Op::loop_) return;
      const ir::Block& body = loop.bodies[0];
      for (std::size_t k = 0; k + 1 < body.params.size(); ++k)
        if (body.params[1 + k] == value)
          fine = fine && produce(loop.operands[3 + k]) && produce(body.insts.back().operands[k]) &&
                 produce(loop.results[k]);
    });
    return fine;
  }

  bool produce_operands(const Inst& inst, Value value) {
    std::size_t k =
        static_cast<std::size_t>(std::ranges::find(inst.results, value) - inst.results.begin());
    if (inst.op == Op::loop_)
      return produce(inst.operands[3 + k]) && produce(inst.bodies[0].params[1 + k]);
    if (inst.op == Op::if_)
      return std::ranges::all_of(inst.bodies, [&](const ir::Block& body) {
        return produce(body.insts.back().operands[k]);
      });
    ir::OpClass op_class = ir::info(inst.op).op_class;
    bool is_load = inst.op == Op::load_ && !uses_.is_written(uses_.base(inst.operands[0]));
    if (op_class != ir::OpClass::elementwise && op_class != ir::OpClass::creation && !is_load)
      return false;
    return std::ranges::all_of(inst.operands, [&](Value operand) { return produce(operand); });
  }

  // Stores of what products give, where nothing else touches the array.
  void find_stores() {
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      if (inst.op != Op::store_desc_ || (is_decided() && !inst.schedule.boxed)) return;
      const ir::Type& type = function_.type(inst.operands[1]);
      if (type.is_scalar() || type.shape.rank() != 2 || physical_shape(type.shape) != type.shape)
        return;
      std::int64_t bytes = size_bytes(type.dtype);
      if (type.shape[0] != 16 * roles_.consumer_warps || bytes < 2 || bytes > 4 ||
          type.shape[1] * bytes < 128)
        return;
      const Inst* desc = uses_.definition(inst.operands[0]);
      if (desc == nullptr || uses_.accesses(uses_.base(inst.operands[0])) != 1) return;
      auto copy = tensor_copy(function_, uses_, facts_, *desc, 64, 128 / bytes, 128);
      if (!copy) return;
      int map = add_map(copy->map);
      roles_.stores.push_back({&inst, {map, std::move(copy->outer)}});
    });
  }

  void find_alternating() {
    if (roles_.warpgroups() != 2) return;
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      if (inst.op == Op::loop_ && products_in(inst.bodies[0]) >= 2 &&
          (!is_decided() || inst.schedule.alternating))
        roles_.alternating.push_back(&inst);
    });
  }

  // Where rings, barriers and staging lie; false if two stages are too many.
  bool place() {
    // An operand that stays has stages of its own.
    std::int64_t each = 0, once = 0;
    for (Fetch& fetch : roles_.fetches) {
      bool is_product = fetch.at->op == Op::dot_;
      auto alike = std::ranges::find_if(roles_.rings, [&](const Ring& ring) {
        return is_product && ring.stages == 0 && ring.stage_bytes == fetch.stage_bytes;
      });
      fetch.ring = static_cast<std::size_t>(alike - roles_.rings.begin());
      if (alike == roles_.rings.end()) {
        roles_.rings.push_back({fetch.stage_bytes, is_product ? 0 : 1});
        (is_product ? each : once) += fetch.stage_bytes;
      }
      for (const BoxCopy& copy : fetch.copies) roles_.rings[fetch.ring].is_shared |= copy.is_shared;
    }
    std::int64_t staging = roles_.stores.empty() ? 0 : 2 * roles_.warpgroups() * staged_box_bytes;
    std::int64_t limit = shared_memory_limit(target_);
    // For blocks with one consumer, two share a multiprocessor.
    if (roles_.consumer_warps == 4) limit = limit / 2 - 1024;
    std::int64_t others = barrier_bytes + staging + once;
    if (needs_scratch()) others += scratch_bytes;
    const std::int64_t wished =
        function_.most_stages == 0 ? most_ring_stages : function_.most_stages;
    const std::int64_t most = is_decided() ? INT8_MAX : wished;
    auto stages_beside = [&](std::int64_t bytes) {
      return static_cast<int>(std::min(most, (limit - bytes) / each));
    };
    // An operand that stays has a second stage if that leaves enough for the others, or fits beside
    // them: so the next program's comes while this one's is still multiplied.
    int stages = stages_beside(others + once);
    if (is_decided() || stages < enough_stages) stages = stages_beside(others);
    if (is_decided()) {
      if (function_.roles->stages > stages) return false;
      stages = function_.roles->stages;
    }
    if (stages < 2) return false;
    roles_.stages = stages;
    const bool stays_twice = others + once + stages * each <= limit;
    std::int64_t at = 0;
    for (Ring& ring : roles_.rings) {
      if (ring.stages == 0)
        ring.stages = stages;
      else if (stays_twice)
        ring.stages = 2;
      ring.start = at;
      at += ring.stages * ring.stage_bytes;
    }
    roles_.staging = at;
    at += staging;
    for (Ring& ring : roles_.rings) {
      ring.barriers = at;
      at += 16 * ring.stages;
    }
    roles_.shared_bytes = (at + 127) / 128 * 128;
    return true;
  }

  // True if there is more to do than products and elementwise operations on them.
  bool needs_scratch() const {
    bool found = false;
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      bool loads = inst.op == Op::load_desc_ || inst.op == Op::load_;
      found = found || inst.op == Op::atomic_ ||
              (loads && !is_ring_load(inst) && !function_.type(inst.results[0]).is_scalar());
    });
    return found;
  }

  const ir::Function& function_;
  const Uses& uses_;
  const std::vector<ScalarFacts>& facts_;
  const Target& target_;
  WarpSpecialisation roles_;
  std::vector<const Inst*> products_;
  std::size_t marked_ = 0, fetched_products_ = 0;
  std::vector<bool> differs_;  // by value, between the programs of a cluster
  std::int64_t shared_bytes_ = 0;
};

}  // namespace

const Fetch* WarpSpecialisation::fetch_at(const Inst* inst) const {
  auto found = std::ranges::find(fetches, inst, &Fetch::at);
  return found == fetches.end() ? nullptr : &*found;
}

const TensorStore* WarpSpecialisation::store_of(const Inst* store) const {
  auto found = std::ranges::find(stores, store, &TensorStore::store);
  return found == stores.end() ? nullptr : &*found;
}

std::optional<WarpSpecialisation> plan_warp_specialisation(const ir::Function& function,
                                                           const Uses& uses,
                                                           const std::vector<ScalarFacts>& facts,
                                                           const Target& target) {
  std::optional<WarpSpecialisation> best;
  std::int64_t most = 0;
  for (int axis = 0; function.cluster > 1 && axis < 3; ++axis) {
    SpecialisationPlanner planner(function, uses, facts, target);
    if (!planner.share_along(axis)) continue;
    std::optional<WarpSpecialisation> roles = planner.run();
    if (!roles || planner.shared_bytes() <= most) continue;
    most = planner.shared_bytes();
    best = std::move(roles);
  }
  return best ? std::move(best) : SpecialisationPlanner(function, uses, facts, target).run();
}

namespace {

// True if all marks of a function have an effect: a mark without one would mislead its author.
bool keeps_all_marks(const ir::Function& function, const WarpSpecialisation& roles) {
  std::size_t loads = 0, deferred = 0, stores = 0, loops = 0;
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    loads += inst.schedule.staged ? 1 : 0;
    deferred += inst.schedule.deferred ? 1 : 0;
    stores += inst.schedule.boxed ? 1 : 0;
    loops += inst.schedule.alternating ? 1 : 0;
  });
  for (const Fetch& fetch : roles.fetches) {
    loads -= fetch.loads.size();
    deferred -= fetch.deferred ? 1 : 0;
  }
  return loads == 0 && deferred == 0 && stores == roles.stores.size() &&
         loops == roles.alternating.size();
}

}  // namespace

std::optional<WarpSpecialisation> warp_roles_of(const ir::Function& function, const Uses& uses,
                                                const std::vector<ScalarFacts>& facts,
                                                const Target& target) {
  if (!function.roles) return std::nullopt;
  SpecialisationPlanner planner(function, uses, facts, target);
  bool fits = !function.roles->cluster_axis || planner.share_along(*function.roles->cluster_axis);
  std::optional<WarpSpecialisation> roles = fits ? planner.run() : std::nullopt;
  require(roles && keeps_all_marks(function, *roles), "[codegen] @", function.name,
          " says that its warps have roles which ", target.cpu,
          " cannot give them; without roles, stages and marks in its schedules specialise_warps "
          "finds those that are possible");
  return roles;
}

}  // namespace tilewright::dsl::gpu
