// A program that PyTorch has exported (`torch.export.save`, .pt2), as a module of this library.
//
//   auto model = load_exported("model.pt2");
//   std::vector<Tensor> outputs = model->forward({ids});     // at once, operator by operator
//   auto fast = compile(*model);                             // as one graph
//   outputs = fast({ids});
//
// The archive is foreign and read as such; PyTorch is not needed. Supported is the layout that
// PyTorch 2.8 and later write: the graph in models/model.json, tensors as bytes. Programs are best
// exported with `run_decompositions()`, after which few hundred operators occur; those that this
// library knows are a table (aten/operators.h), and a program that has others is refused with a
// list of all of them.
//
// What differs from PyTorch: memory formats are not kept (all results are row-major), and memory
// that a program leaves uninitialised is 0.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"
#include "models/layers/module.h"

namespace tilewright {

struct ExportedOptions {
  // With `mapped`, parameters whose bytes lie aligned in the file (PyTorch's do) are the file's own
  // memory, and no checksum is looked at; otherwise they are copied and compared with it.
  Reading reading = Reading::as_needed;
};

// An axis of an input whose size may differ from call to call, by the program.
struct DynamicAxis {
  int axis;
  std::string size;       // as the program calls it, "s27" or "2 * s27"
  std::int64_t min, max;  // both included; of the symbol
};
struct ExportedInput {
  std::string name;  // of the parameter of forward(), nested ones joined
  DType dtype;
  Shape shape;  // -1 where the size may differ
  std::vector<DynamicAxis> dynamic;
};
// An operator of a program.
struct ExportedOperator {
  std::string name;  // "aten.add.Tensor"
  std::int64_t count;
  bool is_known;
  std::string source;  // the first line of the model that it comes from, "modeling_bert.py:82"
};

// Parameters have PyTorch's names ("encoder.layer.0.weight"); buffers move with the module.
// `forward` writes to buffers where the program does. Not thread safe with itself then; otherwise
// as any Module.
class ExportedModule : public Module {
 public:
  ~ExportedModule() override;

  const std::vector<ExportedInput>& inputs() const;
  const std::vector<std::string>& outputs() const;  // names in the program
  const std::vector<ExportedOperator>& operators() const;
  const std::string& torch_version() const;

  // The program's outputs for its inputs, in their order. Raises `Error` for another number of
  // inputs, another dtype or rank, and a size that the program does not allow, which names the
  // input, the axis, the size and the range; errors of operators name the node and the model's
  // line.
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) const;

  // Declares the sizes that may differ (mark_dynamic) on example inputs, so that a compiled
  // function is made for all of them at its first call.
  void mark_dynamic_sizes(const std::vector<Tensor>& inputs) const;

 private:
  friend std::unique_ptr<ExportedModule> load_exported(const std::filesystem::path& path,
                                                       const ExportedOptions& options);
  struct State;
  explicit ExportedModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Raises `Error` "[load_exported] PATH: ..." for what is wrong with the file, and for a program
// with operators that are not known: all of them, with how often each occurs and where first.
std::unique_ptr<ExportedModule> load_exported(const std::filesystem::path& path,
                                              const ExportedOptions& options = {});

// What a file's program is, also where not all of its operators are known.
struct ExportedSummary {
  std::vector<ExportedInput> inputs;
  std::vector<std::string> outputs;
  std::vector<ExportedOperator> operators;  // the most frequent first
  std::int64_t nodes, parameters, parameter_bytes;
  std::string torch_version;
};
ExportedSummary inspect_exported(const std::filesystem::path& path);

}  // namespace tilewright
