#include "graph/compile/c_library/c_function.h"

#include <algorithm>

#include "runtime/base/concat.h"
#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t alignment = 64;
std::int64_t padded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Floats that C lacks, and truth values, are integers of their width.
std::string c_type(DType dtype) {
  const int bits = bit_width(dtype);
  if (is_floating(dtype) && bits >= 32) return bits == 32 ? "float" : "double";
  const bool is_signed = kind_of(dtype) == DTypeKind::signed_integer;
  return concat(is_signed ? "int" : "uint", bits, "_t");
}

// "in_" and the tensor's name, as far as C has its letters, unlike those before it.
void add_parameter(std::vector<std::string>& names, const char* prefix, const std::string& tensor,
                   std::size_t number) {
  std::string name = prefix;
  for (char c : tensor) name += is_name_letter(c) ? c : '_';
  if (tensor.empty()) name += std::to_string(number);
  while (std::ranges::find(names, name) != names.end()) name += concat("_", number);
  names.push_back(name);
}

// A string of C; bytes that are no plain letters as their octal numbers.
std::string literal(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?';
    if (is_plain) {
      quoted += c;
      continue;
    }
    quoted += '\\';
    for (int shift : {6, 3, 0}) quoted += static_cast<char>('0' + (byte >> shift & 7));
  }
  return quoted + '"';
}

std::string comment_of(const std::string& parameter, const PackageTensor& tensor) {
  return concat("//   ", parameter, ": ", tensor.dtype, " [", tensor.shape, "], ", tensor.bytes(),
                " bytes", tensor.is_written ? ", written in place" : "", "\n");
}

std::string outside(const PackageRange& range, const std::string& number) {
  const std::string ignored =
      range.ignored ? concat(" && ", number, " != INT64_C(", *range.ignored, ")") : "";
  return concat("(", number, " < ", range.least, " || ", number, " >= ", range.end, ")", ignored);
}
std::string message(const PackageRange& range) {
  return literal(concat(range.before, "N", range.after));
}

}  // namespace

CFunction::CFunction(const CLibrary& library, std::size_t number)
    : library_(library),
      function_(library.contents.functions[number]),
      executable_(library.contents.executables[function_.executable]),
      name_(library.contents.functions.size() == 1 ? library.name + "_run"
                                                   : concat(library.name, "_run_", number)) {
  for (std::size_t i = 0; i < function_.inputs.size(); ++i)
    add_parameter(inputs_, "in_", function_.inputs[i].name, i);
  for (std::size_t i = 0; i < function_.outputs.size(); ++i)
    add_parameter(outputs_, "out_", function_.outputs[i].name, i);
  place_memory();
}

// The arena, each output buffer, and the scratch memory of one kernel at a time.
void CFunction::place_memory() {
  const Executable& run = executable_.run;
  std::int64_t at = padded(run.arena_bytes);
  first_use_.assign(run.output_bytes.size(), function_.outputs.size());
  for (std::size_t i = function_.outputs.size(); i-- > 0;)
    if (const PackageResult& result = function_.results[i];
        !result.is_input && function_.outputs[i].bytes() == run.output_bytes[result.index])
      first_use_[result.index] = i;
  for (std::int64_t bytes : run.output_bytes) {
    buffers_at_.push_back(at);
    at += padded(bytes);
  }
  scratch_at_ = at;
  std::int64_t scratch = 0;
  for (const PackageKernelUse& use : executable_.kernels)
    scratch = std::max(scratch, library_.contents.kernels[use.index].scratch_bytes);
  workspace_bytes_ = at + padded(scratch);
}

