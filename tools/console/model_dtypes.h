// --dtype and --cache-dtype, as commands take them that load a language model.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "runtime/base/dtype.h"

namespace tilewright::tools {

struct ModelDTypes {
  std::string parameters = "f32";
  std::string cache;  // empty: the parameters'

  void add_to(CLI::App& command);
  // Raise `Misuse`, beginning with [command], for names that cannot be chosen.
  DType of_parameters(const std::string& command) const;
  std::optional<DType> of_cache(const std::string& command) const;  // ModelOptions::cache_dtype
};

}  // namespace tilewright::tools
