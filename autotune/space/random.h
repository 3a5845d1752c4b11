// The source of random numbers of searches and measurements. Apart from space.h, which names it by
// reference alone, so that programs that only declare spaces do not compile <random>.
#pragma once

#include <random>

namespace tilewright::autotune {

class Random : public std::mt19937_64 {
 public:
  using std::mt19937_64::mt19937_64;
};

}  // namespace tilewright::autotune
