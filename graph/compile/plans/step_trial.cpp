#include "graph/compile/plans/step_trial.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "graph/compile/bindings/host_arguments.h"
#include "graph/compile/bindings/weight_copies.h"
#include "graph/run/plan_body.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tune/region_trial.h"
#include "runtime/device_pool.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t alignment = 64;
constexpr std::int64_t small_bytes = 4 << 10;  // counters and the like

}  // namespace

StepMemory::StepMemory(StepInputs from, const Device& device)
    : device_(device), inputs_(std::move(from.inputs)) {
  for (const Tensor& tensor : inputs_) addresses_.push_back(address_of(*tensor.body()));
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    bool is_written = std::ranges::find(from.written, i) != from.written.end();
    bool is_elsewhere = inputs_[i].body()->buffer->memory() != device_.memory();
    if (is_written || is_elsewhere || i < from.arguments) add_copy(i, is_written);
  }
  for (const Copy& copy : copies_)
    if (copy.bytes <= small_bytes) small_.push_back(copy);
}

// The copy has the same offset from a multiple of 64 bytes as the tensor, since code may depend on
// that.
void StepMemory::add_copy(std::size_t input, bool is_written) {
  MemoryOwner owner("copies for timing whole calls");
  const Tensor& tensor = inputs_[input];
  ByteRange range = bytes_spanned(tensor);
  auto shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(range.begin) % alignment);
  DeviceMemory *own = device_.memory(), *from = tensor.body()->buffer->memory();
  Copy copy{Buffer::allocate(range.size() + alignment, own), nullptr, range.size() + alignment,
            input};
  std::byte* base = static_cast<std::byte*>(copy.now->data()) + shift;
  if (own == nullptr)
    std::memcpy(base, range.begin, static_cast<std::size_t>(range.size()));
  else if (from == nullptr)
    own->copy_from_host(base, range.begin, range.size());
  else
    own->copy(base, range.begin, range.size());
  if (is_written) {
    copy.before = Buffer::allocate(copy.bytes, own);
    copy_bytes(*copy.before, *copy.now, copy.bytes);
  }
  addresses_[input] = base + (static_cast<std::byte*>(addresses_[input]) - range.begin);
  copies_.push_back(std::move(copy));
}

void StepMemory::copy_bytes(Buffer& to, const Buffer& from, std::int64_t bytes) const {
  if (DeviceMemory* memory = device_.memory())
    memory->copy(to.data(), from.data(), bytes);
  else
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(bytes));
}

void StepMemory::restore(const std::vector<Copy>& copies) const {
  for (const Copy& copy : copies)
    if (copy.before) copy_bytes(*copy.now, *copy.before, copy.bytes);
}

void StepMemory::set_positions(std::span<const CachePosition> positions, std::int64_t turn) {
  for (const CachePosition& position : positions) {
    auto copy = std::ranges::find(copies_, position.input, &Copy::input);
    if (copy == copies_.end()) continue;
    std::int64_t size = size_bytes(position.dtype);
    auto* to = static_cast<std::byte*>(addresses_[position.input]) + position.element * size;
    // Little-endian, so the low bytes of the number are it as any smaller integer.
    const std::int64_t& value =
        position.values[static_cast<std::size_t>(turn) % position.values.size()];
    if (DeviceMemory* memory = device_.memory())
      memory->copy_from_host(to, &value, size);
    else
      std::memcpy(to, &value, static_cast<std::size_t>(size));
  }
}

void StepTrial::add(std::shared_ptr<const Plan> plan) {
  Candidate candidate;
  candidate.addresses = memory_.addresses();
  candidate.packed_weights =
      packed_copies(*plan, [this](std::size_t i) -> const Tensor& { return memory_.inputs()[i]; });
  for (const std::shared_ptr<Buffer>& copy : candidate.packed_weights)
    candidate.addresses.push_back(copy->data());
  candidate.positions = plan->body().positions;
  candidate.recording = std::make_unique<Recording>(plan->executable());
  candidates_.push_back(std::move(candidate));
}

double StepTrial::seconds(std::size_t plan, double at_least_seconds) {
  if (stop_.stop_requested()) throw Stopped();
  Candidate& candidate = candidates_.at(plan);
  memory_.restore_all();
  memory_.device().synchronize();
  std::int64_t turns = 1, first = candidate.calls++;
  for (const CachePosition& position : candidate.positions)
    turns = std::max(turns, std::ssize(position.values));
  auto begin = std::chrono::steady_clock::now();
  for (std::int64_t runs = 0, batch = 1;;
       batch = runs == 1 ? std::max<std::int64_t>(1, turns - 1) : runs) {
    for (std::int64_t i = 0; i < batch; ++i) {
      memory_.restore_small();
      memory_.set_positions(candidate.positions, first + runs++);
      candidate.recording->run(candidate.addresses);
    }
    memory_.device().synchronize();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() >= at_least_seconds) return spent.count() / static_cast<double>(runs);
  }
}

}  // namespace tilewright::graph
