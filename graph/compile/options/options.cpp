#include "graph/compile/options/options.h"

#include <array>
#include <span>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 4> mode_names = {
    "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"};
constexpr std::array<std::string_view, 2> precision_names = {"highest", "high"};
constexpr std::array<std::string_view, 3> first_code_names = {"automatic", "quick", "full"};
constexpr std::array<std::string_view, 3> backend_names = {"eager", "aot_eager", "tilewright"};
constexpr std::array<std::string_view, 5> stance_names = {
    "compile", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile"};

std::size_t parse(std::span<const std::string_view> names, std::string_view name,
                  const char* what) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
    list += concat(i == 0 ? "" : ", ", names[i]);
  }
  raise_error(concat("[", what, "] '", name, "' is unknown; it must be one of ", list));
}

}  // namespace

std::string_view name_of(Mode mode) { return mode_names[static_cast<std::size_t>(mode)]; }
Mode parse_mode(std::string_view name) {
  return static_cast<Mode>(parse(mode_names, name, "mode"));
}
std::string_view name_of(Backend backend) {
  return backend_names[static_cast<std::size_t>(backend)];
}
Backend parse_backend(std::string_view name) {
  return static_cast<Backend>(parse(backend_names, name, "backend"));
}

std::string_view name_of(Stance stance) { return stance_names[static_cast<std::size_t>(stance)]; }
Stance parse_stance(std::string_view name) {
  return static_cast<Stance>(parse(stance_names, name, "stance"));
}

std::string_view name_of(MatmulPrecision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}
MatmulPrecision parse_matmul_precision(std::string_view name) {
  return static_cast<MatmulPrecision>(parse(precision_names, name, "matmul_precision"));
}

FirstCode parse_first_code(std::string_view name) {
  return static_cast<FirstCode>(parse(first_code_names, name, "first_code"));
}

}  // namespace tilewright
