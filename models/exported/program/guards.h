// The conditions on sizes under which PyTorch exported a program ("guards_code", since PyTorch
// 2.9): `(L['x'].size()[0] % 2) == 0`.
//
// They name inputs as forward() has them, parameters with keys and members behind them, whereas
// the program has a list of inputs. The list is that tree's leaves in order; the tree's form is in
// the module's description ("in_spec"). Where the form of a user's own type is not known, the name
// of an input, which PyTorch makes of its path, decides.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/exported/program/fields.h"
#include "models/programs/signature.h"

namespace tilewright::exported {

using InputPath = std::vector<std::string>;  // {"past", "k", "0"}: a parameter and keys

// The paths of all inputs, constants among them. `module` is the entry of the program itself in
// "module_call_graph"; empty where that does not say.
std::vector<InputPath> input_paths(const json::Node& module, const std::string& file);

// The conditions on the user's inputs. `leaves`: for each path, the place among these; none for a
// constant. Raises `Error` for a condition that cannot be read or that names something else than a
// size of an input.
programs::SizeConditions read_guards(const Fields& fields, const json::Node& guards,
                                     const std::vector<InputPath>& paths,
                                     const std::vector<std::optional<std::size_t>>& leaves,
                                     const std::vector<programs::SignatureInput>& inputs);

// The range of a size that is a function of a symbol ("2*s40").
using FunctionRange = std::pair<programs::SizeExpression, programs::SymbolRange>;
// The ranges of such sizes of inputs, by the texts that the inputs have. Both are printed
// differently, so that they are compared by their values.
std::map<std::string, programs::SymbolRange, std::less<>> ranges_of_sizes(
    const std::vector<programs::SignatureInput>& inputs, const std::vector<FunctionRange>& ranges);

}  // namespace tilewright::exported
