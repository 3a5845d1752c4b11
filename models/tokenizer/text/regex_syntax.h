// Regular expressions as tokenizer.json has them, said in PCRE2's words.
//
// The files are made for Oniguruma, whose syntax has other meanings in places: `\h` is a
// hexadecimal digit there, `\s` and `\w` follow Unicode, `(?m)` lets the dot match line feeds,
// `{1,3}+` repeats a repetition. The syntax is a whitelist, so that a pattern means what it meant
// or is refused by name. Back references, recursion, conditions and verbs are refused also because
// no bound on their time is known.
//
// Before and after every repetition a callout is put, where the search counts its work (regex.h).
#pragma once

#include <string>
#include <string_view>

namespace tilewright::tokenizer {

// Raises `Error` "WHERE: the pattern "...": ..." for unknown syntax.
std::string in_pcre2_syntax(std::string_view pattern, std::string_view where);

}  // namespace tilewright::tokenizer
