#include "dsl/ir/text/stage_text.h"

#include <charconv>
#include <limits>

#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

using dsl::layout::In;
using dsl::layout::Layout;

constexpr std::array parts = {std::pair{In::register_, "register"}, std::pair{In::lane, "lane"},
                              std::pair{In::warp, "warp"}};

bool take_word(Lexer& lexer, std::string_view word) {
  bool there = lexer.peek().is(TokenKind::word, word);
  if (there) lexer.take();
  return there;
}

bool take_mark(Lexer& lexer, std::string_view mark) {
  bool there = lexer.peek().is(TokenKind::mark, mark);
  if (there) lexer.take();
  return there;
}

[[noreturn]] void fail(const Lexer& lexer, const std::string& wanted) {
  raise_at(lexer.peek(), "expected " + wanted + ", found " + lexer.peek().describe());
}

void expect_mark(Lexer& lexer, std::string_view mark) {
  if (!take_mark(lexer, mark)) fail(lexer, concat("'", mark, "'"));
}

// At least 0.
int number(Lexer& lexer, const char* what, int most = std::numeric_limits<int>::max()) {
  Token token = lexer.peek();
  if (token.kind != TokenKind::number) fail(lexer, what);
  lexer.take();
  int value = 0;
  const char* end = token.text.data() + token.text.size();
  auto [rest, error] = std::from_chars(token.text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0 || value > most)
    raise_at(token, token.describe() + " is not " + what);
  return value;
}

}  // namespace

std::string stage_text(const Function& function) {
  std::string text;
  if (function.most_stages != 0) text += concat(" most_stages ", function.most_stages);
  if (function.most_registers != 0) text += concat(" most_registers ", function.most_registers);
  if (function.row_invariant) text += " row_invariant";
  if (function.warps != 0) text += concat(" warps ", function.warps);
  if (function.roles) {
    text += concat(" roles (stages ", function.roles->stages);
    if (auto axis = function.roles->cluster_axis) text += concat(", cluster_axis ", *axis);
    text += ")";
  }
  if (function.shared != SharedMemory{}) {
    text += concat(" shared (bytes ", function.shared.bytes);
    if (function.shared.reserved != 0) text += concat(", reserved ", function.shared.reserved);
    text += ")";
  }
  if (function.stage != Stage::traced) text += concat(" ", name_of(function.stage));
  return text;
}

void read_stage(Lexer& lexer, Function& function) {
  if (take_word(lexer, "most_stages")) function.most_stages = number(lexer, "a number of stages");
  if (take_word(lexer, "most_registers"))
    function.most_registers = number(lexer, "a number of registers");
  function.row_invariant = take_word(lexer, "row_invariant");
  if (take_word(lexer, "warps")) function.warps = number(lexer, "a number of warps");
  if (take_word(lexer, "roles")) {
    function.roles = Roles{};
    expect_mark(lexer, "(");
    if (!take_word(lexer, "stages")) fail(lexer, "'stages'");
    function.roles->stages = number(lexer, "a number of stages");
    if (take_mark(lexer, ",")) {
      if (!take_word(lexer, "cluster_axis")) fail(lexer, "'cluster_axis'");
      function.roles->cluster_axis = number(lexer, "an axis");
    }
    expect_mark(lexer, ")");
  }
  if (take_word(lexer, "shared")) {
    expect_mark(lexer, "(");
    if (!take_word(lexer, "bytes")) fail(lexer, "'bytes'");
    function.shared.bytes = number(lexer, "a number of bytes");
    if (take_mark(lexer, ",")) {
      if (!take_word(lexer, "reserved")) fail(lexer, "'reserved'");
      function.shared.reserved = number(lexer, "a number of bytes");
    }
    expect_mark(lexer, ")");
  }
  if (lexer.peek().kind != TokenKind::word) return;
  auto stage = parse_stage(lexer.peek().text);
  if (!stage) raise_at(lexer.peek(), lexer.peek().describe() + " is not a stage of a function");
  lexer.take();
  function.stage = *stage;
}

std::string bases_text(const Layout& layout) {
  std::string text;
  for (auto [in, name] : parts) {
    text += concat(text.empty() ? "" : " ", name);
    for (const Layout::Basis& basis : layout.bases(in)) {
      text += " (";
      for (std::size_t axis = 0; axis < basis.size(); ++axis)
        text += concat(axis == 0 ? "" : ",", basis[axis]);
      text += ")";
    }
  }
  return text;
}

