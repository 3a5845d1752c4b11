// Tensors beside each other, under PyTorch's names. Results are copies, but for those of
// broadcast_tensors and meshgrid, which are views. Axes count from the end where they are negative.
//
// Elements are promoted to one dtype. Misuse raises `Error`, a list without tensors is misuse; safe
// to call from several threads. (`cat` is in graph/tensor/tensor.h.)
#pragma once

#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Tensors of one shape along a new axis of the result.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0,
             std::source_location w = std::source_location::current());
// Along axis 1, of vectors and scalars along axis 0; along axis 0, vectors as rows; along axis 2,
// vectors [n] as [1, n, 1] and matrices [m, n] as [m, n, 1]; along axis 1, vectors as columns.
Tensor hstack(const std::vector<Tensor>& tensors,
              std::source_location w = std::source_location::current());
Tensor vstack(const std::vector<Tensor>& tensors,
              std::source_location w = std::source_location::current());
Tensor dstack(const std::vector<Tensor>& tensors,
              std::source_location w = std::source_location::current());
Tensor column_stack(const std::vector<Tensor>& tensors,
                    std::source_location w = std::source_location::current());
// Matrices (of vectors rows, of scalars [1, 1]) along the diagonal of one, zeros around them.
Tensor block_diag(const std::vector<Tensor>& tensors,
                  std::source_location w = std::source_location::current());

// All expanded to the shape that they broadcast to.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors,
                                      std::source_location w = std::source_location::current());
// The coordinates of all places of a grid of vectors: tensor i is vector i along axis i, and the
// same along the others. With `xy` the first two axes are exchanged, as pictures are laid out.
enum class GridOrder : std::uint8_t { ij, xy };
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridOrder order = GridOrder::ij,
                             std::source_location w = std::source_location::current());
// All choices of an element of each vector, a row each [choices, vectors]; of one vector itself.
Tensor cartesian_prod(const std::vector<Tensor>& vectors,
                      std::source_location w = std::source_location::current());

}  // namespace tilewright
