#include "graph/compile/function_plans.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "graph/compile/options/nested_options.h"
#include "graph/compile/recompilation_policy.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

constexpr std::size_t most_recompilations = 64;  // that are kept
// Sizes of calls whose padding is remembered: far more than plans, since many sizes share a bucket,
// and a proof takes two captures.
constexpr std::size_t most_paddings = 1024;

FunctionPlans::FunctionPlans(Options options)
    : options_(std::move(options)),
      resolved_(resolve(options_)),
      resolved_for_sizes_(for_sizes_that_vary(resolved_)) {}

void FunctionPlans::move_to(const Device& device) {
  options_.device = device;
  resolved_ = resolve(options_);
  resolved_for_sizes_ = for_sizes_that_vary(resolved_);
  table_.clear();
  shared_.segments.clear();
}

std::optional<TensorResults> FunctionPlans::call(const Call& call, std::int64_t times,
                                                 bool is_measured, LoggedValues& logged) {
  ++calls_;
  const OptionsOfCall scope(options_);
  std::vector<Tensor> longer;
  const PaddedCalls::Known* padding = padding_of(call, longer);
  const Call given{call.function, padding ? longer : call.arguments, call.form, call.describe};
  SignatureTable::Entry* entry = entry_for(given, logged);
  if (entry == nullptr) return std::nullopt;
  entry->used = calls_;
  auto is_nth = [&](int n) { return n > 0 && calls_ % static_cast<std::uint64_t>(n) == 0; };
  if (is_nth(options_.verify_capture)) entry->signature->verify_capture(call.function);
  if (is_nth(options_.verify_gradients))
    entry->signature->verify_gradients(given.arguments, calls_);
  std::vector<Tensor> before;
  if (options_.detect_nan) before = entry->signature->inputs_before(given.arguments);
  TensorResults results = entry->signature->call(given, times, is_measured, logged);
  if (shared_.segments.has_unkept()) [[unlikely]]
    tell_unkept(shared_.segments.take_unkept());
  if (padding) cut(results.tensors, padding->results);
  if (options_.detect_nan) entry->signature->require_no_nan(results.tensors, before);
  return results;
}

MemoryReport FunctionPlans::memory(const Call& call, LoggedValues& logged) {
  const OptionsOfCall scope(options_);
  std::vector<Tensor> longer;
  const PaddedCalls::Known* padding = padding_of(call, longer);
  const Call given{call.function, padding ? longer : call.arguments, call.form, call.describe};
  const SignatureTable::Entry* entry = entry_for(given, logged);
  require(
      entry != nullptr,
      "[memory] calls with these arguments run op by op, past the limit of signatures, which is ",
      options_.max_signatures, "; a greater Options::max_signatures would be right");
  const PlanReport report = entry->signature->report();
  require(report.graph_break.empty(),
          "[memory] the function runs in segments, since it breaks: ", report.graph_break,
          "; Options::fullgraph names the break");
  return report.memory;
}

// Pads the call's arguments where buckets were declared and that changes no result; null: it is
// what it is.
const PaddedCalls::Known* FunctionPlans::padding_of(const Call& call, std::vector<Tensor>& longer) {
  const PaddedCalls::Known* known =
      paddings_.known(call, declared_, options_.device, most_paddings);
  const std::string obstacle = paddings_.take_obstacle();
  if (!obstacle.empty() && options_.tell_breaks) [[unlikely]]
    log_line(concat("[compile] a call is not padded, and compiled for its own size, ", obstacle,
                    "; mark that axis without buckets, so that the others are padded, or pad and "
                    "mask it before the call"));
  if (known != nullptr) longer = padded(call.arguments, known->arguments);
  return known;
}

// Takes over what the call's tensors are marked with. Raises `Error` for a size that is none of
// those declared.
void FunctionPlans::look_at_sizes(const Call& call, SignatureTable::Entry* known) {
  if (declared_.knows(call.arguments, known ? known->sizes : SignatureSizes())) [[likely]]
    return;
  const std::vector<std::string> names = names_of(call.describe());
  declared_.take_all(names, call.arguments);
  SignatureSizes looked_at = declared_.looked_at(names, call.arguments);
  if (known) known->sizes = std::move(looked_at);
}

// The signature of the call, compiled where it is new or a handle stands for something else; null:
// the call is to run op by op.
SignatureTable::Entry* FunctionPlans::entry_for(const Call& call, LoggedValues& logged) {
  table_.look_at_changes();
  SignatureTable::Entry* known = table_.find(call);
  look_at_sizes(call, known);
  if (known != nullptr && (!known->signature->is_doubtful() ||
                           known->signature->rebind(call, options_of(known->sizes_vary), logged)))
      [[likely]]
    return known;
  std::vector<Difference> why;
  if (known != nullptr)
    why = {{.reason = RecompileReason::handle,
            .found =
                "a tensor or a value that the function uses stands for something else now, and "
                "with it the function computes something else"}};
  else
    why = table_.nearest(call, options_.device, declared_);
  const RecompilationPolicy policy{options_, resolved_, declared_, table_};
  if (!policy.may_compile(call, why, calls_)) return nullptr;
  if (known != nullptr)
    return compile(call, table_.latest(), std::move(why), known->sizes_vary, logged);
  const bool sizes_vary = policy.is_for_many_sizes(call, why);
  const std::optional<std::size_t> place = policy.place_for(call, sizes_vary);
  if (place) return compile(call, *place, std::move(why), sizes_vary, logged);
  tell_limit(call);
  return nullptr;
}

