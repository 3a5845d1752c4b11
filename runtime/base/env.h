// The environment variables that steer the library, read through one typed getter each.
//
// The table is env.def; nothing else in the library reads the environment, so that the table is the
// whole list. Values are read at each call. The first call of any getter looks for variables named
// TILEWRIGHT_* that the table lacks and names them once on stderr: a misspelt name is never silent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::env {

using integer = std::optional<std::int64_t>;  // empty if unset
using flag = bool;                            // 1; not if 0 or unset
using text = std::string;                     // "" if unset
using list = std::vector<std::string>;        // no words if unset

// env::threads(), env::cpu(), ... An invalid integer or flag raises `Error` naming the variable.
#define TILEWRIGHT_ENV(getter, variable, type, effect, unset, meaning) type getter();
#include "runtime/base/env.def"
#undef TILEWRIGHT_ENV

// True if a text is the word by which settings switch something off: off, OFF, Off.
bool is_off(std::string_view text);

// The effect on code that is kept from process to process (env.def).
enum class Effect : std::uint8_t { none, key, unkept, place };

// One row of the table.
struct Row {
  std::string_view variable, type;
  Effect effect;
  std::string_view unset, meaning;
};
std::span<const Row> rows();
// True if a variable with this effect is set.
bool is_any_set(Effect effect);

// The names of variables in the environment that start with TILEWRIGHT_ and are not in the table.
std::vector<std::string> unknown_variables();

}  // namespace tilewright::env
