#include "runtime/package/verify.h"

#include <algorithm>
#include <string>

#include "runtime/base/error.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/package/executable_rules.h"

namespace tilewright {
namespace {

constexpr std::int64_t most_rank = 64, most_threads = 1024;

void check_tensor(const PackageTensor& tensor) {
  require(std::ssize(tensor.shape) <= most_rank, "a tensor has ", tensor.shape.size(),
          " axes, of at most ", most_rank);
  std::int64_t count = size_bytes(tensor.dtype);
  for (std::int64_t size : tensor.shape)
    require(size >= 0 && !__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count),
            "a tensor has the impossible shape ", tensor.shape);
}

class FunctionRules {
 public:
  FunctionRules(const PackageContents& contents, const PackageFunction& function)
      : contents_(contents), function_(function) {}

  void check() {
    for (const auto* tensors : {&function_.inputs, &function_.outputs})
      for (const PackageTensor& tensor : *tensors) check_tensor(tensor);
    require(function_.threads >= 0 && function_.threads <= most_threads, "it takes ",
            function_.threads, " threads, of at most ", most_threads);
    require_number(function_.executable, contents_.executables.size(), "executable");
    std::vector<InputRule> inputs;
    for (const PackageBinding& binding : function_.bindings) inputs.push_back(rule_of(binding));
    check_executable(contents_, run(), inputs);
    check_results();
    for (const PackageIndexCheck& check : function_.checks) check_elements(check);
  }

 private:
  const PackageExecutable& run() const { return contents_.executables[function_.executable]; }

  InputRule rule_of(const PackageBinding& binding) const {
    switch (binding.kind) {
      case PackageBinding::Kind::none: return {};
      case PackageBinding::Kind::argument: {
        require_number(binding.index, function_.inputs.size(), "argument");
        const PackageTensor& tensor = function_.inputs[binding.index];
        return {true, tensor.is_written, tensor.bytes()};
      }
      case PackageBinding::Kind::blob: {
        require_number(binding.index, contents_.blobs.size(), "blob");
        const std::int64_t bytes = std::ssize(contents_.blobs[binding.index].bytes);
        require(binding.offset >= 0 && binding.offset <= bytes, "byte ", binding.offset,
                " of blob ", binding.index, " is named, of ", bytes);
        return {true, false, bytes - binding.offset};
      }
    }
    __builtin_unreachable();
  }

  void check_results() const {
    const std::size_t wanted = function_.outputs.size() + 2 * function_.extrema.size();
    require(function_.results.size() == wanted, "it has ", function_.results.size(),
            " sources of outputs, and must have ", wanted);
    for (std::size_t i = 0; i < function_.results.size(); ++i) {
      static const PackageTensor number{"", DType::i64, {}};
      const bool is_output = i < function_.outputs.size();
      const PackageTensor& tensor = is_output ? function_.outputs[i] : number;
      const PackageResult& result = function_.results[i];
      if (result.is_input) {
        require(is_output, "a number that is looked at is an input");
        check_view(tensor, result);
        continue;
      }
      const auto& buffers = run().run.output_bytes;
      require_number(result.index, buffers.size(), "output buffer");
      require(tensor.bytes() <= buffers[result.index], "output ", i, " has ", tensor.bytes(),
              " bytes, and its buffer ", buffers[result.index]);
    }
  }

  // The elements of an input that an output consists of lie in that input.
  void check_view(const PackageTensor& tensor, const PackageResult& result) const {
    require_number(result.index, function_.bindings.size(), "input");
    const PackageBinding& binding = function_.bindings[result.index];
    require(binding.kind != PackageBinding::Kind::none, "an output is input ", result.index,
            ", which has no memory");
    require(result.strides.size() == tensor.shape.size(), "an output of ", tensor.shape.size(),
            " axes has ", result.strides.size(), " strides");
    if (element_count(tensor.shape) == 0) return;
    const std::int64_t size = size_bytes(tensor.dtype);
    std::int64_t least = result.offset, most = result.offset;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      std::int64_t reach = 0;
      std::int64_t& end = result.strides[axis] < 0 ? least : most;
      require(!__builtin_mul_overflow(tensor.shape[axis] - 1, result.strides[axis], &reach) &&
                  !__builtin_add_overflow(end, reach, &end),
              "an output has the impossible strides ", result.strides);
    }
    const bool is_argument = binding.kind == PackageBinding::Kind::argument;
    const std::int64_t before = is_argument ? 0 : binding.offset / size;
    const std::int64_t bytes =
        is_argument ? function_.inputs[binding.index].bytes()
                    : std::ssize(contents_.blobs[binding.index].bytes) - binding.offset;
    require(least >= -before && most < bytes / size, "an output consists of elements ", least,
            " to ", most, " of input ", result.index, ", which has ", -before, " to ",
            bytes / size);
  }

  void check_elements(const PackageIndexCheck& check) const {
    require_number(check.argument, function_.inputs.size(), "argument");
    const std::int64_t count = element_count(function_.inputs[check.argument].shape);
    require(check.count >= 0 && check.count <= count, "a check looks at ", check.count,
            " elements of argument ", check.argument, ", which has ", count);
    for (std::int64_t at : check.offsets)
      require(at >= 0 && at < count, "a check looks at element ", at, " of argument ",
              check.argument, ", which has ", count);
  }

  const PackageContents& contents_;
  const PackageFunction& function_;
};

// Calls `check` for the number and has its errors begin with what was checked.
template <typename Check>
void check_each(const char* what, std::size_t count, const Check& check) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      check(i);
    } catch (const Error& error) {
      raise_error(concat(what, " ", i, ": ", error.what()));
    }
  }
}

std::size_t place_of(const PackageContents& contents) {
  return static_cast<std::size_t>(std::ranges::find(instruction_sets, contents.instruction_set) -
                                  instruction_sets.begin());
}

}  // namespace

void verify(const PackageContents& contents) {
  require(
      is_foreign(contents.instruction_set) ||
          std::ranges::find(instruction_sets, contents.instruction_set) != instruction_sets.end(),
      "its code is for a processor that this version does not know");
  require(!contents.functions.empty(), "it has no function");
  for (const PackageKernel& kernel : contents.kernels) {
    require_number(kernel.object, contents.blobs.size(), "blob");
    require(kernel.scratch_bytes >= 0, "a kernel has ", kernel.scratch_bytes,
            " bytes of scratch memory");
  }
  check_depth(contents);
  check_each("control flow", contents.control_flow.size(),
             [&](std::size_t i) { check_control_flow(contents, contents.control_flow[i]); });
  check_each("function", contents.functions.size(),
             [&](std::size_t i) { FunctionRules(contents, contents.functions[i]).check(); });
  check_use(contents);
}

void verify(const PackageTargets& targets) {
  require(!targets.empty(), "it has no code");
  for (const PackageContents& contents : targets) {
    verify(contents);
    require(have_same_signatures(contents, targets.front()), "its functions for processors with ",
            contents.instruction_set, " take or give other tensors than those for ",
            targets.front().instruction_set);
  }
  for (std::size_t i = 1; i < targets.size(); ++i)
    require(place_of(targets[i - 1]) < place_of(targets[i]), "its code for ",
            targets[i].instruction_set, " comes behind that for ", targets[i - 1].instruction_set,
            "; the best instruction set must be the first, and each be there once");
}

bool have_same_signatures(const PackageContents& a, const PackageContents& b) {
  return std::ranges::equal(a.functions, b.functions,
                            [](const PackageFunction& one, const PackageFunction& other) {
                              return one.inputs == other.inputs && one.outputs == other.outputs;
                            });
}

}  // namespace tilewright