void FunctionPlans::tell_limit(const Call& call) {
  if (std::exchange(has_told_limit_, true)) return;
  log_line(concat("[compile] ", options_.max_signatures,
                  " signatures are compiled, which is the limit: calls of others, as of (",
                  to_string(signature_of(call.arguments, options_.device)),
                  "), run op by op, as Options::past_limit says"));
}

void FunctionPlans::tell_unkept(const std::vector<UnkeptOption>& unkept) {
  for (const UnkeptOption& each : unkept) {
    const bool is_first = told_options_.insert(each.option).second;
    if (is_first && options_.tell_unkept)
      log_line(concat("[compile] Options::", each.option, " does not hold: ", each.sentence,
                      "; explain() names all such places, Options::tell_unkept ends this"));
  }
}

void FunctionPlans::note_unsearched() const {
  if (resolved_.plan.tune && (resolved_.plan.tune->searches || resolved_.searches_in_background))
    UnkeptOptions::note(resolved_.searches_in_background ? "tune_in_background" : "mode",
                        "block configurations are not searched for in plans for sizes that "
                        "change; mark_static or Dynamic::never ask for plans of one size");
}

static void log_compiled(const CompiledSignature& compiled, const std::string& signature) {
  const std::string guards = compiled.guards_text();
  if (!guards.empty() && is_logged(LogTopic::guards))
    log_line(concat("[compile] guards of (", signature, "):\n", guards));
  if (is_logged(LogTopic::fusion)) log_line(concat("[compile] ", explain(compiled.report())));
}

SignatureTable::Entry* FunctionPlans::compile(const Call& call, std::size_t place,
                                              std::vector<Difference> why, bool sizes_vary,
                                              LoggedValues& logged) {
  const auto begin = std::chrono::steady_clock::now();
  UnkeptOptions found;
  if (sizes_vary) note_unsearched();
  auto made = std::make_unique<CompiledSignature>(call, options_of(sizes_vary), shared_, logged);
  std::vector<UnkeptOption> unkept = found.take();
  tell_unkept(unkept);
  made->set_unkept(std::move(unkept));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  SignatureTable::Entry& entry = table_.put(place, {std::move(made), calls_, sizes_vary});
  const std::string signature = to_string(entry.signature->signature());
  if (!why.empty()) {
    if (recompilations_.size() == most_recompilations)
      recompilations_.erase(recompilations_.begin());
    recompilations_.push_back({signature, std::move(why), seconds.count()});
    if (is_logged(LogTopic::recompiles))
      log_line(concat("[compile] recompiled for (", signature,
                      "): ", recompilations_.back().sentence()));
  }
  log_compiled(*entry.signature, signature);
  return &entry;
}

// The declared sizes of the signature's arguments, a line each.
static std::string sizes_text(const DeclaredSizes& declared, const CompiledSignature& signature) {
  std::string text;
  for (std::size_t i = 0; i < signature.form().places.size(); ++i) {
    const std::string& argument = signature.form().places[i].text;
    const std::string sizes = declared.text(argument, signature.signature()[i].shape);
    if (!sizes.empty()) text += concat("    ", argument, ": ", sizes, "\n");
  }
  return text;
}

std::vector<PlanReport> FunctionPlans::report() const {
  std::vector<PlanReport> reports;
  for (const SignatureTable::Entry& entry : table_.entries()) {
    reports.push_back(entry.signature->report());
    reports.back().sizes_vary = entry.sizes_vary;
    reports.back().sizes.insert(0, sizes_text(declared_, *entry.signature));
    const std::string padding = paddings_.text(entry.signature->signature());
    if (!padding.empty()) reports.back().sizes += concat("    ", padding, "\n");
  }
  count_plans_of_programs(reports);
  std::ranges::move(shared_.segments.report(), std::back_inserter(reports));
  return reports;
}

void FunctionPlans::add_to(PackageMaker& package) const {
  require(is_captured(),
          "[save_package] the backend is eager, which compiles nothing; compile the function with "
          "Backend::tilewright");
  for (const SignatureTable::Entry& entry : table_.entries()) entry.signature->add_to(package);
}

std::string FunctionPlans::dump() const {
  std::string text;
  for (const SignatureTable::Entry& entry : table_.entries()) text += entry.signature->dump();
  return text + shared_.segments.dump();
}

std::vector<std::shared_ptr<const BackgroundPlan>> FunctionPlans::tunings() const {
  std::vector<std::shared_ptr<const BackgroundPlan>> tunings = shared_.segments.tunings();
  for (const SignatureTable::Entry& entry : table_.entries())
    if (auto tuning = entry.signature->tuning()) tunings.push_back(std::move(tuning));
  return tunings;
}

}  // namespace tilewright::graph
