// How compile() sees a C++ callable: how many tensors it takes, and what it gives as a list of
// tensors and back. Separate from compile.h because nothing here is about compiling.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::detail {

// What a function may return, as a list of tensors (`list`) and from one (`from`).
template <typename Returned>
struct Results {
  static constexpr bool are_tensors = false;
};
template <>
struct Results<Tensor> {
  static constexpr bool are_tensors = true;
  static std::vector<Tensor> list(Tensor result) { return {std::move(result)}; }
  static Tensor from(std::vector<Tensor> list) { return std::move(list.front()); }
};
template <>
struct Results<std::vector<Tensor>> {
  static constexpr bool are_tensors = true;
  static std::vector<Tensor> list(std::vector<Tensor> results) { return results; }
  static std::vector<Tensor> from(std::vector<Tensor> list) { return list; }
};
// Pairs, tuples and arrays.
template <typename Tuple, std::size_t Size>
struct TupleResults {
  static constexpr bool are_tensors = true;
  static std::vector<Tensor> list(const Tuple& results) {
    return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, results);
  }
  static Tuple from(const std::vector<Tensor>& list) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return Tuple{list[I]...}; }
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
struct NotCallable {};
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
// Treats a function that compile() refuses with a message of its own as if it gave a tensor.
template <typename F>
using ReturnedOrTensor = std::conditional_t<is_compilable<F>, Returned<F>, Tensor>;

// `taken` are the numbers of tensors that the function takes.
[[noreturn]] void raise_wrong_count(std::span<const std::size_t> taken, std::size_t given);

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
std::vector<Tensor> call_with(F& f, const std::vector<Tensor>& a) {
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

// What compile() says of a function that it cannot take.
template <typename F>
constexpr void refuse_function() {
  static_assert(takes_tensors<F> || takes_list<F>(),
                "compile(): each parameter of the function must be a Tensor (Tensor or const "
                "Tensor&), and there may be 16 of them; pass a number as a Tensor::scalar or "
                "capture it, and more tensors as one const std::vector<Tensor>&");
  static_assert(!(takes_tensors<F> || takes_list<F>()) || is_compilable<F>,
                "compile(): the function must return a Tensor, several as a std::pair, std::tuple "
                "or std::array of Tensor, or a std::vector<Tensor>");
}

}  // namespace tilewright::detail
