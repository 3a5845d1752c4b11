#include "graph/functions/random/generator.h"

#include <mutex>

#include "graph/functions/dynamic_scalar.h"
#include "graph/functions/random/generator_state.h"
#include "graph/tensor/capture.h"

namespace tilewright {

using std::source_location;

namespace {

Tensor number(std::uint64_t value, source_location w) {
  return full({}, static_cast<std::int64_t>(value), DType::i64, w);
}
std::uint64_t value_of(const Tensor& tensor, source_location w) {
  return static_cast<std::uint64_t>(tensor.item<std::int64_t>(w));
}

}  // namespace

// Made at once where a function is being captured, too: its numbers are data of that.
Generator::Generator(std::uint64_t seed, const Device& device)
    : state_(std::make_shared<GeneratorState>()) {
  {
    graph::CapturePause pause;
    const auto w = source_location::current();
    state_->seed = Tensor::scalar(static_cast<std::int64_t>(seed)).to(device, w);
    state_->offset = Tensor::scalar(std::int64_t{0}).to(device, w);
    graph::mark_setting(state_->seed);
    graph::mark_setting(state_->offset);
  }
  if (graph::Capture* capture = graph::Capture::active())
    for (const Tensor& number : {state_->seed, state_->offset}) capture->note_made(number.body());
}

void Generator::manual_seed(std::uint64_t seed, source_location w) {
  const std::unique_lock lock = state_->lock();
  state_->seed.copy_from(number(seed, w), w);
  state_->offset.copy_from(number(0, w), w);
}

void Generator::set_offset(std::uint64_t offset, source_location w) {
  const std::unique_lock lock = state_->lock();
  state_->offset.copy_from(number(offset, w), w);
}

std::uint64_t Generator::initial_seed(source_location w) const { return value_of(state_->seed, w); }
std::uint64_t Generator::offset(source_location w) const { return value_of(state_->offset, w); }

const Generator& default_generator() {
  // Lives as long as the process, even if the first function that asks for it is being captured.
  static const Generator& generator = []() -> const Generator& {
    graph::CapturePause pause;
    return *new Generator;
  }();
  return generator;
}

namespace {

std::mutex seeding_mutex;
graph::Seeding seeding;

}  // namespace

void manual_seed(std::uint64_t seed) {
  Generator(default_generator()).manual_seed(seed);
  GatedLock lock(seeding_mutex);
  seeding = {seed, seeding.calls + 1};
}

graph::Seeding graph::last_seeding() {
  GatedLock lock(seeding_mutex);
  return seeding;
}

}  // namespace tilewright
