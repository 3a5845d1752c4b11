#include "runtime/package/contents_text.h"

#include <set>

#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright {
namespace {

std::string list_of(const char* what, const std::vector<PackageTensor>& tensors) {
  std::string text;
  for (const PackageTensor& tensor : tensors)
    text += concat("  ", what, " ", shown(tensor.name), ": ", tensor.dtype, " [", tensor.shape, "]",
                   tensor.is_written ? ", written in place" : "", "\n");
  return text;
}

std::string text_of_slot(const ArgumentSlot& slot) {
  const char* written = slot.is_written ? "=" : "";
  switch (slot.kind) {
    case SlotKind::input: return concat("input", slot.index, written);
    case SlotKind::output: return concat("output", slot.index, written);
    case SlotKind::constant: return concat("constant", slot.index);
    case SlotKind::arena:
      return concat("arena[", slot.offset, ", ", slot.offset + slot.bytes, ")", written);
    case SlotKind::number: return concat(slot.offset);
  }
  __builtin_unreachable();
}

std::string name_of_kernel(const PackageContents& contents, const PackageKernelUse& use) {
  if (use.kind == PackageKernelUse::Kind::code) return shown(contents.kernels[use.index].name);
  if (use.kind == PackageKernelUse::Kind::refusal)
    return concat("error \"", shown(contents.refusals[use.index]), "\"");
  const PackageControlFlow& own = contents.control_flow[use.index];
  const char* kind = own.control.kind == ControlKind::cond         ? "cond"
                     : own.control.kind == ControlKind::while_loop ? "while_loop"
                                                                   : "scan";
  std::string bodies;
  for (std::uint32_t body : own.bodies) bodies += concat(bodies.empty() ? "" : ", ", body);
  return concat(kind, " of plans ", bodies);
}

// "3: softmax 4x1x1 (input0, arena[0, 256)=)", with a list of arguments for each grid.
std::string text_of_step(const PackageContents& contents, const PackageExecutable& executable,
                         std::size_t number) {
  const Executable& run = executable.run;
  const ExecutableStep& step = run.steps[number];
  std::string text =
      concat("  ", number, ": ", name_of_kernel(contents, executable.kernels[step.kernel]));
  for (std::uint32_t i = 0; i < step.grids; ++i) {
    const Grid& grid = run.grids[step.first_grid + i];
    text += concat(" ", grid.size[0], "x", grid.size[1], "x", grid.size[2], " (");
    for (std::uint32_t j = 0; j < step.slots_of_a_grid; ++j)
      text += concat(j == 0 ? "" : ", ",
                     text_of_slot(run.slots[step.first_slot + i * step.slots_of_a_grid + j]));
    text += ")";
  }
  return text + "\n";
}

std::string text_of_function(const PackageContents& contents, const PackageFunction& function) {
  const PackageExecutable& executable = contents.executables[function.executable];
  return concat(list_of("input", function.inputs), list_of("output", function.outputs), "  plan ",
                function.executable, ": ", executable.run.steps.size(), " launches of ",
                executable.kernels.size(), " kernels, ", executable.run.arena_bytes,
                " bytes of intermediate values\n");
}

// "avx512", or "avx512, avx2, of which this is the code for avx2".
std::string sets_text(const PackageContents& contents,
                      const std::vector<std::string>& instruction_sets) {
  std::string text;
  for (const std::string& set : instruction_sets) text += concat(text.empty() ? "" : ", ", set);
  return instruction_sets.size() == 1
             ? text
             : concat(text, ", of which this is the code for ", contents.instruction_set);
}

}  // namespace

std::string text_of(const PackageContents& contents,
                    const std::vector<std::string>& instruction_sets, bool steps) {
  std::size_t code = 0, data = 0;
  std::set<std::uint32_t> objects;
  for (const PackageKernel& kernel : contents.kernels) objects.insert(kernel.object);
  for (std::uint32_t i = 0; i < contents.blobs.size(); ++i)
    (objects.contains(i) ? code : data) += contents.blobs[i].bytes.size();
  std::string text = concat("made by ", shown(contents.producer), ", for processors with ",
                            sets_text(contents, instruction_sets), "\n", contents.kernels.size(),
                            " kernels, ", code, " bytes of code, ", data, " bytes of weights\n");
  for (std::size_t i = 0; i < contents.functions.size(); ++i)
    text += concat("function ", i, "\n", text_of_function(contents, contents.functions[i]));
  for (std::size_t i = 0; steps && i < contents.executables.size(); ++i) {
    text += concat("plan ", i, "\n");
    for (std::size_t j = 0; j < contents.executables[i].run.steps.size(); ++j)
      text += text_of_step(contents, contents.executables[i], j);
  }
  return text;
}

}  // namespace tilewright
