#include "dsl/ir/text/reference.h"

#include "dsl/ir/op.h"

namespace tilewright::ir {
namespace {

// The words of a row as they stand in the table.
struct Words {
  std::string rule, effect, immediate, op_class, properties;
};

Words words_of(Op op) {
  switch (op) {
#define TILEWRIGHT_TILE_OP(name, lo, hi, bodies, rule, effect, immediate, cls, cost, props) \
  case Op::name##_:                                                                         \
    return {#rule, #effect, #immediate, #cls, #props};
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
  }
  __builtin_unreachable();
}

std::string count_text(const OpInfo& row) {
  std::string least = std::to_string(row.min_operands);
  if (row.max_operands < 0) return least + " or more";
  return row.max_operands == row.min_operands ? least
                                              : least + " to " + std::to_string(row.max_operands);
}

// Empty for "none"; a bar would end the cell of a Markdown table.
std::string cell(std::string word) {
  for (auto bar = word.find(" |"); bar != word.npos; bar = word.find(" |"))
    word.replace(bar, 2, ",");
  return word == "none" ? "" : word;
}

}  // namespace

std::string op_reference() {
  std::string text =
      "| operation | class | operands | immediate | bodies | types by | effect | cost | "
      "properties |\n|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpInfo& row = all_ops()[i];
    Words words = words_of(static_cast<Op>(i));
    text += "| `";
    text += row.name;
    text += "` ";
    for (const std::string& column :
         {words.op_class, count_text(row), cell(words.immediate), std::to_string(row.bodies),
          words.rule, words.effect, std::to_string(row.cost), cell(words.properties)})
      text += "| " + column + (column.empty() ? "" : " ");
    text += "|\n";
  }
  return text;
}

}  // namespace tilewright::ir
