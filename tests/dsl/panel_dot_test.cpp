// Products whose right operand lies in panels already, as frozen weights do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/target/packed_product.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::panel_dot_test {
namespace {

struct PanelCase {
  std::int64_t m = 50, k = 520, panels = 4, width = 48;
  bool in_pairs = false;
  std::int64_t first = 0, pieces = 1;  // the first panel that is read; turns of the loop over k
  bool writes = false;                 // the program writes the panels before it reads them
  bool is_shared = false;              // what the dot reads is stored too
};

void PrintTo(const PanelCase& c, std::ostream* out) {
  *out << c.m << "x" << c.panels << "*" << c.width << "x" << c.k << (c.in_pairs ? " pairs" : "")
       << " from " << c.first << ", pieces " << c.pieces << (c.writes ? ", writes" : "")
       << (c.is_shared ? ", shared" : "");
}

std::vector<PanelCase> panel_cases() {
  std::vector<PanelCase> cases;
  for (bool pairs : {false, true})
    for (std::int64_t width : {8, 16, 24, 32, 48, 64, 40})
      for (std::int64_t m : {1, 50})
        for (std::int64_t first : {0, 1}) cases.push_back({m, 520, 4, width, pairs, first});
  for (bool pairs : {false, true}) {
    cases.push_back({.in_pairs = pairs, .pieces = 4});
    cases.push_back({.in_pairs = pairs, .pieces = 3});  // the last piece reaches beyond
    cases.push_back({.in_pairs = pairs, .writes = true});
    cases.push_back({.in_pairs = pairs, .is_shared = true});
    for (std::int64_t depth : {2, 22, 32, 34})  // about what a tile of AMX has
      cases.push_back({.k = depth, .width = 32, .in_pairs = pairs});
  }
  return cases;
}

ir::Function panel_program(const PanelCase& c) {
  const DType dtype = c.in_pairs ? DType::bf16 : DType::f32;
  const std::int64_t word = c.in_pairs ? 2 : 1, n = c.panels * c.width, all = c.panels + 1;
  Tracer t("panels");
  Tile left = t.pointer_param("left", DType::f32), right = t.pointer_param("right", dtype);
  Tile result = t.pointer_param("result", DType::f32), copy = t.pointer_param("copy", DType::f32);
  Desc a = make_desc(left, {c.m, c.k}, {c.k, 1});
  const std::int64_t row = c.width * word, depth = c.k / word;
  Desc b = c.in_pairs ? make_desc(right, {all, depth, c.width, 2}, {depth * row, row, 2, 1})
                      : make_desc(right, {all, depth, c.width}, {depth * row, row, 1});
  if (c.writes) {
    Tile first = c.in_pairs ? load(b, {0, 0, 0, 0}, {all, depth, c.width, 2})
                            : load(b, {0, 0, 0}, {all, depth, c.width});
    Tile half = first * 0.5;
    if (c.in_pairs)
      store(b, {0, 0, 0, 0}, half);
    else
      store(b, {0, 0, 0}, half);
  }
  // Pieces of whole pairs, of which the last may reach beyond what there is.
  const std::int64_t piece = (c.k / c.pieces + 7) / 8 * 8;
  auto block = [&](const Operand& k) {
    Operand at = k.is_number() || !c.in_pairs ? k : Operand(k.tile() / 2);
    if (c.in_pairs)
      return reshape(
          permute(load(b, {c.first, at, 0, 0}, {c.panels, piece / 2, c.width, 2}), {1, 3, 0, 2}),
          {piece, n});
    return reshape(permute(load(b, {c.first, at, 0}, {c.panels, piece, c.width}), {1, 0, 2}),
                   {piece, n});
  };
  auto rows = [&](const Operand& k) {
    Tile x = load(a, {0, k}, {c.m, piece});
    return dtype == DType::f32 ? x : cast(x, dtype);
  };
  if (c.pieces == 1) {
    Tile matrix = block(0);
    store(make_desc(result, {c.m, n}, {n, 1}), {0, 0}, dot(rows(0), matrix));
    if (c.is_shared) store(make_desc(copy, {c.k, n}, {n, 1}), {0, 0}, cast(matrix, DType::f32));
  } else {
    Var sum = zeros({c.m, n}, DType::f32);
    for (Tile k : range(0, c.k, piece)) sum = dot(rows(k), block(k), sum);
    store(make_desc(result, {c.m, n}, {n, 1}), {0, 0}, sum);
  }
  return t.finish();
}

class PanelDot : public testing::TestWithParam<PanelCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, PanelDot, testing::ValuesIn(panel_cases()));

