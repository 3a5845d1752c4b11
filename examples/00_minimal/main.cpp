// Compiles a function on tensors and calls it. Built in two ways from an installed library:
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build
//   flags="$(pkg-config --cflags --libs tilewright)"
//   g++ -std=c++20 main.cpp $flags -Wl,-rpath,$(pkg-config --variable=libdir tilewright)
// Without the last the program finds the library by LD_LIBRARY_PATH alone, unless it is where the
// system looks.
#include <tilewright/tilewright.h>
#include <iostream>
#include <vector>

namespace tw = tilewright;

int main() {
  auto scaled_relu = tw::compile([](const tw::Tensor& x) { return tw::relu(x) * 2.0 + 1.0; });
  tw::Tensor x = tw::Tensor::from(std::vector<float>{-1, 0, 1, 2}, {2, 2});
  for (float y : scaled_relu(x).to_vector<float>()) std::cout << y << ' ';
  std::cout << '\n';
}
