#include "models/optimizers/parameter_groups.h"

#include <algorithm>
#include <set>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

bool fits_pattern(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped)
      if (fits_pattern(text.substr(skipped), pattern.substr(1))) return true;
    return false;
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         fits_pattern(text.substr(1), pattern.substr(1));
}

}  // namespace

ParameterFilter::ParameterFilter(std::initializer_list<std::string_view> patterns) {
  const std::vector<std::string> kept(patterns.begin(), patterns.end());
  for (const std::string& pattern : kept)
    text_ += concat(text_.empty() ? "" : " or ", '"', pattern, '"');
  function_ = [kept](std::string_view name, const Tensor&) {
    return std::ranges::any_of(
        kept, [&](const std::string& pattern) { return fits_pattern(name, pattern); });
  };
}

std::vector<NamedParameter> trainable_parameters(Module& module) {
  std::vector<NamedParameter> all;
  std::set<const void*> seen;
  for (const NamedParameter& parameter : module.named_parameters()) {
    const Tensor& tensor = parameter.tensor;
    if (!tensor.defined() || !is_floating(tensor.dtype())) continue;
    if (tensor.count() == 0 || seen.insert(tensor.const_data()).second) all.push_back(parameter);
  }
  return all;
}

std::vector<NamedParameter> trainable_parameters(Module& module, const ParameterFilter& filter,
                                                 std::source_location w) {
  std::vector<NamedParameter> passing;
  for (const NamedParameter& parameter : trainable_parameters(module))
    if (filter(parameter)) passing.push_back(parameter);
  require(!passing.empty(), "[trainable_parameters] no parameter of the module passes ",
          filter.text(), " (at ", describe(w),
          "); named_parameters() lists them, and `*` in a pattern stands for any text");
  return passing;
}

namespace detail {

std::vector<std::size_t> groups_of(std::string_view optimizer,
                                   const std::vector<NamedParameter>& parameters,
                                   const std::vector<ParameterFilter>& filters,
                                   std::source_location w) {
  std::vector<std::size_t> groups;
  for (const NamedParameter& parameter : parameters) {
    const auto first = std::ranges::find_if(
        filters, [&](const ParameterFilter& filter) { return filter(parameter); });
    groups.push_back(
        first == filters.end() ? 0 : static_cast<std::size_t>(first - filters.begin()) + 1);
  }
  for (std::size_t i = 0; i < filters.size(); ++i)
    require(std::ranges::any_of(parameters, filters[i]), "[", optimizer,
            "] no parameter passes the filter of group ", i + 1, ", ", filters[i].text(), " (at ",
            describe(w), "); a group needs one, and the first group that fits has it");
  return groups;
}

}  // namespace detail

}  // namespace tilewright
