#include "models/weights/fill.h"

#include "models/weights/convert.h"

namespace tilewright::weights {

void fill(Tensor& destination, const void* source, DType type) {
  DType own = destination.dtype();
  if (destination.device() == Device::cpu())
    return convert(source, type, destination.data(), own, destination.count());
  Tensor between = Tensor::empty(destination.shape(), own);
  convert(source, type, between.data(), own, between.count());
  destination.copy_from(between);
}

}  // namespace tilewright::weights
