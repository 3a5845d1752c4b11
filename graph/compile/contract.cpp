#include "graph/compile/contract.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <span>

#include "graph/tensor/capture.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 9> reason_names = {
    "argument_count", "dtype", "rank", "size", "strides", "device", "alignment", "guard", "handle"};
constexpr std::array<std::string_view, 5> stance_names = {
    "compile", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile"};
constexpr std::array<std::string_view, 4> topic_names = {"recompiles", "breaks", "guards",
                                                         "fusion"};

std::atomic<Stance> current_stance{Stance::compile};

std::string listed(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) list += concat(list.empty() ? "" : ", ", name);
  return list;
}

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

std::string_view name_of(Stance stance) { return stance_names[static_cast<std::size_t>(stance)]; }

Stance parse_stance(std::string_view name) {
  auto found = std::ranges::find(stance_names, name);
  require(found != stance_names.end(), "[stance] '", name, "' is unknown; it must be one of ",
          listed(stance_names));
  return static_cast<Stance>(found - stance_names.begin());
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
  for (const std::string& word : words)
    if (std::ranges::find(topic_names, word) == topic_names.end())
      log_line(
          concat("[TILEWRIGHT_LOG] '", word, "' is ignored; it may hold ", listed(topic_names)));
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
