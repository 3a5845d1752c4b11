// Values that are made of tensors: what compile() takes and gives besides single tensors.
//
// A structure is a Tensor; a std::vector, array, pair, tuple, optional or map of structures; a
// plain struct of up to 16 of them, without bases; or a value of the host (a number, a flag, an
// enumerator, a string). A class with members of its own, or with bases, takes part by a function
// in its namespace:
//
//   class Cache {
//     Tensor keys_, values_;
//     template <typename Visit>
//     friend void for_each_tensor(Cache& cache, Visit&& visit) {
//       visit(cache.keys_);
//       visit(cache.values_);  // or any other structure
//     }
//   };
//
// All of this is one function, `visit_structure`, that goes through a structure in a fixed order:
// the tensors are the arguments of a graph, or its outputs. The rest is the structure's form: how
// many elements, which keys, what is present, which values of the host. A plan is compiled for
// arguments of one form, as it is for their shapes (contract.h); a result has the form that it had
// when the function was captured.
//
// The arguments of a call stay what they are: the function gets copies, whose tensors are symbolic
// while it is captured. So a tensor in them may be written in place, and nothing else.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/compile/calls/argument_form.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/value_text.h"

namespace tilewright::detail {

enum class StructureKind : std::uint8_t {
  none,
  tensor,
  host_value,
  sequence,  // vector and array
  optional,
  tuple,  // and pair
  map,
  own,   // has a `for_each_tensor`
  plain  // struct
};

struct AnyVisitor {
  template <typename Part>
  void operator()(Part&) const {}
};
template <typename T>
concept HasVisit = requires(T& value, AnyVisitor visit) {
  for_each_tensor(value, visit);
};
// Becomes a T and nothing that T is derived from. Where T's functions are looked for, so are its.
template <typename T>
struct Exactly {
  template <std::same_as<T> Itself>
  operator Itself&() const;
};
template <typename T>
concept HasOwnVisit = HasVisit<T> && requires(Exactly<T> value, AnyVisitor visit) {
  for_each_tensor(value, visit);
};

template <typename T>
inline constexpr StructureKind kind_of_template = StructureKind::none;
template <typename T>
requires(!std::same_as<T, bool>) inline constexpr StructureKind kind_of_template<std::vector<T>> =
    StructureKind::sequence;
template <typename T, std::size_t Size>
inline constexpr StructureKind kind_of_template<std::array<T, Size>> = StructureKind::sequence;
template <typename T>
inline constexpr StructureKind kind_of_template<std::optional<T>> = StructureKind::optional;
template <typename A, typename B>
inline constexpr StructureKind kind_of_template<std::pair<A, B>> = StructureKind::tuple;
template <typename... Each>
inline constexpr StructureKind kind_of_template<std::tuple<Each...>> = StructureKind::tuple;
template <typename Key, typename T>
inline constexpr StructureKind kind_of_template<std::map<Key, T>> = StructureKind::map;

template <typename T>
constexpr StructureKind kind_of() {
  using enum StructureKind;
  if constexpr (std::same_as<T, Tensor>)
    return tensor;
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string>)
    return host_value;
  else if constexpr (kind_of_template<T> != none)
    return kind_of_template<T>;
  else if constexpr (HasVisit<T>) {
    static_assert(
        HasOwnVisit<T>,
        "compile(): the class has the for_each_tensor of a base class alone, which leaves "
        "out what the class itself holds; give it one of its own that goes through the "
        "base class's tensors too (graph/compile/calls/structure.h)");
    return own;
  } else
    return std::is_aggregate_v<T> && !std::is_array_v<T> && !std::is_union_v<T> ? plain : none;
}

inline constexpr int most_members = 16;

// How many members a plain struct has: as many as can be initialised. More than `most_members` are
// one more.
template <typename T>
constexpr int count_of_members() {
  // clang-format off
  if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 17;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 16;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 15;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 14;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 13;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 12;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{}}; }) return 11;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{}}; }) return 10;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{}}; }) return 9;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{}}; }) return 8;
  else if constexpr (requires { T{{},{},{},{},{},{},{}}; }) return 7;
  else if constexpr (requires { T{{},{},{},{},{},{}}; }) return 6;
  else if constexpr (requires { T{{},{},{},{},{}}; }) return 5;
  else if constexpr (requires { T{{},{},{},{}}; }) return 4;
  else if constexpr (requires { T{{},{},{}}; }) return 3;
  else if constexpr (requires { T{{},{}}; }) return 2;
  else if constexpr (requires { T{{}}; }) return 1;
  else return 0;
  // clang-format on
}

