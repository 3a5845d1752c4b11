#include "graph/functions/log.h"

#include <iostream>
#include <utility>

#include "graph/functions/tensor_text.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// At once, or as part of the function that is being captured.
void log(const Tensor& tensor, graph::LogCallback callback, std::string_view operation,
         std::source_location w) {
  TensorBody& body = graph::body_of(tensor, operation, w);
  if (graph::Capture* capture = graph::Capture::active())
    return capture->log(tensor, std::move(callback), operation, w);
  if (!body.buffer) graph::require_usable(body, operation, w);
  callback(graph::host_copy(tensor, operation, w));
}

}  // namespace

void log_callback(const Tensor& tensor, std::function<void(const Tensor&)> callback,
                  std::source_location w) {
  require(callback != nullptr, "[log_callback] the callback is empty (at ", graph::At{w},
          "); pass a function that takes a const Tensor&");
  log(tensor, std::move(callback), "log_callback", w);
}

void print(const Tensor& tensor, std::string label, std::source_location w) {
  print(tensor, std::move(label), std::cout, w);
}

void print(const Tensor& tensor, std::ostream& stream, std::source_location w) {
  print(tensor, {}, stream, w);
}

void print(const Tensor& tensor, std::string label, std::ostream& stream, std::source_location w) {
  auto write = [label = std::move(label), &stream](const Tensor& value) {
    stream << concat(label, label.empty() ? "" : ": ", value.dtype(), " ", value.shape(), "\n",
                     graph::text_of_elements(value), "\n")
           << std::flush;
  };
  log(tensor, std::move(write), "print", w);
}

}  // namespace tilewright
