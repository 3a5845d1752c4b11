// Mistakes at the command line: an unknown name, a missing file, an impossible value. They are
// separate from other errors because the process then exits with status 2, and with 1 if the
// request was right but failed.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright::tools {

constexpr int misuse_status = 2;

class Misuse : public Error {
 public:
  using Error::Error;
};

// Raises `Misuse` with the joined message unless `condition` holds.
template <typename... Parts>
void require_use(bool condition, const Parts&... parts) {
  if (!condition) throw Misuse(concat(parts...));
}

// The result of `look_at_arguments`; an `Error` that it raises becomes a `Misuse`.
template <std::invocable F>
auto as_misuse(const F& look_at_arguments) {
  try {
    return look_at_arguments();
  } catch (const Error& error) {
    throw Misuse(error.what());
  }
}

// "a, b, c"
std::string listed(const std::vector<std::string>& names);
// "; did you mean b?" of the name that the fewest changed letters make of `word`, if these are at
// most a third of it; else "".
std::string suggestion(std::string_view word, const std::vector<std::string>& names);

// For options: raises `Misuse` where no file is there.
void require_file(std::string_view operation, const std::string& path, std::string_view wanted);

// --threads: none, or 1 to as many as a launch may have.
void add_threads_option(CLI::App& command, int& threads);
// For options that take a number.
CLI::Validator above_zero();

// Makes every option that takes a whole number, here and in subcommands, refuse numbers beyond 64
// bits, and numbers below zero where there can be none. The parser by itself would take the nearest
// number.
void refuse_cut_numbers(CLI::App& app);

// Raises `Misuse` where a word stands in the place of a subcommand but is unknown, with the known
// ones.
void check_subcommands(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace tilewright::tools
