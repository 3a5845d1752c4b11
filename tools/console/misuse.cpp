#include "tools/console/misuse.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>

namespace tilewright::tools {
namespace {

// Letters inserted, removed or replaced, at the fewest, that make one word of the other
// (Levenshtein's distance, a row of its table at a time).
std::size_t changed_letters(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Why the text, if it begins as a whole number, is none that 64 bits hold; else "".
std::string cut_number(const std::string& text, bool is_unsigned) {
  errno = 0;
  char* end = nullptr;
  if (is_unsigned)
    std::strtoull(text.c_str(), &end, 0);
  else
    std::strtoll(text.c_str(), &end, 0);
  if (errno != ERANGE && (!is_unsigned || text.find('-') == std::string::npos)) return {};
  return concat("the value is ", text, "; a whole number from ",
                is_unsigned ? 0 : std::numeric_limits<std::int64_t>::min(), " to ",
                is_unsigned ? std::numeric_limits<std::uint64_t>::max()
                            : std::uint64_t{std::numeric_limits<std::int64_t>::max()},
                " is right");
}

// "tilewright bench" of the command bench.
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? "tilewright" : full_name(*parent) + " " + app.get_name();
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  auto changes = [&](const std::string& name) { return changed_letters(word, name); };
  auto nearest = std::ranges::min_element(names, {}, changes);
  bool is_near =
      nearest != names.end() && changes(*nearest) <= std::max<std::size_t>(word.size() / 3, 1);
  return is_near ? "; did you mean " + *nearest + "?" : "";
}

void require_file(std::string_view operation, const std::string& path, std::string_view wanted) {
  require_use(std::filesystem::exists(path), "[", operation, "] there is no file \"", path,
              "\"; name ", wanted);
}

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "threads to use (default: all processors)")
      ->check(CLI::Range(1, 1024));
}

CLI::Validator above_zero() {
  return CLI::Validator(
      [](std::string& text) {
        double number = 0;
        bool is_right = CLI::detail::lexical_cast(text, number) && number > 0;
        return is_right ? std::string() : "the value is " + text + "; a number above 0 is right";
      },
      "ABOVE 0");
}

void refuse_cut_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    std::string type = option->get_type_name();
    bool is_unsigned = type.starts_with("UINT");
    if (is_unsigned || type.starts_with("INT"))
      option->check(CLI::Validator([=](std::string& text) { return cut_number(text, is_unsigned); },
                                   "", "whole"));
  }
  for (CLI::App* command : app.get_subcommands({})) refuse_cut_numbers(*command);
}

void check_subcommands(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (std::size_t i = 0;; ++i) {
    std::vector<std::string> known;
    for (const CLI::App* command : at->get_subcommands({})) known.push_back(command->get_name());
    bool is_word = i < words.size() && !words[i].starts_with('-');
    if (known.empty() || (i < words.size() && !is_word)) return;
    require_use(i < words.size(), "[", full_name(*at), "] no command is named; known are ",
                listed(known));
    require_use(std::ranges::find(known, words[i]) != known.end(), "[", full_name(*at),
                "] there is no command \"", words[i], "\"; known are ", listed(known),
                suggestion(words[i], known));
    at = at->get_subcommand(words[i]);
  }
}

}  // namespace tilewright::tools
