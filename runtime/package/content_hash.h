// The hash of long content. Eight bytes at a time, for content that may be gigabytes of weights.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/base/hash.h"

namespace tilewright {

Hash hash_of_content(std::span<const std::byte> content);

}  // namespace tilewright
