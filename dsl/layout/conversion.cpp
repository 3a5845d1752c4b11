#include "dsl/layout/conversion.h"

#include <memory>

#include "dsl/layout/banks.h"
#include "runtime/base/error.h"
#include "runtime/base/thread_end.h"

namespace tilewright::dsl::layout {
namespace {

// With more selections among registers before and after shuffles than this, shared memory and its
// barriers are faster. For 16 registers, of which a lane may give any and keep any, there would be
// 480.
constexpr int most_selections = 128;

int selections(const std::vector<Exchange>& exchanges) {
  auto choices = [](const Affine& which) {
    std::vector<std::uint64_t> terms(which.terms.begin(), which.terms.end());
    return (1 << BitMatrix(32, terms).rank()) - 1;
  };
  int count = 0;
  for (const Exchange& exchange : exchanges)
    count +=
        choices(exchange.give) + (exchange.keep.is_constant() ? 0 : choices(exchange.keep) + 1);
  return count;
}

Conversion through_shared(const Layout& from, const Layout& to, int element_bytes) {
  Conversion plan{.kind = Conversion::Kind::shared};
  plan.shared = choose_swizzle(from, to, element_bytes);
  plan.write_vector = widest_access(from, *plan.shared);
  plan.read_vector = widest_access(to, *plan.shared);
  plan.writes = accesses(from, *plan.shared, plan.write_vector);
  plan.reads = accesses(to, *plan.shared, plan.read_vector);
  plan.duplicate_of = first_duplicates(to);
  return plan;
}

Conversion planned(const Layout& from, const Layout& to, int element_bytes) {
  auto sources = sources_in_warp(from, to);
  if (!sources) return through_shared(from, to, element_bytes);
  if (sources->in_place()) {
    Conversion plan{.kind = Conversion::Kind::registers};
    std::vector<int> terms = registers_of(sources->of_register);
    for (int target = 0; target < to.registers(); ++target)
      plan.source_register.push_back(sum_over(terms, static_cast<std::uint64_t>(target)));
    return plan;
  }
  auto exchanges = plan_exchanges(from, to, *sources);
  if (!exchanges || selections(*exchanges) > most_selections)
    return through_shared(from, to, element_bytes);
  Conversion plan{.kind = Conversion::Kind::shuffle};
  plan.exchanges = std::move(*exchanges);
  plan.duplicate_of = first_duplicates(to);
  return plan;
}

// The latest plans of a thread. The passes that insert conversions, allocate memory for them and
// emit them all ask for the same ones, and finding a swizzle takes a search.
class Plans {
 public:
  const Conversion& of(const Layout& from, const Layout& to, int element_bytes) {
    for (const Entry& entry : entries_)
      if (entry.element_bytes == element_bytes && entry.from == from && entry.to == to)
        return entry.plan;
    Entry entry{from, to, element_bytes, planned(from, to, element_bytes)};
    if (entries_.size() < most) return entries_.emplace_back(std::move(entry)).plan;
    oldest_ = (oldest_ + 1) % most;
    return (entries_[oldest_] = std::move(entry)).plan;
  }

 private:
  static constexpr std::size_t most = 32;
  struct Entry {
    Layout from, to;
    int element_bytes;
    Conversion plan;
  };
  std::vector<Entry> entries_;
  std::size_t oldest_ = most - 1;
};

void forget(void* plans) { delete static_cast<Plans*>(plans); }
const ThreadEnd end_of_thread(forget);
constinit thread_local Plans* plans_of_thread = nullptr;

Plans& own_plans() {
  if (plans_of_thread == nullptr) {
    auto plans = std::make_unique<Plans>();
    end_of_thread.note(plans.get());
    plans_of_thread = plans.release();
  }
  return *plans_of_thread;
}

}  // namespace

Conversion plan_conversion(const Layout& from, const Layout& to, int element_bytes) {
  check(from.shape() == to.shape(), "a conversion keeps the shape");
  check(from.lanes() == to.lanes() && from.warps() == to.warps(), "a conversion keeps the threads");
  if (from == to) return {};
  return own_plans().of(from, to, element_bytes);
}

}  // namespace tilewright::dsl::layout