// Converts to the bases of T alone, and so can initialise a struct that begins with one.
template <typename T>
struct AnyBaseOf {
  template <typename B>
  requires(std::is_base_of_v<B, T> && !std::same_as<B, T>) operator B() const;
};
template <typename T>
constexpr bool has_bases() {
  return requires { T{AnyBaseOf<T>{}}; };
}

// Calls `f` with the members of a plain struct, which has no bases: these count as members, and
// have no names to be bound to.
template <typename T, typename F>
constexpr decltype(auto) with_members(T& value, F&& f) {
  constexpr int count = count_of_members<T>();
  static_assert(count <= most_members);
  // clang-format off
  if constexpr (count == 0) { return f();
  } else if constexpr (count == 1) { auto& [a] = value; return f(a);
  } else if constexpr (count == 2) { auto& [a, b] = value; return f(a, b);
  } else if constexpr (count == 3) { auto& [a, b, c] = value; return f(a, b, c);
  } else if constexpr (count == 4) { auto& [a, b, c, d] = value; return f(a, b, c, d);
  } else if constexpr (count == 5) { auto& [a, b, c, d, e] = value; return f(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, g] = value; return f(a, b, c, d, e, g);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, g, h] = value; return f(a, b, c, d, e, g, h);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, g, h, i] = value; return f(a, b, c, d, e, g, h, i);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = value; return f(a, b, c, d, e, g, h, i, j);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = value; return f(a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, g, h, i, j, k, l] = value; return f(a, b, c, d, e, g, h, i, j, k, l);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 14) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 15) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p);
  } else {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q);
  }
  // clang-format on
}

// What values of a type may hold. Greater is more; `unknown` makes the whole unknown.
enum class Holds : std::uint8_t { unknown, host_values, tensors };
template <typename... Each>
constexpr Holds all_hold(Each... each) {
  Holds least = Holds::tensors, most = Holds::host_values;
  ((least = each < least ? each : least, most = each > most ? each : most), ...);
  return least == Holds::unknown ? least : most;
}
template <typename T>
constexpr Holds holds();

template <typename T>
struct PartsOfTuple;
template <template <typename...> typename Tuple, typename... Each>
struct PartsOfTuple<Tuple<Each...>> {
  static constexpr Holds value = all_hold(holds<Each>()...);
};
struct HoldMembers {
  template <typename... Each>
  constexpr auto operator()(Each&...) const {
    return std::integral_constant<Holds, all_hold(holds<std::remove_cv_t<Each>>()...)>{};
  }
};
template <typename T>
constexpr Holds holds() {
  using enum StructureKind;
  constexpr StructureKind kind = kind_of<T>();
  if constexpr (kind == optional || kind == sequence)
    return holds<typename T::value_type>();
  else if constexpr (kind == map)
    return all_hold(holds<typename T::mapped_type>(), kind_of<typename T::key_type>() == host_value
                                                          ? Holds::host_values
                                                          : Holds::unknown);
  else if constexpr (kind == tuple)
    return PartsOfTuple<T>::value;
  else if constexpr (kind == none || !std::copy_constructible<T>)
    return Holds::unknown;
  else if constexpr (kind == plain && (has_bases<T>() || count_of_members<T>() > most_members))
    return Holds::unknown;
  else if constexpr (kind == plain)
    return decltype(with_members(std::declval<T&>(), HoldMembers{}))::value;
  else
    return kind == host_value ? Holds::host_values : Holds::tensors;
}

template <typename Map>
std::string text_of_keys(const Map& map) {
  std::string text;
  for (const auto& [key, value] : map) text += (text.empty() ? "" : ", ") + text_of_host_value(key);
  return text.empty() ? "none" : text;
}

