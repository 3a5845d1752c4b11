// Lesson 17, packages: compile once, and run elsewhere without compiling. You learn to save a
// compiled function as a package, for several sizes of its arguments; to load it and to run it,
// which captures and compiles nothing and gives the same bits; how it refuses arguments that it was
// not made for; and that programs in other languages run the same file (run.c, run.py, run.f90 and
// run.rs beside this one).
//
//   packages FILE     writes the package to FILE, for the other programs, and keeps it
#include <tilewright/tilewright.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

using namespace tilewright;

// The weights of the two layers are constants of the package.
struct Classifier {
  Tensor w1 = (arange(8 * 16).to(f32).reshape({8, 16}) % 7 - 3) / 8;
  Tensor w2 = (arange(16 * 3).to(f32).reshape({16, 3}) % 5 - 2) / 8;

  Tensor forward(const Tensor& x) const { return softmax(matmul(relu(matmul(x, w1)), w2), -1); }
};

Tensor input(std::int64_t rows) { return arange(rows * 8).to(f32).reshape({rows, 8}) / 8; }

void print_rows(const Tensor& y) {
  const std::vector<float> numbers = y.to_vector<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::printf("%.4f%c", numbers[i], i % 3 == 2 ? '\n' : ' ');
}

int main(int argc, char** argv) {
  const std::string file =
      argc > 1 ? argv[1]
               : (std::filesystem::temp_directory_path() / concat("lesson_17_", getpid(), ".twp"))
                     .string();

  // A package holds code of the host, so the function is compiled for the host. Each size that it
  // was called with becomes a function of the package.
  Classifier model;
  auto fast = compile(model, {.device = Device::cpu(), .argument_names = {"x"}});
  for (std::int64_t rows : {1, 4}) fast(input(rows));
  fast.save_package(file, {"probabilities"});

  const Package package = load_package(file);
  for (const PackageSignature& signature : package.signatures())
    std::printf("takes %s %s, gives %s %s\n", signature.inputs[0].name.c_str(),
                to_string(signature.inputs[0].shape).c_str(), signature.outputs[0].name.c_str(),
                to_string(signature.outputs[0].shape).c_str());

  const Tensor y = package(input(4))[0];
  print_rows(y);
  const bool same = y.to_vector<float>() == fast(input(4)).to_vector<float>();
  std::printf("the bits of the compiled function: %s\n", same ? "yes" : "no");

  // Sizes that it was not made for are an error with a remedy, not a compilation.
  try {
    package(input(3));
  } catch (const Error& error) {
    const std::string text = error.what();
    std::printf("3 rows: %s\n", text.substr(0, text.find(", and")).c_str());
  }
  if (argc == 1) std::filesystem::remove(file);
  return same ? 0 : 1;
}