std::string CFunction::comment() const {
  std::string text;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    text += comment_of(inputs_[i], function_.inputs[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    text += comment_of(outputs_[i], function_.outputs[i]);
  return text;
}

std::string CFunction::prototype() const {
  std::string parameters;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    parameters += concat(function_.inputs[i].is_written ? "" : "const ",
                         c_type(function_.inputs[i].dtype), "* ", inputs_[i], ", ");
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    parameters += concat(c_type(function_.outputs[i].dtype), "* ", outputs_[i], ", ");
  return concat("const char* ", name_, "(", parameters, "void* workspace)");
}

std::string CFunction::definition() const {
  std::string unused;
  for (const std::string& input : inputs_) unused += concat("  (void)", input, ";\n");
  return concat(prototype(),
                " {\n  const char* const problem = problem_of(workspace);\n"
                "  if (problem != NULL) return problem;\n"
                "  char* const memory = workspace;\n  void* const scratch = memory + ",
                scratch_at_, ";\n  (void)scratch;\n", unused, checks_of_indices(), output_buffers(),
                steps(), checks_of_extrema(), copies(), "  return NULL;\n}\n");
}

std::string CFunction::checks_of_indices() const {
  std::string text;
  for (const PackageIndexCheck& check : function_.checks) {
    const std::string& input = inputs_[check.argument];
    const std::string wrong =
        concat("if (", outside(check.range, "n"), ") return ", message(check.range), ";\n");
    if (check.offsets.empty()) {
      text += concat("  for (int64_t i = 0; i < ", check.count,
                     "; ++i) {\n    const int64_t n = ", "(int64_t)", input, "[i];\n    ", wrong,
                     "  }\n");
      continue;
    }
    for (std::int64_t at : check.offsets)
      text += concat("  {\n    const int64_t n = (int64_t)", input, "[", at, "];\n    ", wrong,
                     "  }\n");
  }
  return text;
}

std::string CFunction::output_buffers() const {
  std::string text;
  for (std::size_t i = 0; i < buffers_at_.size(); ++i) {
    const std::string own = concat("memory + ", buffers_at_[i]);
    const std::string& output =
        first_use_[i] < outputs_.size() ? outputs_[first_use_[i]] : std::string();
    text += concat("  void* const buffer_", i, " = ",
                   output.empty() ? own
                                  : concat("(uintptr_t)", output, " % 64 == 0 ? (void*)", output,
                                           " : (void*)(", own, ")"),
                   ";\n  (void)buffer_", i, ";\n");
  }
  return text;
}

std::string CFunction::steps() const {
  std::string text;
  for (const ExecutableStep& step : executable_.run.steps)
    for (std::uint32_t grid = 0; grid < step.grids; ++grid) text += call(step, grid);
  return text;
}

std::string CFunction::call(const ExecutableStep& step, std::uint32_t grid) const {
  const Executable& run = executable_.run;
  const Grid& sizes = run.grids[step.first_grid + grid];
  const std::uint32_t kernel = executable_.kernels[step.kernel].index;
  if (sizes.count() == 0) return "";
  std::string arguments;
  for (std::uint32_t i = 0; i < step.slots_of_a_grid; ++i)
    arguments += concat(i == 0 ? "" : ",\n                         ",
                        argument(run.slots[step.first_slot + grid * step.slots_of_a_grid + i]));
  return concat("  {\n    const argument arguments[] = {", arguments, "};\n",
                "    const int64_t grid[] = {", sizes.size[0], ", ", sizes.size[1], ", ",
                sizes.size[2], "};\n    ", library_.kernel_symbol(kernel), "(arguments, grid, 0, ",
                sizes.count(), ", scratch);\n  }\n");
}

std::string CFunction::argument(const ArgumentSlot& slot) const {
  auto pointer = [](const std::string& address) { return concat("{.pointer = ", address, "}"); };
  switch (slot.kind) {
    case SlotKind::input: return pointer(input_address(slot.index));
    case SlotKind::output: return pointer(concat("buffer_", slot.index));
    case SlotKind::constant: return pointer(data_at(executable_.constants[slot.index], 0));
    case SlotKind::arena: return pointer(concat("memory + ", slot.offset));
    case SlotKind::number:
      return concat("{.bits = UINT64_C(", static_cast<std::uint64_t>(slot.offset), ")}");
  }
  __builtin_unreachable();
}

std::string CFunction::input_address(std::size_t input) const {
  const PackageBinding& binding = function_.bindings[input];
  switch (binding.kind) {
    case PackageBinding::Kind::none: return "NULL";
    case PackageBinding::Kind::argument: return inputs_[binding.index];
    case PackageBinding::Kind::blob: return data_at(binding.index, binding.offset);
  }
  __builtin_unreachable();
}

std::string CFunction::data_at(std::size_t blob, std::int64_t offset) const {
  return concat(library_.data_symbol(), " + ",
                library_.data_offsets[blob] + static_cast<std::size_t>(offset));
}

// Two numbers a range, the least and the greatest that a kernel met; the least is above the
// greatest where it met none.
std::string CFunction::checks_of_extrema() const {
  std::string text;
  for (std::size_t i = 0; i < function_.extrema.size(); ++i) {
    const std::size_t first = function_.outputs.size() + 2 * i;
    const PackageRange& range = function_.extrema[i];
    text += concat(
        "  {\n    int64_t least, most;\n    memcpy(&least, buffer_", function_.results[first].index,
        ", sizeof least);\n    memcpy(&most, buffer_", function_.results[first + 1].index,
        ", sizeof most);\n    if (least <= most && ((", outside(range, "least"), ") || (",
        outside(range, "most"), ")))\n      return ", message(range), ";\n  }\n");
  }
  return text;
}

std::string CFunction::copies() const {
  std::string text;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const PackageResult& result = function_.results[i];
    if (function_.outputs[i].bytes() == 0) continue;
    if (result.is_input)
      text += copy_of_input(i);
    else
      text += concat("  if (buffer_", result.index, " != (void*)", outputs_[i], ") memcpy(",
                     outputs_[i], ", buffer_", result.index, ", ", function_.outputs[i].bytes(),
                     ");\n");
  }
  return text;
}

// Elements that lie apart by strides, one behind the other.
std::string CFunction::copy_of_input(std::size_t output) const {
  const PackageTensor& tensor = function_.outputs[output];
  const PackageResult& result = function_.results[output];
  const int size = size_bytes(tensor.dtype);
  const std::string from = concat("(const char*)(", input_address(result.index), ")");
  if (is_row_major(tensor.shape, result.strides))
    return concat("  memcpy(", outputs_[output], ", ", from, " + ", result.offset * size, ", ",
                  tensor.bytes(), ");\n");
  std::string loops, offset = std::to_string(result.offset);
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    loops += concat("    for (int64_t i", axis, " = 0; i", axis, " < ", tensor.shape[axis], "; ++i",
                    axis, ")\n");
    offset += concat(" + i", axis, " * INT64_C(", result.strides[axis], ")");
  }
  return concat("  {\n    char* to = (char*)", outputs_[output], ";\n", loops, "      memcpy(to, ",
                from, " + (", offset, ") * ", size, ", ", size, "), to += ", size, ";\n  }\n");
}

}  // namespace tilewright::graph
