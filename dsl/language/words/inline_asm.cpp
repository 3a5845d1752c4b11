#include "dsl/language/words/inline_asm.h"

#include "dsl/assembly/assembly.h"
#include "dsl/language/operands.h"

namespace tilewright::dsl {
namespace {

Tiles arguments_of_one_shape(const OperationUse& site, const std::vector<Operand>& arguments) {
  Tiles tiles;
  for (const Operand& argument : arguments) {
    tiles.push_back(site.tile(argument));
    ir::Type type = tiles.back().type();
    site.expect(type.is_value(), "an argument is ", type,
                "; it must be a scalar or a tile of numbers");
  }
  return tiles.empty() ? tiles : site.broadcast_together(std::move(tiles));
}

}  // namespace

Tile inline_asm_elementwise(const InlineAsm& assembly, const std::vector<Operand>& arguments,
                            DType dtype, const std::function<Tile(const Tiles&)>& meaning,
                            std::source_location where) {
  std::function<Tiles(const Tiles&)> of_one;
  if (meaning) of_one = [&](const Tiles& x) -> Tiles { return {meaning(x)}; };
  return inline_asm_elementwise(assembly, arguments, std::vector{dtype}, of_one, where).front();
}

Tiles inline_asm_elementwise(const InlineAsm& assembly, const std::vector<Operand>& arguments,
                             const std::vector<DType>& dtypes,
                             const std::function<Tiles(const Tiles&)>& meaning,
                             std::source_location where) {
  OperationUse site("inline_asm_elementwise", where);
  const Tiles tiles = arguments_of_one_shape(site, arguments);
  std::vector<DType> types;
  for (const Tile& tile : tiles) types.push_back(tile.dtype());
  ir::Assembly ptx{assembly.code,    assembly.constraints, assembly.pack, 0,
                   assembly.is_pure, meaning != nullptr};
  site.expect(!dtypes.empty(), "there are no types of results; there is at least one");
  const std::string problem = ir::problem_of(ptx, dtypes, types);
  site.expect(problem.empty(), problem);

  const Shape shape = tiles.empty() ? Shape{} : tiles.front().shape();
  const Tiles meant = meaning ? meaning(tiles) : Tiles();
  site.expect(!meaning || meant.size() == dtypes.size(), "the meaning gives ", meant.size(),
              " tiles; there are ", dtypes.size(), " results");
  Tiles results;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const Operand given = meaning ? Operand(meant[i], where) : Operand(0, where);
    std::vector<Tile> operands{
        site.fit(given, ir::Type::tile(dtypes[i], shape), "the result of the meaning")};
    operands.insert(operands.end(), tiles.begin(), tiles.end());
    results.push_back(site.append(ir::Op::inline_asm_, operands, ir::Text{ir::text_of(ptx)}));
    ptx.from += ir::registers_of(dtypes[i], ptx.pack);
  }
  return results;
}

}  // namespace tilewright::dsl
