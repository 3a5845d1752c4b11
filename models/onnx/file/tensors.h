// Tensors of ONNX files: their elements as bytes, as lists of numbers, or in other files of the
// model's folder.
//
// Sizes are compared with the bytes that are there before memory is taken.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"
#include "models/onnx/file/wire.h"

namespace tilewright::onnx {

// The dtype of that number in ONNX's list. Raises `Error` that names it if this library lacks it.
DType dtype_of(std::int64_t number, const Place& place);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// `place` must outlive this.
class TensorFiles {
 public:
  // `file` is that of the model, held; `folder` where its other files may lie.
  TensorFiles(std::shared_ptr<ForeignFile> file, std::filesystem::path folder, Reading reading,
              const Place& place)
      : file_(std::move(file)), folder_(std::move(folder)), reading_(reading), place_(place) {}

  // A message that describes a tensor. Memory is the files' own where they are mapped and it is
  // aligned.
  NamedTensor read(Fields message);

 private:
  struct Description;
  // Another file of the folder, and the tensors that were copied from it.
  struct Other {
    std::shared_ptr<ForeignFile> file;
    std::map<std::tuple<std::int64_t, DType, Shape>, Tensor> known;  // by offset and type
    std::int64_t bytes = 0;                                          // of those
  };
  Description describe(Fields message) const;
  Tensor from_bytes(std::string_view bytes, const std::shared_ptr<ForeignFile>& owner,
                    const Description& description) const;
  Tensor from_numbers(const Description& description) const;
  Tensor from_file(const Description& description);

  std::shared_ptr<ForeignFile> file_;
  std::filesystem::path folder_;
  Reading reading_;
  const Place& place_;
  std::map<std::string, Other> others_;  // by name
};

}  // namespace tilewright::onnx
