// The fields of a package in their order: one description, which a FieldWriter and a FieldReader
// both follow. Each change here is a new version of the format (contents_bytes.h).
#pragma once

#include <string>
#include <type_traits>

#include "runtime/package/contents.h"

namespace tilewright::package_fields {

template <typename Fields, typename Value>
void optional_number(Fields& f, Value& value, const char* what) {
  bool has_value = value.has_value();
  f.flag(has_value, what);
  if (!has_value) return;
  if constexpr (!std::is_const_v<Value>) value.emplace();
  f.number(*value, what);
}

// By its name, which no change of the table of types changes.
template <typename Fields, typename Value>
void dtype(Fields& f, Value& value) {
  std::string name;
  if constexpr (std::is_const_v<Value>) name = name_of(value);
  f.text(name, "name of an element type");
  if constexpr (!std::is_const_v<Value>) {
    const auto known = parse_dtype(name);
    f.expect(known.has_value(), "the plan has an element type that this version does not know");
    value = *known;
  }
}

template <typename Fields, typename Sizes>
void sizes(Fields& f, Sizes& values, const char* what) {
  f.list(values, what, [&](auto& value) { f.number(value, what); });
}

template <typename Fields, typename Kernel>
void kernel(Fields& f, Kernel& value) {
  f.text(value.name, "name of a kernel");
  f.list(value.params, "parameters of a kernel", [&](auto& param) {
    f.text(param.name, "name of a parameter");
    f.flag(param.is_pointer, "kind of a parameter");
    dtype(f, param.dtype);
  });
  f.number(value.scratch_bytes, "scratch memory of a kernel");
  f.number(value.object, "object of a kernel");
}

template <typename Fields, typename Run>
void steps(Fields& f, Run& value) {
  f.list(value.steps, "list of steps", [&](auto& step) {
    f.number(step.kernel, "kernel of a step");
    f.number(step.first_grid, "grids of a step");
    f.number(step.grids, "grids of a step");
    f.number(step.first_slot, "arguments of a step");
    f.number(step.slots_of_a_grid, "arguments of a step");
    f.flag(step.spread, "spread of a step");
  });
  f.list(value.grids, "list of grids", [&](auto& grid) {
    for (auto& size : grid.size) f.number(size, "size of a grid");
  });
  f.list(value.slots, "list of arguments", [&](auto& slot) {
    f.choice(slot.kind, std::size_t{5}, "kind of an argument");
    f.number(slot.index, "argument");
    f.number(slot.offset, "offset of an argument");
    f.number(slot.bytes, "size of an argument");
    f.flag(slot.is_written, "use of an argument");
  });
  sizes(f, value.output_bytes, "sizes of outputs");
  f.list(value.results, "list of results",
         [&](auto& result) { optional_number(f, result, "result of a run"); });
  f.number(value.arena_bytes, "size of the arena");
}

template <typename Fields, typename Own>
void executable(Fields& f, Own& value) {
  steps(f, value.run);
  f.list(value.kernels, "kernels of an executable", [&](auto& use) {
    f.choice(use.kind, std::size_t{3}, "kind of a kernel");
    f.number(use.index, "kernel of an executable");
    f.flag(use.is_batched, "use of a kernel");
  });
  f.list(value.constants, "constants of an executable",
         [&](auto& blob) { f.number(blob, "constant of an executable"); });
}

template <typename Fields, typename Pieces>
void pieces(Fields& f, Pieces& values, const char* what) {
  f.list(values, what, [&](auto& piece) {
    f.number(piece.argument, what);
    f.number(piece.offset, what);
    f.number(piece.bytes, what);
  });
}

template <typename Fields, typename Own>
void control_flow(Fields& f, Own& value) {
  auto& control = value.control;
  f.choice(control.kind, std::size_t{3}, "kind of control flow");
  pieces(f, control.operands, "operands of control flow");
  pieces(f, control.results, "results of control flow");
  f.list(control.bodies, "bodies of control flow", [&](auto& body) {
    f.number(body.inputs, "inputs of a body");
    f.list(body.packed, "weights of a body", [&](auto& each) { f.number(each, "weight"); });
    f.list(body.results, "results of a body", [&](auto& result) {
      dtype(f, result.dtype);
      sizes(f, result.shape, "shape of a result");
      optional_number(f, result.input, "source of a result");
      sizes(f, result.strides, "strides of a result");
    });
  });
  f.number(control.carried, "carried values");
  f.number(control.sliced, "sliced values");
  f.number(control.turns, "turns of a loop");
  f.flag(control.descending, "direction of a loop");
  f.list(value.bodies, "executables of control flow",
         [&](auto& each) { f.number(each, "executable of a body"); });
}

template <typename Fields, typename Range>
void range(Fields& f, Range& value) {
  f.number(value.least, "range of an index");
  f.number(value.end, "range of an index");
  optional_number(f, value.ignored, "range of an index");
  f.text(value.before, "message about an index");
  f.text(value.after, "message about an index");
}

template <typename Fields, typename Tensors>
void tensors(Fields& f, Tensors& values, const char* what) {
  f.list(values, what, [&](auto& tensor) {
    f.text(tensor.name, "name of a tensor");
    dtype(f, tensor.dtype);
    sizes(f, tensor.shape, "shape of a tensor");
    f.flag(tensor.is_written, "use of a tensor");
  });
}

template <typename Fields, typename Function>
void function(Fields& f, Function& value) {
  tensors(f, value.inputs, "list of inputs");
  tensors(f, value.outputs, "list of outputs");
  f.list(value.results, "sources of outputs", [&](auto& result) {
    f.flag(result.is_input, "source of an output");
    f.number(result.index, "source of an output");
    sizes(f, result.strides, "strides of an output");
    f.number(result.offset, "offset of an output");
  });
  f.list(value.bindings, "list of bindings", [&](auto& binding) {
    f.choice(binding.kind, std::size_t{3}, "kind of a binding");
    f.number(binding.index, "binding");
    f.number(binding.offset, "offset of a binding");
  });
  f.list(value.checks, "list of checks", [&](auto& check) {
    f.number(check.argument, "argument of a check");
    sizes(f, check.offsets, "elements of a check");
    f.number(check.count, "elements of a check");
    range(f, check.range);
  });
  f.list(value.extrema, "list of checks of results", [&](auto& each) { range(f, each); });
  f.number(value.threads, "number of threads");
  f.number(value.executable, "executable of a function");
  f.list(value.weights, "weights of a function", [&](auto& hash) {
    f.number(hash.high, "hash of a weight");
    f.number(hash.low, "hash of a weight");
  });
}

// All but the blobs.
template <typename Fields, typename Contents>
void contents(Fields& f, Contents& value) {
  f.text(value.producer, "producer");
  f.text(value.instruction_set, "instruction set");
  f.list(value.kernels, "list of kernels", [&](auto& each) { kernel(f, each); });
  f.list(value.control_flow, "list of control flow", [&](auto& each) { control_flow(f, each); });
  f.list(value.refusals, "list of errors", [&](auto& each) { f.text(each, "text of an error"); });
  f.list(value.executables, "list of executables", [&](auto& each) { executable(f, each); });
  f.list(value.functions, "list of functions", [&](auto& each) { function(f, each); });
}

}  // namespace tilewright::package_fields
