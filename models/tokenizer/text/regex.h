// Regular expressions of tokenizers, over text that may be long and patterns that may be hostile.
// The wall before the library PCRE2.
//
// PCRE2 bounds how often it backtracks in one match, but not the characters that it reads again
// and again. A search therefore counts both: at callouts around each repetition of the pattern it
// adds up how far the position moved. A text has a budget, linear in its length, and exceeding it
// is an error; so no pattern hangs a program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tokenizer {

struct Range {
  std::uint32_t begin, end;
};

// A regular value; copies share the compiled pattern. Thread safe.
class Regex {
 public:
  // In Oniguruma's syntax, see regex_syntax.h. Raises `Error` "WHERE: the pattern "...": ...".
  Regex(std::string_view pattern, std::string_view where);

 private:
  friend class RegexSearch;
  struct Code;
  std::shared_ptr<const Code> code_;
};

// Searches one text, or its pieces, with one pattern. For one thread.
class RegexSearch {
 public:
  // The budget is that of a text of this many bytes.
  RegexSearch(const Regex& regex, std::size_t text_bytes);
  ~RegexSearch();
  RegexSearch(const RegexSearch&) = delete;
  RegexSearch& operator=(const RegexSearch&) = delete;

  // The matches in `text` from left to right, without overlap; empty ones too, except where the
  // match before ends. Bytes that are not UTF-8 end the text before them and begin a new one.
  // Raises `Error` "[encode] ..." when the budget is spent. Valid until the next call.
  const std::vector<Range>& run(std::string_view text);

 private:
  struct State;
  void run_whole(std::string_view text, std::size_t offset);
  std::unique_ptr<State> state_;
  std::vector<Range> found_;
};

}  // namespace tilewright::tokenizer
