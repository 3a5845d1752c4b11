#include "runtime/package/package_run.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright {
namespace {

constexpr std::uintptr_t kernel_alignment = 64;

bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kernel_alignment == 0;
}

bool share_memory(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + static_cast<std::uintptr_t>(b_bytes) &&
         y < x + static_cast<std::uintptr_t>(a_bytes);
}

// "argument 0 'x'", made only where it is shown.
struct NamedTensor {
  const char* what;
  std::size_t number;
  const PackageTensor& tensor;
};
std::ostream& operator<<(std::ostream& out, const NamedTensor& named) {
  out << named.what << ' ' << named.number;
  return named.tensor.name.empty() ? out : out << " '" << named.tensor.name << "'";
}

// Elements that lie apart by these strides, one behind the other.
void copy_strided(std::byte* to, const std::byte* from, const PackageTensor& tensor,
                  const PackageResult& place) {
  const std::int64_t size = size_bytes(tensor.dtype), count = element_count(tensor.shape);
  from += place.offset * size;
  if (is_row_major(tensor.shape, place.strides)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * size));
    return;
  }
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t rest = element, offset = 0;
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % tensor.shape[axis] * place.strides[axis];
      rest /= tensor.shape[axis];
    }
    std::memcpy(to + element * size, from + offset * size, static_cast<std::size_t>(size));
  }
}

void require_inside(const PackageRange& range, std::int64_t number) {
  if ((number >= range.least && number < range.end) || number == range.ignored) return;
  raise_error(concat(range.before, number, range.after));
}

}  // namespace

std::shared_ptr<Buffer> buffer_of(const PackageBlob& blob) {
  return Buffer::wrap(const_cast<std::byte*>(blob.bytes.data()), std::ssize(blob.bytes),
                      std::const_pointer_cast<void>(blob.owner));
}

PackageRun::PackageRun(const PackageContents& contents, const PackageFunction& function,
                       const Executable& executable, std::span<void* const> arguments,
                       std::span<void* const> outputs)
    : contents_(contents),
      function_(function),
      run_(executable),
      arguments_(arguments),
      outputs_(outputs) {}

// Kernels read and write as if no argument that is written, and no output, were other memory too.
void PackageRun::require_memory_apart() const {
  const auto& inputs = function_.inputs;
  auto require_apart = [&](const void* data, const NamedTensor& one, const char* how) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      require(&one.tensor == &inputs[i] ||
                  !share_memory(data, one.tensor.bytes(), arguments_[i], inputs[i].bytes()),
              "[run_package] ", one, how, " shares memory with ",
              NamedTensor{"argument", i, inputs[i]}, "; pass memory of its own");
  };
  auto require_there = [&](const void* data, const NamedTensor& one) {
    require(data != nullptr || one.tensor.bytes() == 0, "[run_package] ", one,
            " is a null pointer; it must be ", one.tensor.bytes(), " bytes");
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const NamedTensor input{"argument", i, inputs[i]};
    require_there(arguments_[i], input);
    if (inputs[i].is_written) require_apart(arguments_[i], input, ", which is written,");
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const NamedTensor output{"output", i, function_.outputs[i]};
    require_there(outputs_[i], output);
    require_apart(outputs_[i], output, "");
    for (std::size_t j = 0; j < i; ++j)
      require(!share_memory(outputs_[i], output.tensor.bytes(), outputs_[j],
                            function_.outputs[j].bytes()),
              "[run_package] ", output, " shares memory with output ", j,
              "; pass memory of its own");
  }
}

void PackageRun::check_indices() const {
  for (const PackageIndexCheck& check : function_.checks)
    dispatch(function_.inputs[check.argument].dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        const auto* numbers = static_cast<const T*>(arguments_[check.argument]);
        for (std::int64_t at : check.offsets)
          require_inside(check.range, static_cast<std::int64_t>(numbers[at]));
        if (!check.offsets.empty()) return;
        for (std::int64_t i = 0; i < check.count; ++i)
          require_inside(check.range, static_cast<std::int64_t>(numbers[i]));
      }
    });
}

void PackageRun::bind_inputs() {
  for (const PackageBinding& binding : function_.bindings) switch (binding.kind) {
      case PackageBinding::Kind::none: inputs_.push_back(nullptr); break;
      case PackageBinding::Kind::argument: inputs_.push_back(arguments_[binding.index]); break;
      case PackageBinding::Kind::blob:
        inputs_.push_back(const_cast<std::byte*>(contents_.blobs[binding.index].bytes.data()) +
                          binding.offset);
    }
}

// The first output that is a buffer is written where the caller wants it, if kernels may write
// there; the others are copied.
void PackageRun::make_buffers() {
  buffers_.resize(run_.output_bytes.size());
  first_use_.assign(buffers_.size(), function_.outputs.size());
  for (std::size_t i = function_.outputs.size(); i-- > 0;)
    if (const PackageResult& result = function_.results[i];
        !result.is_input && function_.outputs[i].bytes() == run_.output_bytes[result.index])
      first_use_[result.index] = i;
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    const bool is_callers = !outputs_.empty() && first_use_[k] < function_.outputs.size() &&
                            is_aligned(outputs_[first_use_[k]]);
    buffers_[k] = is_callers ? Buffer::wrap(outputs_[first_use_[k]], run_.output_bytes[k])
                             : Buffer::allocate(run_.output_bytes[k]);
  }
}

// An index that no step has looked at has a least number above its greatest.
void PackageRun::check_extrema() const {
  for (std::size_t i = 0; i < function_.extrema.size(); ++i) {
    std::int64_t numbers[2];
    for (std::size_t j = 0; j < 2; ++j) {
      const PackageResult& result = function_.results[function_.outputs.size() + 2 * i + j];
      std::memcpy(&numbers[j], buffers_[result.index]->data(), sizeof numbers[j]);
    }
    if (numbers[0] > numbers[1]) continue;
    require_inside(function_.extrema[i], numbers[0]);
    require_inside(function_.extrema[i], numbers[1]);
  }
}

std::shared_ptr<Buffer> PackageRun::output(std::size_t number) const {
  const PackageResult& result = function_.results[number];
  const PackageTensor& tensor = function_.outputs[number];
  const bool is_first = !result.is_input && first_use_[result.index] == number;
  if (is_first && (outputs_.empty() || is_aligned(outputs_[number]))) return buffers_[result.index];
  std::shared_ptr<Buffer> memory;
  if (outputs_.empty()) memory = Buffer::allocate(tensor.bytes());
  auto* to = static_cast<std::byte*>(outputs_.empty() ? memory->data() : outputs_[number]);
  if (tensor.bytes() == 0) return memory;
  if (result.is_input)
    copy_strided(to, static_cast<const std::byte*>(inputs_[result.index]), tensor, result);
  else
    std::memcpy(to, buffers_[result.index]->data(), static_cast<std::size_t>(tensor.bytes()));
  return memory;
}

std::vector<std::shared_ptr<Buffer>> PackageRun::run() {
  require_memory_apart();
  check_indices();
  bind_inputs();
  make_buffers();
  const ThreadLimit limit(static_cast<int>(function_.threads));
  run_executable(run_, inputs_, buffers_);
  check_extrema();
  std::vector<std::shared_ptr<Buffer>> results;
  for (std::size_t i = 0; i < function_.outputs.size(); ++i) results.push_back(output(i));
  return results;
}

}  // namespace tilewright
