#include "graph/compile/recompilation_policy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace tilewright::graph {

constexpr std::size_t most_named = 3;  // signatures, of those that are compiled

bool RecompilationPolicy::may_compile(const Call& call, const std::vector<Difference>& why,
                                      std::uint64_t number) const {
  const Stance now = stance();
  const bool is_declared = !why.empty() && std::ranges::all_of(why, &Difference::is_declared);
  if (now == Stance::compile || is_declared) return true;
  if (now == Stance::eager_then_compile) return number > 1;
  require(now != Stance::fail_on_recompile,
          "[compile] the stance is fail_on_recompile, and no "
          "plan fits the call (",
          to_string(signature_of(call.arguments, options.device)), "): ",
          why.empty() ? "the function was not compiled before"
                      : Recompilation{.differences = why}.sentence(),
          "; make this call once before the stance is set");
  return false;
}

// True if an axis has one element, or none, in the call alone.
static bool is_of_one(const Call& call, const Signature& known) {
  for (std::size_t i = 0; i < known.size() && i < call.arguments.size(); ++i) {
    const Shape &now = call.arguments[i].shape(), &before = known[i].shape;
    for (int axis = 0; axis < now.rank() && axis < before.rank(); ++axis)
      if (now[axis] <= 1 && before[axis] > 1) return true;
  }
  return false;
}

// Says if there will be calls of other sizes, as far as that is declared: one dynamic axis means
// that there will, and static ones alone that there will not.
std::optional<bool> RecompilationPolicy::sizes_change(const Call& call) const {
  if (declared.empty()) return std::nullopt;
  bool all_stay = true;
  const std::vector<std::string> names = names_of(call.describe());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::optional<bool> change = declared.change(names[i], call.arguments[i].shape());
    if (change == true) return true;
    all_stay = all_stay && change == false;
  }
  return all_stay ? std::optional(false) : std::nullopt;
}

// As long as the table has room, plans are for one size where the clock chooses blocks, on GPUs
// (their programs are for one size), and for one row, such as a step of decoding after a prompt.
bool RecompilationPolicy::is_for_many_sizes(const Call& call,
                                            const std::vector<Difference>& why) const {
  if (std::optional<bool> change = sizes_change(call)) return *change;
  if (options.dynamic != Dynamic::automatic) return options.dynamic == Dynamic::always;
  // Plans of both kinds may add up in different orders, of attention for example.
  if (resolved.plan.row_invariant && !resolved.plan.device.target().is_gpu()) return true;
  if (!are_sizes_alone(why)) return false;
  const bool is_for_one =
      resolved.plan.tune || resolved.plan.device.target().is_gpu() ||
      std::ranges::all_of(table.entries(), [&](const SignatureTable::Entry& entry) {
        return is_of_one(call, entry.signature->signature());
      });
  return !is_for_one || is_full();
}

std::optional<std::size_t> RecompilationPolicy::place_for(const Call& call, bool sizes_vary) const {
  if (sizes_vary)
    return table.count(true) < options.max_sizes ? table.entries().size()
                                                 : table.least_recent(true);
  if (!is_full()) return table.entries().size();
  switch (options.past_limit) {
    case PastLimit::error: raise_too_many(call);
    case PastLimit::replace_oldest: return table.least_recent(false);
    case PastLimit::eager: return std::nullopt;
  }
  __builtin_unreachable();
}

void RecompilationPolicy::raise_too_many(const Call& call) const {
  const Signature signature = signature_of(call.arguments, options.device);
  const ArgumentForm form = call.describe();
  std::string text = concat("[compile] ", options.max_signatures,
                            " signatures are compiled, which is the limit; this call, (",
                            to_string(signature), "), is another one:");
  bool is_of_sizes = false;  // that Dynamic::never has compiled one by one
  std::size_t named = 0, others = 0;
  for (const SignatureTable::Entry& known : table.entries()) {
    if (known.sizes_vary) continue;
    std::vector<Difference> those = differences(*known.signature, signature, form, declared);
    is_of_sizes = is_of_sizes || are_sizes_alone(those);
    if (named == most_named && ++others > 0) continue;
    ++named;
    text += concat("\n  (", to_string(known.signature->signature()),
                   "): ", Recompilation{.differences = std::move(those)}.sentence());
  }
  if (others > 0) text += concat("\n  and ", others, " more");
  raise_error(concat(text, "\npass arguments of the same dtypes, shapes and strides, ",
                     is_of_sizes ? "declare sizes that change with mark_dynamic, " : "",
                     "raise Options::max_signatures, or choose another Options::past_limit."));
}

}  // namespace tilewright::graph