Layout read_bases(Lexer& lexer, Shape physical) {
  Token start = lexer.peek();
  std::array<std::vector<Layout::Basis>, 3> bases;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!take_word(lexer, parts[i].second)) fail(lexer, concat("'", parts[i].second, "'"));
    while (take_mark(lexer, "(")) {
      Layout::Basis& basis = bases[i].emplace_back();
      do basis.push_back(number(lexer, "a coordinate"));
      while (take_mark(lexer, ","));
      expect_mark(lexer, ")");
    }
  }
  auto layout = Layout::checked(std::move(physical), std::move(bases));
  if (auto* problem = std::get_if<std::string>(&layout)) raise_at(start, *problem);
  return std::get<Layout>(std::move(layout));
}

std::string schedule_text(const Schedule& schedule) {
  std::string text;
  auto add = [&](bool holds, const std::string& word) {
    if (holds) text += (text.empty() ? "" : ", ") + word;
  };
  add(schedule.stages != 0, concat("stages ", static_cast<int>(schedule.stages)));
  add(schedule.staged, "staged");
  add(schedule.deferred, "deferred");
  add(schedule.alternating, "alternating");
  add(schedule.boxed, "boxed");
  add(schedule.shared_bytes != 0,
      concat("shared ", schedule.shared_bytes, " at ", schedule.shared_offset));
  add(schedule.barrier != Barrier::none, concat("barrier ", name_of(schedule.barrier)));
  add(schedule.kept, "kept");
  add(schedule.joined, "joined");
  add(schedule.quarters != Schedule{}.quarters,
      concat("quarters ", static_cast<int>(schedule.quarters)));
  add(schedule.tabulated, "tabulated");
  add(schedule.product != Product::along_n, concat("product ", name_of(schedule.product)));
  add(schedule.in_panels, "in_panels");
  add(schedule.hoisted, "hoisted");
  return text.empty() ? "" : " schedule (" + text + ")";
}

namespace {

void read_place(Lexer& lexer, Schedule& schedule) {
  schedule.shared_bytes = number(lexer, "a number of bytes");
  if (!take_word(lexer, "at")) fail(lexer, "'at'");
  schedule.shared_offset = number(lexer, "an offset in bytes");
}

Barrier read_barrier(Lexer& lexer) {
  for (Barrier barrier : {Barrier::array, Barrier::scratch})
    if (take_word(lexer, name_of(barrier))) return barrier;
  fail(lexer, "'array' or 'scratch'");
}

Product read_product(Lexer& lexer) {
  auto product = parse_product(lexer.peek().text);
  if (!product) fail(lexer, "along_n, along_k, interleaved, packed or tiled");
  lexer.take();
  return *product;
}

// Flags, which are present or not, by their word.
constexpr std::array flags = {std::pair{std::string_view("staged"), &Schedule::staged},
                              std::pair{std::string_view("deferred"), &Schedule::deferred},
                              std::pair{std::string_view("alternating"), &Schedule::alternating},
                              std::pair{std::string_view("boxed"), &Schedule::boxed},
                              std::pair{std::string_view("kept"), &Schedule::kept},
                              std::pair{std::string_view("joined"), &Schedule::joined},
                              std::pair{std::string_view("tabulated"), &Schedule::tabulated},
                              std::pair{std::string_view("in_panels"), &Schedule::in_panels},
                              std::pair{std::string_view("hoisted"), &Schedule::hoisted}};

bool read_flag(Lexer& lexer, Schedule& schedule) {
  for (auto [word, flag] : flags)
    if (take_word(lexer, word)) return schedule.*flag = true;
  return false;
}

}  // namespace

Schedule read_schedule(Lexer& lexer) {
  Schedule schedule;
  if (!take_word(lexer, "schedule")) return schedule;
  expect_mark(lexer, "(");
  do {
    if (read_flag(lexer, schedule)) continue;
    if (take_word(lexer, "stages"))
      schedule.stages = static_cast<std::uint8_t>(number(lexer, "a number of stages", 255));
    else if (take_word(lexer, "shared"))
      read_place(lexer, schedule);
    else if (take_word(lexer, "barrier"))
      schedule.barrier = read_barrier(lexer);
    else if (take_word(lexer, "quarters"))
      schedule.quarters = static_cast<std::uint8_t>(number(lexer, "bits of four vectors", 15));
    else if (take_word(lexer, "product"))
      schedule.product = read_product(lexer);
    else
      fail(lexer,
           "stages, staged, deferred, alternating, boxed, shared, barrier, kept, joined, quarters, "
           "tabulated, product, in_panels or hoisted");
  } while (take_mark(lexer, ","));
  expect_mark(lexer, ")");
  return schedule;
}

}  // namespace tilewright::ir
