#include "models/programs/given_parameters.h"

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::programs {

using json::excerpt;

namespace {

// At most eight names.
std::string names_of(const OwnParameters& own) {
  constexpr int most = 8;
  std::string names;
  int count = 0;
  for (const auto& [name, tensor] : own) {
    if (count++ == most) return concat(names, " and ", own.size() - most, " more");
    names += concat(names.empty() ? "" : ", ", "\"", excerpt(name), "\"");
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void check_parameters(std::string_view operation, const OwnParameters& own,
                      const GivenParameters& given) {
  for (const auto& [name, tensor] : given) {
    const auto found = own.find(name);
    require(found != own.end(), "[", operation, "] the program has no parameter \"", excerpt(name),
            "\"; it has ", names_of(own));
    require(tensor.defined(), "[", operation, "] the tensor for parameter \"", excerpt(name),
            "\" is undefined; leave it out for the program's own");
    const Tensor& wanted = *found->second;
    require(tensor.dtype() == wanted.dtype() && tensor.shape() == wanted.shape(), "[", operation,
            "] parameter \"", excerpt(name), "\" is ", wanted.dtype(), " [", wanted.shape(),
            "]; the tensor given for it is ", tensor.dtype(), " [", tensor.shape(), "]");
  }
}

}  // namespace tilewright::programs
