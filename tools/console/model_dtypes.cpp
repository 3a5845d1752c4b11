#include "tools/console/model_dtypes.h"

#include "graph/functions/attending/row_codes.h"
#include "runtime/base/error.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

// Floats of 16 and 32 bits.
bool is_of_parameters(DType dtype) { return is_float16(dtype) || dtype == DType::f32; }

// The names of those for which `fits` is true.
std::string names_of(bool (*fits)(DType)) {
  std::string names;
  for (DType dtype : all_dtypes())
    if (fits(dtype)) names += concat(names.empty() ? "" : ", ", dtype);
  return names;
}

DType chosen(const std::string& command, const char* option, const std::string& name,
             bool (*fits)(DType)) {
  const std::optional<DType> dtype = parse_dtype(name);
  require_use(dtype && fits(*dtype), "[", command, "] ", option, " is ", name, "; one of ",
              names_of(fits), " can be chosen");
  return *dtype;
}

}  // namespace

void ModelDTypes::add_to(CLI::App& command) {
  command
      .add_option("--dtype", parameters,
                  concat("of parameters and cache: ", names_of(is_of_parameters)))
      ->capture_default_str();
  command.add_option("--cache-dtype", cache,
                     concat("keys and values in 8 bits, with a scale for each row of a head: ",
                            names_of(is_row_code), " (default: as --dtype)"));
}

DType ModelDTypes::of_parameters(const std::string& command) const {
  return chosen(command, "--dtype", parameters, is_of_parameters);
}

std::optional<DType> ModelDTypes::of_cache(const std::string& command) const {
  if (cache.empty()) return std::nullopt;
  return chosen(command, "--cache-dtype", cache, is_row_code);
}

}  // namespace tilewright::tools
