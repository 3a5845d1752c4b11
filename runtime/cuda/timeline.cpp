#include "runtime/cuda/timeline.h"

#include "runtime/cuda/primary_context.h"
#include "runtime/trace.h"

namespace tilewright::cuda {
namespace {

constexpr std::size_t most_waiting = 1024;

}  // namespace

Timeline::Timeline(PrimaryContext& context)
    : context_(context),
      source_(add_trace_source([](void* self) { static_cast<Timeline*>(self)->collect(); }, this)) {
}

Timeline::~Timeline() { remove_trace_source(source_); }

std::unique_ptr<Event> Timeline::event() {
  if (free_.empty()) return std::make_unique<Event>(context_);
  std::unique_ptr<Event> found = std::move(free_.back());
  free_.pop_back();
  return found;
}

// On an idle stream the time of an event is that of its recording.
void Timeline::set_clock() {
  context_.synchronize();
  zero_ = std::make_unique<Event>(context_);
  zero_->record();
  zero_->wait();
  zero_seconds_ = trace_seconds();
}

void Timeline::before(const std::string& kernel) {
  {
    std::lock_guard lock(mutex_);
    if (!zero_) set_clock();
  }
  if (waiting_.size() >= most_waiting) collect();
  mutex_.lock();  // until after(): kernels of several threads are not mixed up
  waiting_.push_back({kernel, event(), event()});
  waiting_.back().begin->record();
}

void Timeline::after() {
  waiting_.back().end->record();
  mutex_.unlock();
}

void Timeline::collect() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  for (Pair& pair : waiting_) {
    pair.end->wait();
    double begin = zero_seconds_ + pair.begin->seconds_since(*zero_);
    double end = zero_seconds_ + pair.end->seconds_since(*zero_);
    add_trace_span("kernel", pair.kernel, context_.name(), begin, end);
    free_.push_back(std::move(pair.begin));
    free_.push_back(std::move(pair.end));
  }
  waiting_.clear();
}

}  // namespace tilewright::cuda
