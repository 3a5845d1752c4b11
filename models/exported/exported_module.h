// A program that PyTorch has exported (`torch.export.save`, .pt2), as a module of this library.
//
//   auto model = load_exported("model.pt2");
//   std::vector<Tensor> outputs = model->forward({ids});     // at once, operator by operator
//   auto fast = compile(*model);                             // as one graph
//   outputs = fast({ids});
//
// The archive is foreign and read as such; PyTorch is not needed. It supports the files that
// PyTorch 2.6 and later write (archive_layout.h), with `run_decompositions()` or without, where
// layers keep their names and programs write in place.
// The operators that this library knows are a table (aten/operators.h); a program that has others
// is refused with a list of all of them.
//
// A number that a program gives is a tensor without axes (i64, f64 or bool); so is an integer that
// it takes, where forward(x, k) was exported for any k (i64). Tensors of complex
// numbers (complex64, complex128), given and taken, are real ones with a last axis of 2, the real
// and the imaginary parts, as torch.view_as_real sees them; so are parameters and buffers.
//
// Differences from PyTorch: memory formats are not kept (all results are row-major), so that where
// PyTorch would copy a tensor in another layout (a reshape of x.t() + 1), a program that writes to
// the result in place writes to the tensor too; memory that a program leaves uninitialised is 0; a
// float that an integer cannot hold becomes the nearest one that it can.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"
#include "models/programs/program_module.h"
#include "runtime/files/file_path.h"
#include "runtime/owned.h"

namespace tilewright {

struct ExportedOptions {
  // With `mapped`, parameters whose bytes lie aligned in the file (PyTorch's do) are the file's own
  // memory, and no checksum is looked at; otherwise they are copied and compared with it.
  Reading reading = Reading::as_needed;
  // Inputs that the application holds constant, by name: {.constants = {{"sr", rate}}}. They are no
  // inputs of the module then, and a branch (torch.cond) whose condition follows from them by
  // comparisons and arithmetic is decided here. A name that is no input, a tensor of another dtype,
  // rank or size, and a size outside the program's range are an Error, as is an input that the
  // program writes to.
  std::map<std::string, Tensor> constants = {};
};

// Parameters and buffers have PyTorch's names ("encoder.layer.0.weight", "norm.running_mean"), so
// that `state()` is PyTorch's state_dict of the exported module and `load` takes one; buffers that
// are not persistent and constants only move with the module. `forward` writes to buffers where the
// program does. Not thread safe with itself then; otherwise as any Module.
class ExportedModule : public ProgramModule {
 public:
  ~ExportedModule() override;

  const std::vector<ProgramInput>& inputs() const override;
  const std::vector<std::string>& outputs() const override;
  const std::vector<ProgramOperator>& operators() const override;
  const std::string& torch_version() const;
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) const override;
  std::vector<Tensor> forward_with(const std::map<std::string, Tensor>& parameters,
                                   const std::vector<Tensor>& inputs) const override;
  void mark_dynamic_sizes(const std::vector<Tensor>& inputs) const override;

 protected:
  std::string training_operator() const override;
  const std::string& file() const override;

 private:
  friend std::unique_ptr<ExportedModule> load_exported(const FilePath& path,
                                                       const ExportedOptions& options,
                                                       std::source_location w);
  struct State;
  explicit ExportedModule(std::unique_ptr<State> state);
  Owned<State> state_;
};

// Raises `Error` "[load_exported] PATH: ..." for faults of the file, and for a program with unknown
// operators: all of them, with how often each occurs and where first.
std::unique_ptr<ExportedModule> load_exported(
    const FilePath& path, const ExportedOptions& options = {},
    std::source_location w = std::source_location::current());

// Summarises a file's program, even if some of its operators are unknown.
ProgramSummary inspect_exported(const FilePath& path, const ExportedOptions& options = {});

}  // namespace tilewright
