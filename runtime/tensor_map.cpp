#include "runtime/tensor_map.h"

namespace tilewright {

std::int64_t TensorMapSpec::Extent::value(const Argument* arguments,
                                          const std::vector<ArtifactParam>& params) const {
  if (!param) return factor;
  auto i = static_cast<std::size_t>(*param);
  std::int64_t number = arguments[i].integer;
  return factor * (params[i].dtype == DType::i32 ? static_cast<std::int32_t>(number) : number);
}

}  // namespace tilewright
