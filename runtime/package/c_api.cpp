// The C interface of packages. Nothing that is raised passes its functions.
#include "include/tilewright/c_api.h"

#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/package/contents_text.h"
#include "runtime/package/loaded_package.h"

struct tilewright_package {
  tilewright_package(const char* file, const tilewright::PackageLoadOptions& options)
      : loaded(file, options) {}
  tilewright::LoadedPackage loaded;
  mutable std::once_flag is_described;  // then there is the text
  mutable std::string text;
};

namespace tilewright {
namespace {

constexpr std::int32_t most_axes = 64;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

// The result of `call`, or `failure` and the reason where it raises.
template <typename Result, typename Call>
Result or_failure(Result failure, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    last_error().assign("no memory left");  // short enough to need none
  } catch (const std::exception& error) {
    try {
      last_error() = error.what();
    } catch (const std::bad_alloc&) {
      last_error().assign("no memory left");
    }
  }
  return failure;
}

PackageArgument argument_of(const tilewright_tensor& tensor, const char* what, std::size_t number) {
  require(tensor.dtype != nullptr, "[run_package] ", what, " ", number, " has no dtype");
  const auto dtype = parse_dtype(tensor.dtype);
  require(dtype.has_value(), "[run_package] ", what, " ", number, " has the dtype \"", tensor.dtype,
          "\", which is none; f32, i64 and bool are some");
  require(
      tensor.rank >= 0 && tensor.rank <= most_axes && (tensor.rank == 0 || tensor.shape != nullptr),
      "[run_package] ", what, " ", number, " has ", tensor.rank,
      " axes, or no shape; up to 64 axes are possible");
  const Shape shape(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.rank));
  return {*dtype, shape, tensor.data};
}

std::vector<PackageArgument> arguments_of(const tilewright_tensor* tensors, std::size_t count,
                                          const char* what) {
  require(tensors != nullptr || count == 0, "[run_package] there are no ", what, "s");
  std::vector<PackageArgument> arguments;
  for (std::size_t i = 0; i < count; ++i) arguments.push_back(argument_of(tensors[i], what, i));
  return arguments;
}

const PackageFunction* function_at(const tilewright_package* package, std::size_t signature) {
  if (package == nullptr) return nullptr;
  const auto& functions = package->loaded.contents().functions;
  return signature < functions.size() ? &functions[signature] : nullptr;
}

int describe_tensor(const std::vector<PackageTensor>* tensors, std::size_t number,
                    tilewright_tensor_info* info) {
  if (tensors == nullptr || number >= tensors->size() || info == nullptr) {
    or_failure(-1, [&]() -> int {
      require(info != nullptr,
              "[describe_package] the place for the description is a null pointer");
      raise_error(concat("[describe_package] there is no tensor ", number, " of that signature"));
    });
    return -1;
  }
  const PackageTensor& tensor = (*tensors)[number];
  *info = {tensor.name.c_str(), name_of(tensor.dtype).data(),
           tensor.shape.rank(), tensor.shape.data(),
           tensor.bytes(),      tensor.is_written ? 1 : 0};
  return 0;
}

}  // namespace
}  // namespace tilewright

extern "C" {

tilewright_package* tilewright_load(const char* file) { return tilewright_load_with(file, 0); }

tilewright_package* tilewright_load_with(const char* file, uint32_t flags) {
  return tilewright::or_failure<tilewright_package*>(nullptr, [&] {
    constexpr uint32_t known = TILEWRIGHT_LOAD_COPIED | TILEWRIGHT_LOAD_VERIFIED;
    tilewright::require(file != nullptr, "[load_package] no file is named");
    tilewright::require((flags & ~known) == 0, "[load_package] the flags are ", flags,
                        ", of which ", flags & ~known, " are not known");
    return new tilewright_package(file, {.copied = (flags & TILEWRIGHT_LOAD_COPIED) != 0,
                                         .verified = (flags & TILEWRIGHT_LOAD_VERIFIED) != 0});
  });
}

void tilewright_free(tilewright_package* package) { delete package; }

size_t tilewright_signatures(const tilewright_package* package) {
  return package == nullptr ? 0 : package->loaded.contents().functions.size();
}

size_t tilewright_inputs(const tilewright_package* package, size_t signature) {
  const auto* function = tilewright::function_at(package, signature);
  return function == nullptr ? 0 : function->inputs.size();
}

size_t tilewright_outputs(const tilewright_package* package, size_t signature) {
  const auto* function = tilewright::function_at(package, signature);
  return function == nullptr ? 0 : function->outputs.size();
}

int tilewright_input(const tilewright_package* package, size_t signature, size_t number,
                     tilewright_tensor_info* info) {
  const auto* function = tilewright::function_at(package, signature);
  return tilewright::describe_tensor(function == nullptr ? nullptr : &function->inputs, number,
                                     info);
}

int tilewright_output(const tilewright_package* package, size_t signature, size_t number,
                      tilewright_tensor_info* info) {
  const auto* function = tilewright::function_at(package, signature);
  return tilewright::describe_tensor(function == nullptr ? nullptr : &function->outputs, number,
                                     info);
}

const char* tilewright_describe(const tilewright_package* package) {
  return tilewright::or_failure("", [&]() -> const char* {
    if (package == nullptr) return "";
    std::call_once(package->is_described, [&] {
      package->text =
          tilewright::text_of(package->loaded.contents(), package->loaded.instruction_sets());
    });
    return package->text.c_str();
  });
}

int tilewright_run(const tilewright_package* package, const tilewright_tensor* inputs,
                   size_t input_count, const tilewright_tensor* outputs, size_t output_count) {
  return tilewright::or_failure(-1, [&] {
    tilewright::require(package != nullptr, "[run_package] the package is a null pointer");
    const auto from = tilewright::arguments_of(inputs, input_count, "input");
    const auto to = tilewright::arguments_of(outputs, output_count, "output");
    package->loaded.run(from, to);
    return 0;
  });
}

const char* tilewright_last_error(void) { return tilewright::last_error().c_str(); }
}