TEST_P(PanelDot, EqualsTheInterpreter) {
  const PanelCase& c = GetParam();
  auto elements = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const std::size_t right = elements((c.panels + 1) * c.width * c.k),
                    n = elements(c.panels * c.width);
  expect_same(panel_program(c),
              {random_array(elements(c.m * c.k), 3),
               c.in_pairs ? random_pairs(right / 2, 4) : random_array(right, 4),
               Array(elements(c.m) * n, NAN), Array(elements(c.k) * n, 0.0F)},
              {}, 4e-4F);
}

// Nothing is copied: the packed panel of the left operand and the result are all that lies in
// scratch.
TEST(PanelDot, MultipliesWhereTheyLie) {
  for (std::string_view name : host_names())
    for (bool pairs : {false, true}) {
      Target host = target_named(std::string(name));
      if (pairs && !host.has_dots) continue;
      for (std::int64_t vectors : {2, 3, 4}) {
        PanelCase c{.width = host.lanes * vectors, .in_pairs = pairs};
        auto scratch = [&](const PanelCase& of) {
          return generate_host_code(panel_program(of), host)->scratch_bytes;
        };
        const std::int64_t n = c.panels * c.width;
        const std::int64_t result = c.m * n * 4, left = c.m * c.k * 4, right = c.k * n * 4;
        EXPECT_LE(scratch(c), result + 2 * left) << name << ", " << vectors << " vectors";
        PanelCase other = c;
        other.writes = true;
        EXPECT_GE(scratch(other), right / 2) << name << ", " << vectors << " vectors";
      }
    }
}

// A matrix in memory, by rows or by columns, is written as panels of pairs.
ir::Function packing_program(DType dtype, bool by_columns) {
  constexpr std::int64_t panels = 2, width = 32, depth = 64, columns = panels * width;
  Tracer t("packing");
  Tile from = t.pointer_param("from", dtype), to = t.pointer_param("to", dtype);
  Desc result = make_desc(to, {panels, depth / 2, width, 2}, {depth * width, 2 * width, 2, 1});
  if (by_columns) {
    Desc matrix = make_desc(from, {panels, width, depth / 2, 2}, {width * depth, depth, 2, 1});
    Tile block = load(matrix, {0, 0, 0, 0}, {panels, width, depth / 2, 2});
    store(result, {0, 0, 0, 0}, permute(block, {0, 2, 1, 3}));
  } else {
    Desc matrix = make_desc(from, {depth / 2, 2, panels, width}, {2 * columns, columns, width, 1});
    Tile block = load(matrix, {0, 0, 0, 0}, {depth / 2, 2, panels, width});
    store(result, {0, 0, 0, 0}, permute(block, {2, 0, 3, 1}));
  }
  return t.finish();
}

TEST(PanelDot, PanelsAreWrittenByWholeVectors) {
  constexpr std::size_t pairs = 2048;
  for (DType dtype : {DType::bf16, DType::f16, DType::i16})
    for (bool by_columns : {false, true}) {
      const ir::Function program = packing_program(dtype, by_columns);
      expect_same(program, {random_pairs(pairs, 1), Array(pairs, 0.0F)}, {}, 0);
      for (std::string_view name : host_names()) {
        Target host = target_named(std::string(name));
        if (host.lanes < 8) continue;
        std::string text = host_code_text(program, host, "llvm");
        EXPECT_EQ(text.find("<2 x "), text.npos) << dtype << ", " << name;
      }
    }
}

}  // namespace
}  // namespace tilewright::dsl::panel_dot_test
