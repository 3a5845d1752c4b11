#include "tests/layout/verify_conversion.h"

#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

constexpr std::int64_t nothing = -1;

// The registers of all threads.
class Registers {
 public:
  Registers(int threads, int registers)
      : count_(registers), values_(static_cast<std::size_t>(threads * registers), nothing) {}
  std::int64_t& at(int thread, int reg) {
    check(reg >= 0 && reg < count_, "no such register");
    return values_.at(static_cast<std::size_t>(thread * count_ + reg));
  }

 private:
  int count_;
  std::vector<std::int64_t> values_;
};

// The number of the element in every register of every thread.
Registers elements_of(const Layout& layout) {
  int threads = layout.lanes() * layout.warps();
  BitMatrix matrix = layout.matrix();
  Registers elements(threads, layout.registers());
  for (int thread = 0; thread < threads; ++thread)
    for (int reg = 0; reg < layout.registers(); ++reg)
      elements.at(thread, reg) = static_cast<std::int64_t>(
          matrix.apply(static_cast<std::uint64_t>(thread * layout.registers() + reg)));
  return elements;
}

std::string run_exchanges(const Conversion& plan, int lanes, int threads, Registers& source,
                          Registers& target) {
  for (const Exchange& exchange : plan.exchanges) {
    std::vector<std::int64_t> given;
    for (int thread = 0; thread < threads; ++thread)
      given.push_back(source.at(thread, exchange.give.at(thread)));
    for (int thread = 0; thread < threads; ++thread) {
      int lane = exchange.source_lane.at(thread);
      if (lane < 0 || lane >= lanes) return "takes from a lane that is not there";
      if (!exchange.moves_lanes && lane != thread % lanes) return "moves though it says not";
      if (exchange.skip.at(thread) != 0) continue;
      std::int64_t& kept = target.at(thread, exchange.keep.at(thread));
      if (kept != nothing) return "fills a register twice";
      kept = given[static_cast<std::size_t>(thread / lanes * lanes + lane)];
    }
  }
  return "";
}

std::string run_shared(int threads, const Conversion& plan, Registers& source, Registers& wanted,
                       Registers& target) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(plan.shared->size_bytes()), nothing);
  int bytes = plan.shared->element_bytes();
  // The address of an access, by the element that its first register holds.
  auto address = [&](Registers& elements, const std::vector<int>& access, int thread) {
    return bytes * plan.shared->element_order().apply(
                       static_cast<std::uint64_t>(elements.at(thread, access[0])));
  };
  auto is_aligned = [&](std::size_t byte, int vector, const std::vector<int>& access) {
    return static_cast<int>(access.size()) == vector &&
           byte % static_cast<std::size_t>(bytes * vector) == 0;
  };
  for (const auto& access : plan.writes)
    for (int thread = 0; thread < threads; ++thread) {
      std::size_t byte = address(source, access, thread);
      if (!is_aligned(byte, plan.write_vector, access)) return "writes out of alignment";
      for (int reg : access) {
        memory.at(byte) = source.at(thread, reg);
        byte += static_cast<std::size_t>(bytes);
      }
    }
  for (const auto& access : plan.reads)
    for (int thread = 0; thread < threads; ++thread) {
      std::size_t byte = address(wanted, access, thread);
      if (!is_aligned(byte, plan.read_vector, access)) return "reads out of alignment";
      for (int reg : access) {
        target.at(thread, reg) = memory.at(byte);
        byte += static_cast<std::size_t>(bytes);
      }
    }
  return "";
}

}  // namespace

std::string verify_conversion(const Layout& from, const Layout& to, const Conversion& plan) {
  int threads = from.lanes() * from.warps();
  Registers source = elements_of(from), wanted = elements_of(to);
  Registers target(threads, to.registers());
  std::string wrong;
  if (plan.kind == Conversion::Kind::shuffle)
    wrong = run_exchanges(plan, from.lanes(), threads, source, target);
  if (plan.kind == Conversion::Kind::shared)
    wrong = run_shared(threads, plan, source, wanted, target);
  if (!wrong.empty()) return wrong;

  for (int thread = 0; thread < threads; ++thread)
    for (int reg = 0; reg < to.registers(); ++reg) {
      auto at = static_cast<std::size_t>(reg);
      std::int64_t got = nothing;
      switch (plan.kind) {
        case Conversion::Kind::none: got = source.at(thread, reg); break;
        case Conversion::Kind::registers:
          got = source.at(thread, plan.source_register.at(at));
          break;
        case Conversion::Kind::shuffle:
        case Conversion::Kind::shared: got = target.at(thread, plan.duplicate_of.at(at)); break;
      }
      if (got != wanted.at(thread, reg))
        return concat("register ", reg, " of thread ", thread, " holds ", got, ", not ",
                      wanted.at(thread, reg));
    }
  return "";
}

}  // namespace tilewright::dsl::layout
