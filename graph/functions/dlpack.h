// Sharing tensors with other libraries by DLPack (https://dmlc.github.io/dlpack), without a copy.
//
// Both current forms are spoken: the versioned one of DLPack 1.x and the one before it. The structs
// are those of dlpack.h, declared here by name only, so that a program may include that header too.
//
// Data on a GPU is handed over in stream order. Imported data must be ready in the calling thread's
// stream. Work on exported data may be unfinished there: the receiver waits for that stream, or the
// exporter calls Device::synchronize() first.
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

// The receiver of the result must call its deleter; the tensor's memory lives until then. A frozen
// tensor (`Options::freezing`) is exported as read-only; the older struct has no such flag and
// raises `Error`. If the tensor is a result that its function's next call overwrites
// (reduce-overhead), the receiver then sees that call's result, and perhaps parts of both while it
// runs: share a clone() if that may happen.
DLManagedTensorVersioned* to_dlpack(const Tensor& tensor,
                                    std::source_location w = std::source_location::current());
DLManagedTensor* to_dlpack_legacy(const Tensor& tensor,
                                  std::source_location w = std::source_location::current());

}  // namespace tilewright
