// The tensors that an archive holds: parameters, buffers and constants, each under PyTorch's name.
//
// data/weights and data/constants have a table, in JSON, from names to entries that are the bytes
// of a storage, and to how the tensor lies in it. PyTorch 2.7 and before have two files of
// torch.save instead, where a pickle stands for the table (pickle.h). All of that is foreign: the
// elements that a tensor can reach must lie in its entry.
#pragma once

#include <map>
#include <string>

#include "graph/tensor/tensor.h"
#include "models/exported/archive.h"

namespace tilewright::exported {

// Tensors of one name in the tables share memory where they share an entry and lie equally in it.
// With Reading::mapped those whose bytes lie aligned are the file's memory. Raises `Error`
// "[load_exported] ..." for faults of the tables, and for tensors that are pickled.
std::map<std::string, Tensor> read_tensors(const Archive& archive);

}  // namespace tilewright::exported
