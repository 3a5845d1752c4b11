#include "graph/compile/options/nested_options.h"

#include <string_view>
#include <utility>

#include "graph/ir/options/unkept_options.h"

namespace tilewright::graph {
namespace {

thread_local const Options* running = nullptr;

template <typename T>
void note_other(std::string_view option, const T& inner, const T& outer, const T& otherwise) {
  if (inner == outer || inner == otherwise) return;
  UnkeptOptions::note(option,
                      "a compiled function that is called inside this one sets it otherwise; it is "
                      "compiled as a part of this one, with its options");
}

}  // namespace

OptionsOfCall::OptionsOfCall(const Options& options)
    : around_(std::exchange(running, &options)), invariance_(options.batch_invariant) {}
OptionsOfCall::~OptionsOfCall() { running = around_; }

void note_nested(const Options& inner) {
  if (running == nullptr) return;
  const Options defaults;
  auto look_at = [&](std::string_view option, auto Options::*value) {
    note_other(option, inner.*value, running->*value, defaults.*value);
  };
  look_at("mode", &Options::mode);
  look_at("fullgraph", &Options::fullgraph);
  look_at("backend", &Options::backend);
  look_at("max_signatures", &Options::max_signatures);
  look_at("dynamic", &Options::dynamic);
  look_at("max_sizes", &Options::max_sizes);
  look_at("past_limit", &Options::past_limit);
  look_at("verify_capture", &Options::verify_capture);
  look_at("verify_gradients", &Options::verify_gradients);
  look_at("detect_nan", &Options::detect_nan);
  look_at("matmul_precision", &Options::matmul_precision);
  look_at("first_code", &Options::first_code);
  look_at("planned_threads", &Options::planned_threads);
  look_at("batch_invariant", &Options::batch_invariant);
  look_at("device", &Options::device);
  look_at("tune_in_background", &Options::tune_in_background);
  look_at("freezing", &Options::freezing);
  look_at("saved_share", &Options::saved_share);
  look_at("memory_limit", &Options::memory_limit);
  look_at("write_plan", &Options::write_plan);
  look_at("locked_plan", &Options::locked_plan);
  look_at("index_checks", &Options::index_checks);
}

}  // namespace tilewright::graph
