// How compile() sees a C++ callable: how many tensors or which structures (structure.h) it takes,
// and what it gives as a list of tensors and back. Separate from compile.h because nothing here is
// about compiling.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/compile/calls/structure.h"
#include "graph/tensor/tensor.h"

namespace tilewright::detail {

// A value that a function may return, as a list of tensors (`list`) and back (`from`). One that has
// the same form at every call needs nothing besides the list.
template <typename Returned>
struct Results {
  static constexpr bool are_tensors = holds<Returned>() == Holds::tensors;
  static TensorResults list(const Returned& result) { return TensorResults::of(result); }
  static Returned from(const TensorResults& results) { return results.as<Returned>(); }
};
template <>
struct Results<void> {
  static constexpr bool are_tensors = false;
};
template <>
struct Results<Tensor> {
  static constexpr bool are_tensors = true;
  static TensorResults list(const Tensor& result) { return std::vector<Tensor>{result}; }
  static Tensor from(TensorResults results) { return std::move(results.tensors.front()); }
};
template <>
struct Results<std::vector<Tensor>> {
  static constexpr bool are_tensors = true;
  static TensorResults list(std::vector<Tensor> results) { return results; }
  static std::vector<Tensor> from(TensorResults results) { return std::move(results.tensors); }
};
// Pairs, tuples and arrays.
template <typename Tuple, std::size_t Size>
struct TupleResults {
  static constexpr bool are_tensors = true;
  static TensorResults list(const Tuple& results) {
    return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, results);
  }
  static Tuple from(const TensorResults& results) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return Tuple{results.tensors[I]...}; }
    (std::make_index_sequence<Size>{});
  }
};
template <>
struct Results<std::pair<Tensor, Tensor>> : TupleResults<std::pair<Tensor, Tensor>, 2> {};
template <std::same_as<Tensor>... Each>
struct Results<std::tuple<Each...>> : TupleResults<std::tuple<Each...>, sizeof...(Each)> {};
template <std::size_t Size>
struct Results<std::array<Tensor, Size>> : TupleResults<std::array<Tensor, Size>, Size> {};

inline constexpr std::size_t most_tensors = 16;  // as parameters

template <std::size_t>
using AnyTensor = const Tensor&;
template <typename F, std::size_t N>
constexpr bool takes = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, AnyTensor<I>...>;
}
(std::make_index_sequence<N>{});

// The least number of tensors that the function takes; none: most_tensors + 1.
template <typename F, std::size_t N = 0>
constexpr std::size_t least_tensors() {
  if constexpr (N > most_tensors)
    return N;
  else if constexpr (takes<F, N>)
    return N;
  else
    return least_tensors<F, N + 1>();
}
template <typename F>
constexpr bool takes_tensors = least_tensors<F>() <= most_tensors;
// Whether it takes all tensors as one list. Asked only of a callable that takes no single tensors,
// since a generic lambda takes anything.
template <typename F>
constexpr bool takes_list() {
  if constexpr (takes_tensors<F>)
    return false;
  else
    return std::is_invocable_v<F&, const std::vector<Tensor>&>;
}

template <typename F, std::size_t... I>
decltype(auto) apply(F& f, [[maybe_unused]] std::span<const Tensor> a, std::index_sequence<I...>) {
  return f(a[I]...);
}
struct NotCallable {
  NotCallable() = delete;
};
template <typename F>
auto returned_by() {
  if constexpr (takes_tensors<F>)
    return std::type_identity<std::decay_t<decltype(detail::apply(
        std::declval<F&>(), {}, std::make_index_sequence<least_tensors<F>()>{}))>>{};
  else if constexpr (takes_list<F>())
    return std::type_identity<std::decay_t<std::invoke_result_t<F&, const std::vector<Tensor>&>>>{};
  else
    return std::type_identity<NotCallable>{};
}
template <typename F>
using Returned = typename decltype(returned_by<F>())::type;
template <typename F>
constexpr bool is_compilable = Results<Returned<F>>::are_tensors;

// The parameters of a callable that is no template and has no overloads.
template <typename Result, typename... Parameters>
struct Typed {
  // Writes to a parameter would go to a copy.
  static constexpr bool are_structures =
      ((holds<std::decay_t<Parameters>>() != Holds::unknown) && ...) &&
      !((std::is_lvalue_reference_v<Parameters> &&
         !std::is_const_v<std::remove_reference_t<Parameters>>) ||
        ...);
  // Besides tensors themselves.
  static constexpr bool have_tensors = ((holds<std::decay_t<Parameters>>() == Holds::tensors &&
                                         !std::same_as<std::decay_t<Parameters>, Tensor>) ||
                                        ...);
  using Returned = std::decay_t<Result>;
  template <template <typename...> typename Face>
  using As = Face<Returned, std::decay_t<Parameters>...>;
};
template <typename F>
struct TypedAs {
  static constexpr bool are_structures = false, have_tensors = false;
};
template <typename R, typename... P>
struct TypedAs<R (*)(P...)> : Typed<R, P...> {};
template <typename R, typename... P>
struct TypedAs<R (*)(P...) noexcept> : Typed<R, P...> {};
template <typename R, typename C, typename... P>
struct TypedAs<R (C::*)(P...)> : Typed<R, P...> {};
template <typename R, typename C, typename... P>
struct TypedAs<R (C::*)(P...) noexcept> : Typed<R, P...> {};
template <typename R, typename C, typename... P>
struct TypedAs<R (C::*)(P...) const> : Typed<R, P...> {};
template <typename R, typename C, typename... P>
struct TypedAs<R (C::*)(P...) const noexcept> : Typed<R, P...> {};
template <typename F>
requires requires { &F::operator(); }
struct TypedAs<F> : TypedAs<decltype(&F::operator())> {};

