#include "tools/programs/kernel_arguments.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <random>

#include "dsl/debugger/element_value.h"
#include "models/weights/safetensors.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 31;

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> parts_of(const std::string& word, char mark) {
  std::vector<std::string> parts;
  std::size_t begin = 0, end = 0;
  for (; (end = word.find(mark, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(word.substr(begin, end - begin));
  parts.push_back(word.substr(begin));
  return parts;
}

// The meaning of one word of the command line, for messages.
struct ArgumentWord {
  std::string parameter, word;
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require_use(condition, "[kernel run] the argument \"", word, "\" for ", parameter, ": ",
                parts...);
  }
};

Shape shape_in(const ArgumentWord& place, const std::string& text) {
  Shape shape;
  std::int64_t count = 1;
  for (const std::string& part : parts_of(text, 'x')) {
    auto size = number_in<std::int64_t>(part);
    place.expect(size && *size >= 0, "\"", text, "\" is no shape; 1024 or 32x32 is one");
    place.expect(*size == 0 || count <= most_elements / *size, "\"", text, "\" has more than ",
                 most_elements, " elements");
    count *= *size;
    shape.push_back(*size);
  }
  return shape;
}

// Numbers of the seed alone, the same on all machines.
dsl::ElementValue random_element(std::mt19937_64& generator) {
  const std::uint64_t bits = generator();
  return {static_cast<double>(bits >> 11) * 0x1p-52 - 1, static_cast<std::int64_t>(bits % 100)};
}

const std::vector<std::string> makers = {"random", "zeros", "ones", "range", "empty"};

Tensor made_tensor(const ArgumentWord& place, const std::vector<std::string>& parts) {
  const std::string& maker = parts[0];
  const bool is_random = maker == "random";
  place.expect(parts.size() == 3 || (is_random && parts.size() == 4), "it has ", parts.size(),
               " parts; ", maker, ":f32:1024", is_random ? ":seed" : "", " is right");
  auto dtype = parse_dtype(parts[1]);
  place.expect(dtype.has_value(), "\"", parts[1], "\" is no element type; f32, i64 and bool are");
  const Shape shape = shape_in(place, parts[2]);
  auto seed = parts.size() == 4 ? number_in<std::uint64_t>(parts[3]) : std::uint64_t{0};
  place.expect(seed.has_value(), "\"", parts[3], "\" is no seed; a number is");
  std::mt19937_64 generator(*seed);
  Tensor tensor = Tensor::empty(shape, *dtype);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    dsl::ElementValue element;
    if (is_random) element = random_element(generator);
    if (maker == "ones") element = {1, 1};
    if (maker == "range") element = {static_cast<double>(i), i};
    if (maker == "empty") element = {std::numeric_limits<double>::quiet_NaN(), 101};
    dsl::set_element(*dtype, tensor.data(), i, element);
  }
  return tensor;
}

Tensor tensor_in(const ArgumentWord& place) {
  const std::vector<std::string> parts = parts_of(place.word, ':');
  if (std::ranges::find(makers, parts[0]) != makers.end()) return made_tensor(place, parts);
  const std::size_t colon = place.word.rfind(':');
  place.expect(colon != std::string::npos, "it is no array; ", listed(makers),
               " make one, as random:f32:1024 does, and FILE.safetensors:NAME reads one");
  const std::string path = place.word.substr(0, colon), name = place.word.substr(colon + 1);
  require_file("kernel run", path, "a safetensors file, or an array as random:f32:1024");
  Safetensors file = Safetensors::open(path);
  std::vector<std::string> known;
  for (const SafetensorsEntry& entry : file.entries()) known.push_back(entry.name);
  place.expect(file.find(name) != nullptr, path, " has no tensor \"", name, "\"",
               suggestion(name, known), "; it has ", listed(known));
  return file.tensor(name);
}

dsl::LaunchArgument number_argument(const ArgumentWord& place, DType dtype) {
  if (is_boolean(dtype)) {
    place.expect(place.word == "true" || place.word == "false", "a bool is true or false");
    return place.word == "true";
  }
  if (is_floating(dtype)) {
    auto number = number_in<double>(place.word);
    place.expect(number.has_value(), "it is no number of ", name_of(dtype));
    return *number;
  }
  auto number = number_in<std::int64_t>(place.word);
  auto held = number ? ir::Scalar::of_integer(dtype, *number).integer : 0;
  place.expect(number && held == *number, "it is no number of ", name_of(dtype));
  return *number;
}

KernelArgument argument_of(const ir::Type& type, const ArgumentWord& place) {
  if (!type.is_pointer()) return {place.parameter, {}, false, number_argument(place, type.dtype)};
  Tensor tensor = tensor_in(place);
  place.expect(tensor.dtype() == type.dtype, "it holds ", name_of(tensor.dtype()),
               "; the parameter is ", to_string(type));
  return {place.parameter, tensor, place.word.starts_with("empty:"), launch_argument(tensor)};
}

}  // namespace

std::vector<KernelArgument> kernel_arguments(const ir::Function& program,
                                             const std::vector<std::string>& words) {
  std::vector<std::string> names;
  std::string wanted;
  for (const ir::Param& param : program.params) {
    names.push_back(param.name.empty() ? std::to_string(names.size()) : param.name);
    wanted += concat("\n  ", names.back(), ": ", to_string(program.type(param.value)));
  }
  std::vector<std::optional<std::string>> given(names.size());
  std::vector<std::string> in_order;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      in_order.push_back(word);
      continue;
    }
    const std::string name = word.substr(0, equals);
    auto named = std::ranges::find(names, name);
    require_use(named != names.end(), "[kernel run] ", program.name, " has no parameter \"", name,
                "\"", suggestion(name, names), "; it takes", wanted);
    auto& place = given[static_cast<std::size_t>(named - names.begin())];
    require_use(!place, "[kernel run] the parameter ", name, " is given twice");
    place = word.substr(equals + 1);
  }
  for (const std::string& word : in_order) {
    auto place = std::ranges::find_if(given, [](const auto& word) { return !word.has_value(); });
    require_use(place != given.end(), "[kernel run] there are more arguments than parameters of ",
                program.name, "; it takes", wanted);
    *place = word;
  }
  std::vector<KernelArgument> arguments;
  for (std::size_t i = 0; i < names.size(); ++i) {
    require_use(given[i].has_value(), "[kernel run] the argument for ", names[i],
                " is missing; give --args; ", program.name, " takes", wanted);
    arguments.push_back(argument_of(program.type(program.params[i].value), {names[i], *given[i]}));
  }
  return arguments;
}

}  // namespace tilewright::tools
