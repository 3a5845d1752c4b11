#include "graph/compile/compiled_signature.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/compile/captures/verify_gradients.h"
#include "graph/compile/segments/segmented_call.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/tensor/handle_changes.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {

static std::string at_line(const Break& at) {
  if (!at.node.empty()) return " in " + at.node;
  return at.where.line() > 0 ? " at " + describe(at.where) : "";
}

static void note_not_looked_at(const ResolvedOptions& options) {
  constexpr const char* reason =
      "a function whose graph breaks runs in segments, which are not looked into; "
      "Options::fullgraph names the break";
  if (options.verifies_gradients) UnkeptOptions::note("verify_gradients", reason);
  if (options.detects_nan) UnkeptOptions::note("detect_nan", reason);
}

CompiledSignature::CompiledSignature(const Call& call, const ResolvedOptions& options,
                                     SharedBySignatures& shared, LoggedValues& logged)
    : signature_(signature_of(call.arguments, options.plan.device)),
      form_(call.describe()),
      shared_(shared),
      tells_breaks_(options.tells_breaks) {
  form_.key = call.form;
  std::optional<CapturedFunction> captured;
  try {
    captured = capture(call, options, logged);
  } catch (const GraphBreak& error) {
    raise_error(concat("[compile] the function ", error.at.reason, at_line(error.at),
                       options.breaks_are_errors
                           ? ", which breaks the graph, but fullgraph was asked for; "
                           : ", where a graph cannot break, as in the body of a loop or branch; ",
                       error.what()));
  }
  if (captured) make_whole(*std::move(captured), call, options);
}

void CompiledSignature::make_whole(CapturedFunction captured, const Call& call,
                                   const ResolvedOptions& options) {
  TraceSpan span("compile", "plan");
  guards_ = Guards(std::move(captured.guards));
  whole_ = std::make_unique<WholeFunction>(
      std::move(captured), CompiledFor{signature_, names_of(form_), call.arguments, {}}, options,
      shared_.arenas);
  if (whole_->writes_inputs() && !options.breaks_are_errors && sharing_ == nullptr)
    sharing_ = std::make_unique<SegmentedFunction>(shared_.segments, options);
}

// None: the function breaks, and has run with the call's arguments.
std::optional<CapturedFunction> CompiledSignature::capture(const Call& call,
                                                           const ResolvedOptions& options,
                                                           LoggedValues& logged) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t changes = handle_changes().count();
  TraceSpan span("compile", "capture");
  auto attempt = std::make_unique<SegmentedFunction>(shared_.segments, options);
  CapturedResults results;
  std::vector<Guard> guards;
  std::optional<Captured> captured = attempt->attempt(call, signature_, results, guards, logged);
  if (!captured) {
    guards_ = Guards(std::move(guards));
    const bool is_sharing = attempt->breaks_for_sharing();
    is_doubtful_ = is_sharing;
    whole_ = nullptr;
    std::unique_ptr<SegmentedFunction>& place = is_sharing ? sharing_ : segmented_;
    place = std::move(attempt);
    tell_graph_break(*place, "");
    note_not_looked_at(options);
    return std::nullopt;
  }
  CapturedFunction function = captured_function(
      *std::move(captured), std::move(results), call.arguments, options.index_checks,
      options.plan.device.target(), changes, options.keeps_capture, options.plan.sizes_vary);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  function.seconds = spent.count();
  return function;
}

// `calls`: for which it does, besides that they have the signature.
void CompiledSignature::tell_graph_break(const SegmentedFunction& segmented,
                                         std::string_view calls) {
  const bool is_first = !std::exchange(shared_.has_told_break, true);
  if (!(is_first && tells_breaks_) && !is_logged(LogTopic::breaks)) return;
  const Break& at = segmented.breaks().front();
  log_line(concat("[compile] the graph breaks: ", text_of(at), " ", at.reason,
                  ", so the function runs in segments for the signature (", to_string(signature_),
                  ")", calls,
                  ", each compiled; explain() names all breaks, Options::fullgraph "
                  "makes them an Error"));
}

static constexpr std::string_view sharing_calls =
    " in calls with arguments that share memory which it writes";

TensorResults CompiledSignature::call(const Call& call, std::int64_t times, bool is_measured,
                                      LoggedValues& logged) {
  if (segmented_) return segmented_->call(call, signature_, times, is_measured, logged);
  if (whole_ && !sharing_) whole_->require_not_shared(call.arguments);
  is_sharing_ = sharing_ && (!whole_ || whole_->writes_shared(call.arguments));
  if (!is_sharing_) [[likely]]
    return whole_->call(call.arguments, times, is_measured, logged);
  TensorResults results = sharing_->call(call, signature_, times, is_measured, logged);
  if (!std::exchange(has_told_sharing_, true) && !sharing_->breaks().empty())
    tell_graph_break(*sharing_, sharing_calls);
  return results;
}

