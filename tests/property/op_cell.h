// The table of graph ops (graph/ir/ops.def) times dtypes times classes of shapes times the ways in
// which operands lie in memory: its cells, and a small graph of one op for each of them.
//
// Operands are made by what a row says: its shape rule names one entry of a table (op_cells.cpp),
// its operands' number and attributes are the row's. The entry also says for which dtypes and
// shapes the rule is right, apart from the rule itself: a cell is either computed, or refused with
// an Error, and which of them stands there. An op of a rule that is there needs no entry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/property/random_graph.h"

namespace tilewright::graph {

enum class SizeClass : std::uint8_t { scalar, none, one, prime, below, power, above };
enum class Layout : std::uint8_t { plain, broadcast, strided, offset };

struct OpCell {
  Op op;
  DType dtype;
  SizeClass size;
  Layout layout;
};

// True if an op has cells. Operands of custom ops and control flow depend on their definitions and
// bodies (custom_ops_test.cpp draws the ones, random graphs the others).
bool is_tabled(Op op);
// The shape rule of an op, by its name in the table.
std::string_view rule_of(Op op);
bool has_generator(std::string_view rule);

// Every cell, by number; the same ones on any machine.
std::uint64_t cell_count();
OpCell cell_of(std::uint64_t number);
std::string describe(const OpCell& cell);
// So many draws, spread over the table, each cell once before one comes twice, or as many as
// TILEWRIGHT_TEST_CELLS says; or the one that TILEWRIGHT_SEED names.
std::vector<std::uint64_t> cells_of_test(std::uint64_t share);
// True if the op takes that dtype and a shape of that class.
bool is_legal(const OpCell& cell);
// Raises Error where the cell is not legal.
RandomGraph graph_of(const OpCell& cell, std::uint64_t number);

}  // namespace tilewright::graph
