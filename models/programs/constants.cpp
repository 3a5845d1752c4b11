#include "models/programs/constants.h"

#include <algorithm>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::programs {
namespace {

using json::excerpt;

// "i64 [2 x batch]", "f32 of any shape".
std::string type_of(const SignatureInput& input) {
  if (!input.has_rank) return concat(input.facts.dtype, " of any shape");
  std::string sizes;
  for (const SizeExpression& size : input.facts.sizes)
    sizes += (sizes.empty() ? "" : " x ") + to_string(size);
  return concat(input.facts.dtype, " [", sizes.empty() ? "scalar" : concat(excerpt(sizes)), "]");
}

bool fits(const SignatureInput& input, const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != input.facts.dtype) return false;
  if (!input.has_rank) return true;
  if (tensor.rank() != static_cast<int>(input.facts.sizes.size())) return false;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const auto wanted = evaluate(input.facts.sizes[static_cast<std::size_t>(axis)], {});
    if (wanted && *wanted != tensor.size(axis)) return false;
  }
  return true;
}

// A symbol that stands by itself has this value alone. Raises `Error` where it has another one.
void fix(Signature& signature, const SizeExpression& size, std::int64_t value,
         std::string_view operation, std::string_view file) {
  if (size.kind != SizeExpression::Kind::symbol || !signature.names_bind) return;
  auto [found, is_new] = signature.symbols.emplace(size.name, SymbolRange{value, value});
  SymbolRange& range = found->second;
  require(is_new || (value >= range.min && value <= range.max), "[", operation, "] ", file,
          ": a constant has the size ", excerpt(size.name), " = ", value, "; the program allows ",
          range.min, " to ", range.max);
  range = {value, value};
}

// Conditions name inputs by their places: of the held one they have the number itself, and those
// behind it move up.
void leave_out(SizeConditions& conditions, const HeldInput& held) {
  using Kind = InputNumber::Kind;
  const Shape& shape = held.tensor.shape();
  for (auto& [name, from] : conditions.symbols) {
    if (from.kind == Kind::constant || from.input < held.place) continue;
    if (from.input > held.place) {
      --from.input;
      continue;
    }
    if (from.kind == Kind::integer) from.value = held.tensor.item<std::int64_t>();
    if (from.kind == Kind::size) from.value = shape[from.axis];
    if (from.kind == Kind::stride) from.value = row_major_strides(shape)[from.axis];
    from.kind = Kind::constant;
  }
}

}  // namespace

void require_can_be(const SignatureInput& input, const Tensor& tensor, std::string_view operation,
                    std::string_view file) {
  require(fits(input, tensor), "[", operation, "] ", file, ": the constant \"", excerpt(input.name),
          "\" is ",
          tensor.defined() ? concat(tensor.dtype(), " [", tensor.shape(), "]") : "undefined",
          "; the input is ", type_of(input));
}

std::vector<HeldInput> hold_constant(Signature& signature, const Constants& constants,
                                     std::string_view operation, std::string_view file) {
  std::vector<HeldInput> held;
  for (const auto& [name, tensor] : constants) {
    const auto found = std::ranges::find(signature.inputs, name, &SignatureInput::name);
    std::string names;
    for (const SignatureInput& input : signature.inputs)
      names += concat(names.empty() ? "" : ", ", '"', excerpt(input.name), '"');
    require(found != signature.inputs.end(), "[", operation, "] ", file, ": no input is \"",
            excerpt(name), "\", which is to be constant; it takes ",
            names.empty() ? "none" : names);
    require_can_be(*found, tensor, operation, file);
    for (std::size_t axis = 0; axis < found->facts.sizes.size(); ++axis)
      fix(signature, found->facts.sizes[axis], tensor.size(static_cast<int>(axis)), operation,
          file);
    if (found->integer)
      fix(signature, *found->integer, tensor.item<std::int64_t>(), operation, file);
    held.push_back({static_cast<std::size_t>(found - signature.inputs.begin()), tensor.clone()});
  }
  std::ranges::sort(held, std::greater<>(), &HeldInput::place);
  for (const HeldInput& each : held) {
    leave_out(signature.conditions, each);
    signature.inputs.erase(signature.inputs.begin() + static_cast<std::ptrdiff_t>(each.place));
  }
  return held;
}

}  // namespace tilewright::programs