// Shows the visitor the tensors, the facts of the form, and where in the structure each lies.
template <typename T, typename Visitor>
void visit_structure(T& value, Visitor& visitor) {
  using enum StructureKind;
  constexpr StructureKind kind = kind_of<T>();
  [[maybe_unused]] int member = 0;
  [[maybe_unused]] auto visit_member = [&](auto& part) {
    visitor.enter([at = member++] { return "." + std::to_string(at); });
    visit_structure(part, visitor);
    visitor.leave();
  };
  [[maybe_unused]] auto visit_members = [&](auto&... parts) { (visit_member(parts), ...); };
  if constexpr (kind == tensor) {
    visitor.tensor(value);
  } else if constexpr (kind == host_value) {
    visitor.fact(graph::FormKind::value, [&] { return text_of_host_value(value); });
  } else if constexpr (kind == optional) {
    visitor.fact(graph::FormKind::presence, [&] { return value ? "present" : "absent"; });
    if (value) visit_structure(*value, visitor);
  } else if constexpr (kind == sequence) {
    if constexpr (requires { value.push_back(value[0]); })
      visitor.fact(graph::FormKind::size, [&] { return std::to_string(value.size()); });
    for (std::size_t i = 0; i < value.size(); ++i) {
      visitor.enter([i] { return "[" + std::to_string(i) + "]"; });
      visit_structure(value[i], visitor);
      visitor.leave();
    }
  } else if constexpr (kind == map) {
    visitor.fact(graph::FormKind::keys, [&] { return text_of_keys(value); });
    for (auto& entry : value) {
      visitor.enter([&] { return "[" + text_of_host_value(entry.first) + "]"; });
      visit_structure(entry.second, visitor);
      visitor.leave();
    }
  } else if constexpr (kind == tuple) {
    std::apply(visit_members, value);
  } else if constexpr (kind == own) {
    for_each_tensor(value, visit_member);
  } else {
    with_members(value, visit_members);
  }
}

// The tensors in a structure, and its form as a key.
struct TensorsOf {
  std::vector<Tensor> tensors;
  std::string key;
  void tensor(Tensor& tensor);
  template <typename Text>
  void fact(graph::FormKind, const Text& text) {
    add_fact(text());
  }
  template <typename Step>
  void enter(const Step&) {}
  void leave() {}

 private:
  void add_fact(const std::string& text);
};
template <typename T>
void add_tensors(const T& value, TensorsOf& into) {
  visit_structure(const_cast<T&>(value), into);
}

// Replaces the tensors of a structure by others, in order.
struct ReplaceTensors {
  const std::vector<Tensor>& by;
  std::size_t next = 0;
  void tensor(Tensor& tensor);
  template <typename Text>
  void fact(graph::FormKind, const Text&) {}
  template <typename Step>
  void enter(const Step&) {}
  void leave() {}
};

// The form of a call's arguments in words.
struct DescribeForm {
  graph::ArgumentForm form;
  int argument = 0;
  std::vector<std::string> path;
  void tensor(Tensor& tensor);
  template <typename Text>
  void fact(graph::FormKind kind, const Text& text) {
    add_fact(kind, text());
  }
  template <typename Step>
  void enter(const Step& step) {
    enter_step(step());
  }
  void leave();
  void begin_argument(const std::vector<std::string>& names);  // its name is the first step

 private:
  std::string place() const;
  void enter_step(std::string step);
  void add_fact(graph::FormKind kind, std::string text);
};
template <typename... Each>
graph::ArgumentForm form_of(const std::vector<std::string>& names, const Each&... arguments) {
  DescribeForm describe;
  [[maybe_unused]] auto add = [&](auto& argument) {
    describe.begin_argument(names);
    visit_structure(argument, describe);
    ++describe.argument;
  };
  (add(const_cast<Each&>(arguments)), ...);
  return std::move(describe.form);
}

}  // namespace tilewright::detail

namespace tilewright {

// The results of a function of a list of tensors: the tensors, and the user's value that they are
// parts of, if that is more than a list.
struct TensorResults {
  TensorResults() = default;
  TensorResults(std::vector<Tensor> list) : tensors(std::move(list)) {}
  template <typename Returned>
  static TensorResults of(const Returned& result);
  template <typename Returned>
  Returned as() const;  // what `of` was given, with the tensors that are here
  std::vector<Tensor> tensors;
  std::shared_ptr<const void> around = {};
  std::string form = {};  // of `around`, as a key
};
using TensorFunction = std::function<TensorResults(const std::vector<Tensor>&)>;

// The copy is made for later: what it copies is not read by a function that is being captured.
template <typename Returned>
TensorResults TensorResults::of(const Returned& result) {
  TensorResults made;
  {
    graph::CapturePause pause;
    made.around = std::make_shared<const Returned>(result);
  }
  detail::TensorsOf parts;
  detail::add_tensors(result, parts);
  made.tensors = std::move(parts.tensors);
  made.form = std::move(parts.key);
  return made;
}

template <typename Returned>
Returned TensorResults::as() const {
  Returned result = *static_cast<const Returned*>(around.get());
  detail::ReplaceTensors replace{tensors};
  detail::visit_structure(result, replace);
  return result;
}

}  // namespace tilewright
