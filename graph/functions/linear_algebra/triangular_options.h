// Which half of a triangular matrix counts, of real and of complex ones.
#pragma once

namespace tilewright {

struct TriangularOptions {
  bool upper = false;
  bool unit_diagonal = false;  // ones, which are not read
};

}  // namespace tilewright
