#!/usr/bin/env bash
# compile() refuses wrong calls in one sentence: refused_calls_test.sh COMPILER SOURCE
set -euo pipefail
compiler=$1 source=$2

# refuses TEXT CODE: the code does not compile, and the compiler's first error has the text.
refuses() {
  local errors
  if errors=$("$compiler" -std=gnu++20 -I"$source" -fsyntax-only -x c++ - 2>&1 <<< "
      #include \"graph/compile/compile.h\"
      using namespace tilewright;
      void function() { $2 }"); then
    echo "compiles: $2"
    exit 1
  fi
  if ! grep -m1 'error:' <<< "$errors" | grep -qF "$1"; then
    printf '%s\nis not the first error of: %s\n' "$errors" "$2"
    exit 1
  fi
}

parameters='each parameter of the function must be, by value or const reference, a Tensor'
refuses "$parameters" 'compile([](const Tensor& x, void*) { return x; });'
refuses "$parameters" 'auto f = compile([](const Tensor& x, std::function<void()>) { return x; }); f(Tensor());'
refuses "$parameters" 'compile([](Tensor& x) { return x; });'
bases='of up to 16 of them, without base classes'
refuses "$bases" 'struct A { Tensor x; }; struct B : A { Tensor y; }; compile([](const B& b) { return b.x; });'
refuses "$bases" 'struct A {}; struct B : A { Tensor y; }; compile([](const std::vector<B>& b) { return b[0].y; });'
refuses 'members without base classes' '
  struct A { Tensor x; };
  struct B : A { Tensor y; };
  compile([](const Tensor& x) { return B{{x}, x}; });'
refuses 'must return a Tensor, or a structure of tensors' 'compile([](const Tensor&) { return 1; });'
refuses 'must return a Tensor, or a structure of tensors' 'compile([](const Tensor&) {});'
