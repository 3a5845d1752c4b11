#include "graph/compile/packages/package.h"

#include <utility>

#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/package/contents_text.h"
#include "runtime/package/loaded_package.h"

namespace tilewright {

// The argument as a kernel of the package reads it: row-major.
static Tensor row_major_argument(const Tensor& argument, std::size_t number) {
  require(argument.defined() && !argument.is_symbolic(), "[run_package] argument ", number,
          argument.defined() ? " is part of a function that is being compiled; call the package "
                               "outside of it"
                             : " is undefined; pass a tensor");
  const TensorBody& body = *argument.body();
  graph::require_current(body.token, "run_package", std::nullopt);
  require(graph::memory_of(argument) == nullptr, "[run_package] argument ", number, " lies on ",
          argument.device().text(), "; pass it to(Device::cpu())");
  return is_row_major(body.view.shape, body.view.strides) ? argument : argument.clone();
}

Package::Package(std::shared_ptr<const LoadedPackage> loaded) : loaded_(std::move(loaded)) {
  std::vector<PackageSignature> signatures;
  for (const PackageFunction& function : loaded_->contents().functions)
    signatures.push_back({function.inputs, function.outputs});
  signatures_ = std::make_shared<const std::vector<PackageSignature>>(std::move(signatures));
}

std::vector<Tensor> Package::run(std::span<const Tensor> arguments) const {
  std::vector<Tensor> own;
  std::vector<PackageArgument> described;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    own.push_back(row_major_argument(arguments[i], i));
    addresses.push_back(graph::address_of(*own.back().body()));
    described.push_back({own.back().dtype(), own.back().shape(), addresses.back()});
  }
  const PackageFunction& function = loaded_->function_for(described);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!function.inputs[i].is_written) continue;
    require(own[i].body() == arguments[i].body(), "[run_package] argument ", i,
            " is written in place, and is not contiguous; pass a clone() of it");
    graph::require_writable(*own[i].body(), "run_package", {});
  }
  const auto buffers = loaded_->run(function, addresses);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    results.push_back(graph::make_tensor(function.outputs[i].dtype,
                                         graph::row_major(function.outputs[i].shape), buffers[i]));
  return results;
}

const std::vector<std::string>& Package::instruction_sets() const {
  return loaded_->instruction_sets();
}
const std::string& Package::instruction_set() const { return loaded_->contents().instruction_set; }

std::string Package::text(bool steps) const {
  return text_of(loaded_->contents(), loaded_->instruction_sets(), steps);
}

Package load_package(const FilePath& file, const PackageLoadOptions& options) {
  return Package(std::make_shared<const LoadedPackage>(file, options));
}

}  // namespace tilewright
