// The fake driver's streams and events: work that is put off, and done in the order of its streams
// when somebody waits for it.
#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

constexpr std::size_t longest_queue = 1024;  // then the oldest half is done, as by a full GPU

bool is_complete(const Recording& recording) {
  return recording.stream->done >= recording.position;
}

}  // namespace

std::shared_ptr<Stream> State::stream_of(StreamHandle handle, int device) {
  if (handle == nullptr) return devices[static_cast<std::size_t>(device)].null_stream;
  std::shared_ptr<Stream> stream = streams.find(handle);
  return stream != nullptr && stream->device == device ? stream : nullptr;
}

void State::enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work) {
  stream->pending.push_back(std::move(work));
  if (stream->pending.size() > longest_queue) run(*stream, stream->done + longest_queue / 2);
}

void State::run(Stream& stream, std::uint64_t position) {
  DeviceMemory::Window window(memory);
  const Result& lost = devices[static_cast<std::size_t>(stream.device)].lost;
  while (stream.done < position && !stream.pending.empty()) {
    std::function<void()> work = std::move(stream.pending.front());
    stream.pending.pop_front();
    clock_ms += 1e-3;
    if (lost == Result::success) work();
    ++stream.done;
  }
}

void State::lose(int device, Result result, const std::string& why) {
  if (fault.empty()) fault = why;
  Result& lost = devices[static_cast<std::size_t>(device)].lost;
  if (lost == Result::success) lost = result;
}

void State::finish(int device) {
  for (const std::shared_ptr<Stream>& stream : all_streams)
    if (stream->device == device) run(*stream, stream->last());
  // Those that were destroyed, and are waited for by nobody.
  std::erase_if(all_streams, [](const auto& stream) {
    return stream.use_count() == 1 && stream->pending.empty();
  });
}

// Only streams that do not wait for the null stream, so that here it can be one like the others.
Result cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (flags != stream_non_blocking) return Result::not_supported;
  s.all_streams.push_back(std::make_shared<Stream>(Stream{device, {}}));
  *stream = s.streams.add(s.all_streams.back());
  return Result::success;
}

// The remaining work is done when somebody waits for it.
Result cuStreamDestroy(StreamHandle stream) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context) return result;
  return s.streams.remove(stream) ? result : invalid_handle;
}

Result cuStreamSynchronize(StreamHandle handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Stream> stream = s.stream_of(handle, device);
  if (stream == nullptr) return invalid_handle;
  s.run(*stream, stream->last());
  return s.ready(&device);
}

Result cuStreamWaitEvent(StreamHandle handle, EventHandle event_handle, unsigned flags) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Stream> stream = s.stream_of(handle, device);
  std::shared_ptr<Event> event = s.events.find(event_handle);
  if (stream == nullptr || event == nullptr) return invalid_handle;
  if (flags != 0) return Result::invalid_value;
  if (event->last != nullptr && !is_complete(*event->last))
    s.enqueue(stream,
              [&s, waited_for = event->last] { s.run(*waited_for->stream, waited_for->position); });
  return Result::success;
}

Result cuEventCreate(EventHandle* event, unsigned flags) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if ((flags & ~(1U | event_disable_timing)) != 0) return Result::invalid_value;
  bool is_timed = (flags & event_disable_timing) == 0;
  *event = s.events.add(std::make_shared<Event>(Event{device, is_timed, nullptr}));
  return Result::success;
}

Result cuEventDestroy(EventHandle event) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context) return result;
  return s.events.remove(event) ? result : invalid_handle;
}

Result cuEventRecord(EventHandle event_handle, StreamHandle handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Stream> stream = s.stream_of(handle, device);
  std::shared_ptr<Event> event = s.events.find(event_handle);
  if (stream == nullptr || event == nullptr || event->device != device) return invalid_handle;
  auto recording = std::make_shared<Recording>(Recording{stream, stream->last() + 1});
  event->last = recording;
  s.enqueue(stream, [&s, recording] { recording->time_ms = s.clock_ms; });
  return Result::success;
}

Result cuEventSynchronize(EventHandle event_handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Event> event = s.events.find(event_handle);
  if (event == nullptr) return invalid_handle;
  if (event->last != nullptr) s.run(*event->last->stream, event->last->position);
  return s.devices[static_cast<std::size_t>(event->device)].lost;
}

Result cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Event> from = s.events.find(start), to = s.events.find(end);
  for (const auto& event : {from, to})
    if (event == nullptr || !event->is_timed || event->last == nullptr) return invalid_handle;
  if (!is_complete(*from->last) || !is_complete(*to->last)) return Result::not_ready;
  *milliseconds = static_cast<float>(to->last->time_ms - from->last->time_ms);
  return Result::success;
}

}  // namespace tilewright::cuda::fake
