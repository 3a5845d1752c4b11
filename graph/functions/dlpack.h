// Sharing tensors with other libraries by DLPack (https://dmlc.github.io/dlpack), without a copy.
//
// Both current forms are spoken: the versioned one of DLPack 1.x and the one before it. The structs
// are those of dlpack.h, declared here by name only, so that a program may include that header too.
//
// Data on a GPU is handed over in the order of a stream. What comes in must be ready in the calling
// thread's stream; of what goes out, work may be unfinished there: the receiver waits for that
// stream, or the giver calls Device::synchronize() first.
#pragma once

#include "graph/tensor/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tilewright {

// Takes ownership; `managed` is given back when the last tensor over its memory is gone. Memory
// that may only be read is copied. Raises `Error` (and does not take ownership) for a type, device
// or version that this library does not know, naming it.
Tensor from_dlpack(DLManagedTensorVersioned* managed);
Tensor from_dlpack(DLManagedTensor* managed);

// The caller calls its deleter, or hands it to who does. The tensor's memory lives until then. A
// frozen tensor (`Options::freezing`) goes out marked as one that may only be read; the former form
// has no such mark and raises `Error`. Of a result that its function's next call overwrites
// (reduce-overhead) the receiver sees that call's result then, and maybe parts of both while it
// runs: share a clone() where that may happen.
DLManagedTensorVersioned* to_dlpack(const Tensor& tensor,
                                    std::source_location w = std::source_location::current());
DLManagedTensor* to_dlpack_legacy(const Tensor& tensor,
                                  std::source_location w = std::source_location::current());

}  // namespace tilewright