// An object's `forward`, which may have defaults.
template <typename M>
struct Forward {
  M* module;
  template <typename... Given>
  auto operator()(Given&&... given) const
      -> decltype(module->forward(std::forward<Given>(given)...)) {
    return module->forward(std::forward<Given>(given)...);
  }
};
template <typename M>
struct TypedAs<Forward<M>> : TypedAs<decltype(&M::forward)> {};

// A member function with its object, as a function of the same parameters.
template <typename M, typename Member, typename... P>
struct Bound {
  M* object;
  Member member;
  decltype(auto) operator()(P... arguments) const {
    return (object->*member)(std::forward<P>(arguments)...);
  }
};
template <typename M, typename R, typename C, typename... P>
auto bound(M& object, R (C::*member)(P...)) {
  return Bound<M, R (C::*)(P...), P...>{&object, member};
}
template <typename M, typename R, typename C, typename... P>
auto bound(M& object, R (C::*member)(P...) const) {
  return Bound<const M, R (C::*)(P...) const, P...>{&object, member};
}

// Whether it takes structures: where it does not take tensors alone, or takes others besides.
template <typename F>
constexpr bool takes_structures() {
  if constexpr (!TypedAs<F>::are_structures)
    return false;
  else if constexpr (TypedAs<F>::have_tensors)
    return !takes_list<F>();
  else
    return !takes_tensors<F>;
}
template <typename F>
constexpr bool gives_tensors() {
  if constexpr (takes_structures<F>())
    return Results<typename TypedAs<F>::Returned>::are_tensors;
  else
    return is_compilable<F>;
}

// `taken` are the numbers of tensors, or arguments, that the function takes.
[[noreturn]] void raise_takes_structures();  // and no list of tensors
[[noreturn]] void raise_wrong_count(std::span<const std::size_t> taken, std::size_t given,
                                    std::string_view what = "tensor");

template <typename F>
void refuse_count(std::size_t given) {
  std::array<std::size_t, most_tensors + 1> taken{};
  std::size_t count = 0;
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    ((takes<F, N> ? void(taken[count++] = N) : void()), ...);
  }
  (std::make_index_sequence<most_tensors + 1>{});
  raise_wrong_count(std::span(taken).first(count), given);
}

// Calls `f` with the tensors as it takes them; raises `Error` for a number that it does not take.
template <typename F, std::size_t N = 0>
TensorResults call_with(F& f, const std::vector<Tensor>& a) {
  if constexpr (takes_list<F>()) {
    return Results<Returned<F>>::list(f(a));
  } else if constexpr (N > most_tensors) {
    refuse_count<F>(a.size());
    return {};
  } else {
    if constexpr (takes<F, N>)
      if (a.size() == N)
        return Results<Returned<F>>::list(detail::apply(f, a, std::make_index_sequence<N>{}));
    return call_with<F, N + 1>(f, a);
  }
}

// Calls `f` with the first `values.size()` of its parameters, which lie at these addresses; raises
// `Error` for a number that it does not take.
template <typename F, typename... Parameters>
TensorResults apply_structures(F& f, std::span<void* const> values) {
  std::vector<std::size_t> taken;
  std::optional<TensorResults> results;
  auto try_count = [&]<std::size_t... I>(std::index_sequence<I...>) {
    using All = std::tuple<Parameters...>;
    if constexpr (std::is_invocable_v<F&, std::tuple_element_t<I, All>...>) {
      taken.push_back(sizeof...(I));
      if (values.size() == sizeof...(I)) {
        decltype(auto) returned =
            f(std::move(*static_cast<std::tuple_element_t<I, All>*>(values[I]))...);
        results = Results<std::decay_t<decltype(returned)>>::list(returned);
      }
    }
  };
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (try_count(std::make_index_sequence<N>{}), ...);
  }
  (std::make_index_sequence<sizeof...(Parameters) + 1>{});
  if (!results) raise_wrong_count(taken, values.size(), "argument");
  return std::move(*results);
}

[[noreturn]] void raise_empty_function();
// For callables that may be empty: a std::function, a pointer.
template <typename F>
void require_function(const F& f) {
  if constexpr (std::constructible_from<F, std::nullptr_t> && requires { f == nullptr; })
    if (f == nullptr) raise_empty_function();
}

// The message of compile() for a function that it cannot take.
template <typename F>
constexpr void refuse_function() {
  constexpr bool is_taken = takes_tensors<F> || takes_list<F>() || takes_structures<F>();
  static_assert(
      is_taken,
      "compile(): each parameter of the function must be, by value or const reference, a "
      "Tensor; a std::vector, array, pair, tuple, optional or map of such; a plain struct "
      "of up to 16 of them, without base classes; a number, flag, enumerator or string; or a "
      "class with a for_each_tensor (graph/compile/calls/structure.h), which may have base "
      "classes. A "
      "template or overloaded function may take up to 16 tensors");
  static_assert(!is_taken || gives_tensors<F>(),
                "compile(): the function must return a Tensor, or a structure of tensors: a "
                "std::vector, array, pair, tuple, optional or map, a plain struct of up to 16 "
                "members without base classes, or a class with a for_each_tensor "
                "(graph/compile/calls/structure.h)");
}

}  // namespace tilewright::detail
