// A custom op as the compiler sees it: its rule, and its implementation.
//
// Functions of the library that are nodes of captured graphs are definitions too
// (graph/functions/named): formulas with settings.
//
// There are two ops of the graph for it. `custom` is a kernel or C++, which fusion does not see
// through: an opaque task with a lowering of its own (graph/lower/custom). `custom_formula` is made
// of other ops, a composite, and fuses as they do. Which one a definition is of says `op()`.
//
// Results of `custom` lie one after the other in one storage, and so have one type of elements.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "dsl/target/target.h"
#include "graph/custom/custom_call.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

struct Differential;  // graph/ops/derivatives/differential.h

struct CustomDefinition {
  // Appends what computes the results on such a target, and gives their nodes.
  using Formula = std::function<std::vector<NodeId>(GraphBuilder&, const std::vector<NodeId>&,
                                                    const dsl::Target&)>;
  using ResultTypes = std::function<std::vector<TensorType>(std::span<const TensorType> operands,
                                                            std::source_location where)>;

  std::string name;
  std::string settings = {};  // of a function of the library, as text (settings.h)
  Hash identity;
  ShapeRule rule;
  ResultTypes result_types = {};  // the rule of the library's functions, whose errors are their own
  bool changes_operand = false;   // the first one, whose new value is the result
  // One of three.
  std::optional<TileKernel> kernel;
  std::vector<std::size_t> pointers = {};  // the operand of each Pointer; empty: in their order
  // The part of its operand that each Pointer is; empty: all of it.
  struct Part {
    std::int64_t offset = 0;  // in elements
    std::int64_t count = -1;  // -1: all
  };
  std::vector<Part> parts = {};
  BufferFunction buffers;
  Formula formula;

  // The formula with composites as they were written, which derivatives are taken of; absent: the
  // formula.
  Formula composites = {};
  // True of a gradient, and of other graphs as nodes (graph/functions/differentiating), which are
  // expanded into their composites while the graph is captured (graph/passes/differentiate.cpp).
  bool is_gradient = false;
  // The function of a gradient, also of one whose cotangents come later, with the numbers of its
  // inputs that have gradients and of its outputs that have cotangents.
  struct Gradient {
    Graph body;
    std::vector<std::size_t> inputs, outputs;
  };
  std::shared_ptr<const Gradient> gradient = {};
  // The graph of a function whose values are computed again for its derivative; it may have such
  // nodes itself. Absent: they are kept.
  std::function<std::shared_ptr<const Graph>(const dsl::Target&)> recomputed = {};
  bool stops_gradient = false;  // the operand is a constant for derivatives
  // The cotangents of the operands from those of the results; absent: those of the formula, and of
  // a kernel or of C++ an Error.
  using Derivative = std::function<std::vector<std::optional<NodeId>>(const Differential&)>;
  Derivative derivative = {};

  // Which operand, counted on through the results, the kernel's Pointer of that number is.
  std::size_t operand_of_pointer(std::size_t pointer) const {
    return pointers.empty() ? pointer : pointers[pointer];
  }
  Part part_of_pointer(std::size_t pointer) const {
    return parts.empty() ? Part() : parts[pointer];
  }
  Op op() const { return formula ? Op::custom_formula : Op::custom; }
};

// Registers the definition under its name (custom_named). Its identity is made of the name and of
// how many definitions of that name there were in this process, unless it has one. Raises `Error`
// for a name that is not a word.
CustomReference define_custom(CustomDefinition definition);

// The rule's answer for such operands. Raises `Error`, with the line, where it fails, returns an
// invalid type, or does not fit the implementation.
ValueType custom_type(const CustomDefinition& definition, std::span<const ValueType> operands,
                      std::source_location where);
// A value of several results as one in memory, in which they lie one after the other.
ValueType flat_type(const ValueType& type);

// The call of such operands with the configuration of that number, from 1.
CustomCall custom_call(const CustomDefinition& definition, std::span<const TensorType> operands,
                       std::int64_t configuration);
// That an op may have: its numbers are block sizes (graph/lower/blocks/block_sizes.def).
constexpr std::size_t most_configurations = 32;
// How many there are to choose from; 1 where there is nothing to choose.
std::int64_t configurations_of(const CustomDefinition& definition);

// Traces the kernel into the current program, on these pointers: operands, then results. Gives the
// grid.
Grid trace_custom(const CustomDefinition& definition, const CustomCall& call,
                  std::span<const dsl::Tile> pointers);
dsl::Knobs knobs_of(const CustomCall& call);

// The results of `custom`, one after the other, by the kernel's interpreter or by the C++.
HostTensor custom_value(const CustomDefinition& definition,
                        const std::vector<const HostTensor*>& operands);

}  // namespace tilewright::graph
