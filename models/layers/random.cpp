#include "models/layers/random.h"

#include <cmath>
#include <mutex>
#include <numbers>
#include <utility>

#include "models/weights/convert.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

struct DefaultStreams {
  std::mutex mutex;
  std::uint64_t seedings = 0, next = 0;  // calls of manual_seed that were followed
};
DefaultStreams& default_streams() {
  static DefaultStreams streams;
  return streams;
}

template <typename Draw>
void fill(Tensor& tensor, Draw draw) {
  require(is_floating(tensor.dtype()) && tensor.is_contiguous(), "[fill] a tensor of ",
          tensor.dtype(), " ", tensor.shape(), tensor.is_contiguous() ? "" : ", not contiguous",
          "; a contiguous floating tensor is needed");
  if (tensor.device() != Device::cpu()) {
    Tensor drawn = Tensor::empty(tensor.shape(), tensor.dtype());
    fill(drawn, draw);
    return tensor.copy_from(drawn);
  }
  auto* bytes = static_cast<char*>(tensor.data());
  std::int64_t step = size_bytes(tensor.dtype());
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    auto value = static_cast<float>(draw());
    weights::convert(&value, f32, bytes + i * step, tensor.dtype(), 1);
  }
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream)
    : state_(mix(mix(seed + golden) + stream * golden)) {}

std::uint64_t RandomStream::next() { return mix(state_ += golden); }

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

RandomStream next_random_stream() {
  DefaultStreams& streams = default_streams();
  const graph::Seeding last = graph::last_seeding();
  std::lock_guard lock(streams.mutex);
  if (std::exchange(streams.seedings, last.calls) != last.calls) streams.next = 0;
  return RandomStream(last.seed, streams.next++);
}

void fill_uniform(Tensor& tensor, double low, double high, RandomStream stream) {
  fill(tensor, [&] { return low + (high - low) * stream.uniform(); });
}
void fill_normal(Tensor& tensor, double mean, double deviation, RandomStream stream) {
  fill(tensor, [&] { return mean + deviation * stream.normal(); });
}
void fill_value(Tensor& tensor, double value) {
  fill(tensor, [&] { return value; });
}

}  // namespace tilewright
