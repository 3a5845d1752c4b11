// An ONNX model (.onnx), as a module of this library.
//
//   auto model = load_onnx("model.onnx");
//   std::vector<Tensor> outputs = model->forward({ids});     // at once, operator by operator
//   auto fast = compile(*model);                             // as one graph
//   outputs = fast({ids});
//
// Files are foreign and read as such. Models of the operator sets up to 24 are read as far as the
// operators have the meaning that this library knows, which is a table (operators/table.h), and has
// linear models and forests of the domain ai.onnx.ml; one that has others is refused with a list of
// all of them. Tensors may lie in other files of the model's folder, nowhere else. Sequences are
// supported within a model, not as inputs or outputs; strings and training are not.
//
// Sizes, and values that a model computes from sizes, are numbers of the host, at once and inside
// compile(); values computed from data and then used as a size, an axis or a bound are read from
// the tensor, which breaks a compiled function's graph there. Branches and loops become those of
// the graph where they can (control/loops.h); one that its data never ends can be stopped
// (runtime/plan/loop_stop.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"
#include "models/programs/program_module.h"
#include "runtime/files/file_path.h"
#include "runtime/owned.h"

namespace tilewright {

struct OnnxOptions {
  // With `mapped`, initializers whose bytes lie aligned in a file are the file's own memory.
  Reading reading = Reading::as_needed;
  // Inputs that the application holds constant, by name: {.constants = {{"sr", rate}}}. They are no
  // inputs of the module then. Branches whose conditions follow from them, or from sizes that the
  // model declares, are decided here; the other branch and its weights go. A name that is no input,
  // or a tensor of another dtype, rank or size, is an Error. An input that has an initializer (a
  // default) is constant anyway; a tensor here takes the initializer's place.
  std::map<std::string, Tensor> constants = {};
};

// Parameters are the model's initializers, under their names. Exceptions are integers and flags
// that are few and floats (f32, f64) without axes, which are constants (sizes, axes, factors and
// the like), and floats that no output has a gradient by, as running statistics, which are named
// buffers. Thread safe as any Module.
class OnnxModule : public ProgramModule {
 public:
  ~OnnxModule() override;

  const std::vector<ProgramInput>& inputs() const override;
  const std::vector<std::string>& outputs() const override;
  const std::vector<ProgramOperator>& operators() const override;
  std::int64_t opset() const;  // of the domain ai.onnx
  // The names of inputs that have a default, and that OnnxOptions::constants may give.
  const std::vector<std::string>& defaults() const;
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) const override;
  std::vector<Tensor> forward_with(const std::map<std::string, Tensor>& parameters,
                                   const std::vector<Tensor>& inputs) const override;
  void mark_dynamic_sizes(const std::vector<Tensor>& inputs) const override;

 protected:
  std::string training_operator() const override;
  const std::string& file() const override;

 private:
  friend std::unique_ptr<OnnxModule> load_onnx(const FilePath& path, const OnnxOptions& options);
  struct State;
  explicit OnnxModule(std::unique_ptr<State> state);
  Owned<State> state_;
};

// Raises `Error` "[load_onnx] PATH: ..." for faults of the file, and for a model with unknown
// operators: all of them, with how often each occurs and where first.
std::unique_ptr<OnnxModule> load_onnx(const FilePath& path, const OnnxOptions& options = {});

// Summarises a file's program, even if some of its operators are unknown.
ProgramSummary inspect_onnx(const FilePath& path, const OnnxOptions& options = {});

}  // namespace tilewright
