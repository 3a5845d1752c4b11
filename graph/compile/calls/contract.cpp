#include "graph/compile/calls/contract.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "graph/tensor/capture.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 12> reason_names = {
    "argument_count", "dtype",     "rank",  "size",   "static_size", "strides",
    "device",         "alignment", "guard", "handle", "structure",   "value"};
// The last is the kernel language's (dsl/launch/kept_objects.cpp).
constexpr std::array<std::string_view, 5> topic_names = {"recompiles", "breaks", "guards", "fusion",
                                                         "cache"};

std::atomic<Stance> current_stance{Stance::compile};

}  // namespace

std::string_view name_of(RecompileReason reason) {
  return reason_names[static_cast<std::size_t>(reason)];
}

std::string Difference::sentence() const {
  return concat(found, expected.empty() ? "" : ", compiled for ", expected,
                where ? concat(" (read at ", describe(*where), ")") : "");
}

std::string Recompilation::sentence() const {
  std::string text;
  for (const Difference& difference : differences)
    text += concat(text.empty() ? "" : "; ", difference.sentence());
  return text;
}

void set_stance(Stance stance) {
  require(graph::Capture::active() == nullptr,
          "[set_stance] a function is being captured, which happens once and not at each call; set "
          "the stance outside of compiled functions");
  current_stance = stance;
}
Stance stance() { return current_stance.load(std::memory_order_relaxed); }

StanceScope::~StanceScope() { current_stance = former_; }

namespace graph {

static void name_unknown_topics(const std::vector<std::string>& words) {
  std::string known;
  for (std::string_view name : topic_names) known += concat(known.empty() ? "" : ", ", name);
  for (const std::string& word : words)
    if (std::ranges::find(topic_names, word) == topic_names.end())
      log_line(concat("[TILEWRIGHT_LOG] '", word, "' is ignored; it may hold ", known));
}

bool is_logged(LogTopic topic) {
  static std::once_flag once;
  std::vector<std::string> words = env::log();
  std::call_once(once, [&] { name_unknown_topics(words); });
  return std::ranges::find(words, topic_names[static_cast<std::size_t>(topic)]) != words.end();
}

void log_line(const std::string& text) {
  std::fputs(concat("tilewright: ", text, "\n").c_str(), stderr);
}

}  // namespace graph
}  // namespace tilewright
