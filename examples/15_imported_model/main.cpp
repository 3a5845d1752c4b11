// Lesson 15, a model that PyTorch exported, end to end. You learn to run it without PyTorch: load
// the program with its weights, look at what it takes, compile it, and compare with what PyTorch
// computed.
//
// In Python, once:
//
//   program = torch.export.export(model.eval(), (ids,))
//   torch.export.save(program, "model.pt2")
//   save_file({"in.0": ids, "out.0": model(ids)}, "model.safetensors")    # safetensors.torch
//
// Then, without it:
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build
//   build/imported_model model.pt2 model.safetensors
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;

namespace {

std::vector<tw::Tensor> numbered(const tw::Safetensors& file, const std::string& prefix) {
  std::vector<tw::Tensor> tensors;
  for (std::string name = prefix + ".0"; file.find(name) != nullptr;
       name = prefix + "." + std::to_string(tensors.size()))
    tensors.push_back(file.tensor(name));
  return tensors;
}

int run(const std::string& program, const std::string& values) {
  // Operators that this library lacks are refused here, all of them together, with the lines of
  // the model that need them. Weights stay in the file and are mapped where they lie aligned.
  auto model = tw::load_exported(program);
  std::cout << "inputs: " << model->inputs().size() << ", results: " << model->outputs().size()
            << '\n';

  tw::Safetensors file = tw::Safetensors::open(values);
  std::vector<tw::Tensor> inputs = numbered(file, "in"), expected = numbered(file, "out");

  // Operator by operator, and then as one graph: fused, planned once, replayed by later calls.
  bool fits = true;
  auto show = [&](const std::string& how, const std::vector<tw::Tensor>& outputs) {
    bool right = outputs.size() == expected.size();
    for (std::size_t i = 0; right && i < outputs.size(); ++i)
      right = tw::all(tw::abs(outputs[i] - expected[i]) < 1e-3).item<bool>();
    std::cout << how << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  };
  show("at once", model->forward(inputs));
  auto fast = tw::compile(*model, {.mode = tw::Mode::reduce_overhead});
  show("first call", fast(inputs));
  show("second call", fast(inputs));

  // Fewer launches than operators is what compiling is for.
  std::int64_t operators = 0;
  for (const tw::ProgramOperator& one : model->operators()) operators += one.count;
  bool is_fused = fast.report().at(0).launches < operators;
  std::cout << "fewer launches than operators: " << (is_fused ? "yes" : "no") << '\n';

  // A figure, which differs from run to run: the speed beside that of operator by operator.
  if (tw::default_device() == tw::Device::cpu()) {
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { fast(inputs); }, [&] { model->forward(inputs); }}, /*rounds=*/3);
    std::cerr << "speed beside operator by operator: " << seconds[1] / seconds[0] << '\n';
  }
  return fits && is_fused ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: imported_model MODEL.pt2 VALUES.safetensors\n";
    return 2;
  }
  try {
    return run(words[1], words[2]);
  } catch (const tw::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
