#include "models/tokenizer/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>
#include <optional>

#include "models/files/reader.h"
#include "models/files/utf8.h"
#include "models/tokenizer/text/regex_syntax.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_pattern_bytes = 8192;
constexpr std::int64_t least_budget = 10'000'000, budget_a_byte = 64;
constexpr std::uint32_t max_backtracks = 40'000'000;  // of one match
constexpr std::uint32_t max_heap_kib = 512 << 10;     // of one match

std::string message_of(int error) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* what) const {
    release(what);
  }
};
template <typename T, auto release>
using Handle = std::unique_ptr<T, Release<release>>;

}  // namespace

struct Regex::Code {
  std::string pattern;
  Handle<pcre2_code, pcre2_code_free> compiled;
};

Regex::Regex(std::string_view pattern, std::string_view where) {
  require(pattern.size() <= max_pattern_bytes, where, ": a pattern of ", pattern.size(),
          " bytes; at most ", max_pattern_bytes, " are allowed");
  std::string text = in_pcre2_syntax(pattern, where);
  Handle<pcre2_compile_context, pcre2_compile_context_free> context(
      pcre2_compile_context_create(nullptr));
  check(context != nullptr && pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF) == 0 &&
            pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE) == 0,
        "PCRE2 refused its settings");
  int error = 0;
  PCRE2_SIZE at = 0;
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  code->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                     PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                     &at, context.get()));
  require(code->compiled != nullptr, where, ": the pattern \"", json::excerpt(pattern),
          "\": ", code->compiled ? "" : message_of(error));
  code_ = std::move(code);
}

struct RegexSearch::State {
  std::shared_ptr<const Regex::Code> code;
  Handle<pcre2_match_data, pcre2_match_data_free> match;
  Handle<pcre2_match_context, pcre2_match_context_free> context;
  std::int64_t budget = 0;
  PCRE2_SIZE position = 0;  // at the latest callout

  // Any other value than 0 ends the match with that value as its result.
  static int count(pcre2_callout_block* block, void* state) {
    auto& self = *static_cast<State*>(state);
    PCRE2_SIZE now = block->current_position;
    self.budget -= 1 + static_cast<std::int64_t>(now > self.position ? now - self.position
                                                                     : self.position - now);
    self.position = now;
    return self.budget < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
  }
};

RegexSearch::RegexSearch(const Regex& regex, std::size_t text_bytes)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.code = regex.code_;
  state.match.reset(pcre2_match_data_create(1, nullptr));
  state.context.reset(pcre2_match_context_create(nullptr));
  if (!state.match || !state.context) throw std::bad_alloc();
  state.budget = least_budget + budget_a_byte * static_cast<std::int64_t>(text_bytes);
  pcre2_set_callout(state.context.get(), State::count, &state);
  pcre2_set_match_limit(state.context.get(), max_backtracks);
  pcre2_set_heap_limit(state.context.get(), max_heap_kib);
}

RegexSearch::~RegexSearch() = default;

const std::vector<Range>& RegexSearch::run(std::string_view text) {
  found_.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t whole = whole_size(text.substr(begin));
    if (whole > 0) run_whole(text.substr(begin, whole), begin);
    begin += whole + 1;
  }
  return found_;
}

void RegexSearch::run_whole(std::string_view text, std::size_t offset) {
  State& state = *state_;
  std::optional<std::size_t> end_before;
  for (std::size_t at = 0; at <= text.size();) {
    state.position = at;
    int result =
        pcre2_match(state.code->compiled.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                    text.size(), at, PCRE2_NO_UTF_CHECK, state.match.get(), state.context.get());
    if (result == PCRE2_ERROR_NOMATCH) return;
    require(result >= 0, "[encode] the tokenizer's pattern \"", json::excerpt(state.code->pattern),
            "\" takes too long on this text of ", text.size(),
            " bytes: ", result < 0 ? message_of(result) : "", "; such a tokenizer is not usable");
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state.match.get());
    std::size_t begin = ends[0], end = ends[1];
    if (begin == end && end_before == end) {
      int size = at < text.size() ? character_size(text.substr(at)) : 1;
      at += static_cast<std::size_t>(size);
      continue;
    }
    at = end;
    end_before = end;
    found_.push_back(
        {static_cast<std::uint32_t>(offset + begin), static_cast<std::uint32_t>(offset + end)});
  }
}

}  // namespace tilewright::tokenizer
