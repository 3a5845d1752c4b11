#include "tools/bench/random_data.h"

#include <cstring>
#include <random>

namespace tilewright::tools {
namespace {

constexpr std::int64_t count = 1'000'003;  // a prime: no row of a matrix equals the one before it

template <typename T>
T element(double normal, std::uint64_t bits, std::int64_t below) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits % static_cast<std::uint64_t>(below));
  else
    return T(static_cast<float>(normal));
}

void copy(DeviceMemory* memory, char* to, const void* from, std::int64_t bytes, bool from_host) {
  if (memory == nullptr)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else if (from_host)
    memory->copy_from_host(to, from, bytes);
  else
    memory->copy(to, from, bytes);
}

}  // namespace

const std::vector<std::byte>& RandomData::period(DType dtype, double deviation,
                                                 std::int64_t below) {
  auto [at, is_new] = periods_.try_emplace({dtype, deviation, below});
  if (!is_new) return at->second;
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(0, deviation);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    at->second.resize(static_cast<std::size_t>(count) * sizeof(T));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      T value = element<T>(normal(generator), generator(), below);
      std::memcpy(at->second.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return at->second;
}

Tensor RandomData::make(DType dtype, const Shape& shape, double deviation, std::int64_t below) {
  const std::vector<std::byte>& bytes = period(dtype, deviation, below);
  Tensor tensor = Tensor::empty(shape, dtype, device_);
  std::int64_t wanted = tensor.count() * size_bytes(dtype);
  if (wanted == 0) return tensor;
  auto* to = static_cast<char*>(tensor.data());
  DeviceMemory* memory = device_.memory();
  // From another number on each time, then the numbers before it.
  auto whole = static_cast<std::int64_t>(bytes.size());
  std::int64_t first = ++calls_ * 7919 % count * size_bytes(dtype);
  std::int64_t done = std::min(whole - first, wanted);
  copy(memory, to, bytes.data() + first, done, true);
  std::int64_t rest = std::min(first, wanted - done);
  if (rest > 0) copy(memory, to + done, bytes.data(), rest, true);
  for (done += rest; done < wanted;) {  // done: periods, doubled
    std::int64_t next = std::min(done, wanted - done);
    copy(memory, to + done, to, next, false);
    done += next;
  }
  return tensor;
}

}  // namespace tilewright::tools
