// One call of a compiled function, whatever the function takes: the tensors, and the rest as a
// form.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/compile/calls/argument_form.h"
#include "graph/compile/calls/structure.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

struct Call {
  const TensorFunction& function;
  const std::vector<Tensor>& arguments;           // all tensors in what it was given
  const std::string& form;                        // the rest of that, as a key; empty: nothing
  const std::function<ArgumentForm()>& describe;  // the same in words
};

}  // namespace tilewright::graph
