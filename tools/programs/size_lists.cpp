#include "tools/programs/size_lists.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "graph/functions/creation.h"
#include "tools/console/misuse.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

constexpr std::int64_t most_combinations = 1024;

using Sizes = std::map<std::string, std::int64_t>;

std::vector<std::string> names_of_sizes(const std::vector<ProgramInput>& inputs) {
  std::set<std::string> names;
  for (const ProgramInput& input : inputs) {
    for (const DynamicAxis& axis : input.dynamic) names.insert(axis.size);
    if (input.integer) names.insert(input.integer->size);
  }
  return {names.begin(), names.end()};
}

std::int64_t size_of(const std::string& text, std::string_view word) {
  std::int64_t size = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  require_use(error == std::errc() && rest == word.data() + word.size() && size >= 0, "[sizes] ",
              text, ": \"", word,
              "\" is no size; NAME=SIZE,SIZE or NAME=FIRST..LAST is wanted, such as batch=1,8");
  return size;
}

SizeList list_of(const std::string& text, std::string name, std::string_view list) {
  constexpr std::string_view to = "..";
  SizeList result{std::move(name), {}};
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view each = list.substr(at, end - at);
    const std::size_t middle = each.find(to);
    const bool is_range = middle != std::string_view::npos;
    const std::int64_t first = size_of(text, each.substr(0, middle));
    const std::int64_t last = is_range ? size_of(text, each.substr(middle + to.size())) : first;
    require_use(first <= last && last - first < most_combinations, "[sizes] ", text, ": ", each,
                " has no sizes, or more than ", most_combinations);
    for (std::int64_t size = first; size <= last; ++size) result.sizes.push_back(size);
    result.has_range |= is_range;
    at = end + 1;
  }
  return result;
}

std::int64_t size_in(const Sizes& sizes, const ProgramInput& input, const std::string& name) {
  const auto known = sizes.find(name);
  require_use(known != sizes.end(), "[package] the sizes of input \"", input.name,
              "\" may differ: [", sizes_text(input), "]", integer_text(input),
              "; list them by --sizes ", name,
              "=1,8, or name safetensors files with inputs of each size by --inputs");
  return known->second;
}

Tensor zeros_of(const ProgramInput& input, const Sizes& sizes) {
  if (input.integer) return full({}, size_in(sizes, input, input.integer->size), DType::i64);
  Shape shape = input.shape;
  for (const DynamicAxis& axis : input.dynamic) shape[axis.axis] = size_in(sizes, input, axis.size);
  return zeros(shape, input.dtype);
}

}  // namespace

std::vector<SizeList> parse_size_lists(const std::vector<std::string>& texts,
                                       const std::vector<ProgramInput>& inputs) {
  const std::vector<std::string> names = names_of_sizes(inputs);
  std::vector<SizeList> lists;
  for (const std::string& text : texts) {
    const std::size_t middle = text.find('=');
    require_use(middle != std::string::npos, "[sizes] ", text,
                ": has no sizes; NAME=SIZE,SIZE is wanted, such as batch=1,8");
    const std::string name = text.substr(0, middle);
    require_use(std::ranges::find(names, name) != names.end(), "[sizes] ", text,
                ": no size of the model is \"", name, "\"; those that may differ are ",
                names.empty() ? "none" : listed(names));
    require_use(std::ranges::find(lists, name, &SizeList::name) == lists.end(), "[sizes] ", text,
                ": \"", name, "\" is listed twice; name all of its sizes once");
    lists.push_back(list_of(text, name, std::string_view(text).substr(middle + 1)));
  }
  return lists;
}

std::vector<std::vector<Tensor>> inputs_of_sizes(const std::vector<ProgramInput>& inputs,
                                                 const std::vector<SizeList>& lists) {
  std::vector<Sizes> combinations(1);
  for (const SizeList& list : lists) {
    std::vector<Sizes> longer;
    for (const Sizes& known : combinations)
      for (std::int64_t size : list.sizes) {
        longer.push_back(known);
        longer.back()[list.name] = size;
      }
    combinations = std::move(longer);
    require_use(std::ssize(combinations) <= most_combinations, "[sizes] there are ",
                combinations.size(), " combinations of sizes; at most ", most_combinations,
                " are packaged: list fewer");
  }
  std::vector<std::vector<Tensor>> all;
  for (const Sizes& sizes : combinations) {
    all.emplace_back();
    for (const ProgramInput& input : inputs) all.back().push_back(zeros_of(input, sizes));
  }
  return all;
}

}  // namespace tilewright::tools
