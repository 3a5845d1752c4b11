// libpq's functions as this library declares them, against libpq's header where that is found.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#endif
#include "autotune/database/sql/libpq.h"

#include <gtest/gtest.h>

#include <type_traits>

#ifdef LIBPQ_FE_H
namespace tilewright::autotune::libpq_test {
namespace {

// The header's enums are integers here, and its Oid is unsigned.
template <typename T>
using Plain = std::conditional_t<std::is_enum_v<T>, int, T>;

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
constexpr bool are_alike(OurResult (*)(Ours...), TheirResult (*)(Theirs...)) {
  return std::is_same_v<OurResult, Plain<TheirResult>> && (std::is_same_v<Ours, Theirs> && ...);
}

#define TILEWRIGHT_LIBPQ(result, name, parameters) \
  static_assert(                                   \
      are_alike(static_cast<result(*) parameters>(nullptr), decltype (&::name)(nullptr)), #name);
#include "autotune/database/sql/libpq.def"
#undef TILEWRIGHT_LIBPQ

TEST(Libpq, IsDeclaredAsItsHeaderHasIt) { SUCCEED() << "when it is compiled"; }

}  // namespace
}  // namespace tilewright::autotune::libpq_test
#endif