// The segments that all calls of the signature run, as far as is known; null: they are whole.
const SegmentedFunction* CompiledSignature::only_segmented() const {
  if (segmented_) return segmented_.get();
  return whole_ ? nullptr : sharing_.get();
}

void CompiledSignature::look_at_changes() {
  if (whole_ && whole_->look_at_changes()) is_doubtful_ = true;
}

void CompiledSignature::look_at_guards() {
  if (segmented_) guards_.drop_gone();  // it runs the function, which does not read what is gone
  guards_.look();
  if (guards_.is_any_gone()) is_doubtful_ = true;
}

std::vector<Difference> CompiledSignature::differences_of_guards() const {
  std::vector<Difference> all = guards_.differences();
  if (const auto now = autocast_state(); now != autocast_)
    all.push_back({.reason = RecompileReason::guard,
                   .found = concat("autocast is ", autocast_text(now)),
                   .expected = autocast_text(autocast_)});
  return all;
}

std::string CompiledSignature::guards_text() const {
  std::string text;
  if (autocast_) text = concat("  autocast is ", autocast_text(autocast_), "\n");
  for (const FormFact& fact : form_.facts)
    if (fact.kind != FormKind::definition) text += concat("  ", to_string(fact), "\n");
  return text + guards_.text();
}

void CompiledSignature::verify_capture(const TensorFunction& function) const {
  if (whole_) whole_->verify_capture(function, signature_);
}

void CompiledSignature::verify_gradients(const std::vector<Tensor>& arguments,
                                         std::uint64_t seed) const {
  if (whole_) whole_->verify_gradients(arguments, seed);
}
std::vector<Tensor> CompiledSignature::inputs_before(const std::vector<Tensor>& arguments) const {
  return whole_ ? whole_->inputs_before(arguments) : std::vector<Tensor>();
}
void CompiledSignature::require_no_nan(const std::vector<Tensor>& results,
                                       const std::vector<Tensor>& inputs) const {
  if (whole_ == nullptr) return;
  if (!is_sharing_) return whole_->require_no_nan(results, inputs);
  const auto found = std::ranges::find_if(results, [](const Tensor& x) { return has_nan(x); });
  require(found == results.end(), "[compile] detect_nan: result ", found - results.begin(),
          " has a NaN; the call ran in segments, which are not looked into, since the function "
          "writes memory that its arguments share: pass clones of them");
}

bool CompiledSignature::rebind(const Call& call, const ResolvedOptions& options,
                               LoggedValues& logged) {
  std::optional<CapturedFunction> now;
  try {
    now = capture(call, options, logged);
  } catch (const GraphBreak&) {
    return false;
  }
  if (!now) return true;
  if (whole_ == nullptr) {
    make_whole(*std::move(now), call, options);
  } else {
    if (!whole_->rebind(*now)) return false;
    guards_ = Guards(std::move(now->guards));
  }
  is_doubtful_ = false;
  return true;
}

// "item at model.cpp:12 reads data, item at model.cpp:20 reads data"
static std::string text_of(const std::vector<Break>& breaks) {
  std::string text;
  for (const Break& at : breaks)
    text += concat(text.empty() ? "" : ", ", text_of(at), " ", at.reason);
  return text;
}

PlanReport CompiledSignature::report() const {
  PlanReport report;
  report.signature = to_string(signature_);
  report.guards = guards_text();
  report.unkept = unkept_;
  if (whole_) whole_->fill(report);
  if (const SegmentedFunction* segmented = only_segmented())
    report.graph_break = text_of(segmented->breaks());
  else if (sharing_)
    report.sharing_break = text_of(sharing_->breaks());
  return report;
}

void CompiledSignature::add_to(PackageMaker& package) const {
  if (segmented_)
    raise_error(concat("[save_package] the function ", text_of(segmented_->breaks().front()), " ",
                       segmented_->breaks().front().reason,
                       ", which breaks its graph; a package holds whole graphs"));
  require(whole_ != nullptr, "[save_package] all calls of the signature (", to_string(signature_),
          ") had arguments that share memory which the function writes, and ran in segments; a "
          "package holds whole graphs: call the function with other arguments before");
  whole_->add_to(package, signature_, names_of(form_));
}

std::string CompiledSignature::dump() const {
  std::string text = concat("# signature: ", to_string(signature_), "\n");
  if (whole_) return text + whole_->dump();
  for (const Break& at : only_segmented()->breaks())
    text += concat("# breaks: ", text_of(at), " ", at.reason, "\n");
  return text;
}

std::shared_ptr<const BackgroundPlan> CompiledSignature::tuning() const {
  return whole_ ? whole_->tuning() : nullptr;
}

}  // namespace tilewright::graph
