#include "dsl/emulator/scheduler.h"

#include <utility>

namespace tilewright::dsl::emulator {
namespace {

// A thread that makes this many calls without waiting lets others go on; one that has had this many
// turns while nothing else happened will never end.
constexpr int calls_of_a_turn = 1024;
constexpr int most_turns = 1 << 14;

}  // namespace

void Scheduler::reset(std::uint64_t random) {
  ready_.clear();
  random_ = random;
  is_cancelled_ = false;
}

// Leaves `from` until somebody comes back to it.
void Scheduler::go_on_with(Thread& thread, Context& from) {
  running_ = &thread;
  thread.is_started = true;
  left_ = &from;
  switch_context(from, thread.context);
}

std::size_t Scheduler::random_below(std::size_t bound) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return (random_ >> 20) % bound;
}

Thread& Scheduler::next_ready() {
  std::size_t chosen = random_below(ready_.size());
  std::swap(ready_[chosen], ready_.back());
  Thread* thread = ready_.back();
  ready_.pop_back();
  return *thread;
}

void Scheduler::cancel(Thread& thread) {
  is_cancelled_ = true;
  go_on_with(thread, main_);
}

Thread& Scheduler::enter() {
  arrive(*left_);
  return *running_;
}

void Scheduler::leave(Thread& thread) { emulator::leave(thread.context, main_); }

bool Scheduler::take_turns(Thread& thread) {
  if (++thread.calls < calls_of_a_turn) return true;
  thread.calls = 0;
  if (std::exchange(thread.seen_events, events_) != events_) thread.turns = 0;
  if (++thread.turns > most_turns) return false;
  ready_.push_back(&thread);
  Thread& next = next_ready();
  if (&next == &thread) return true;
  go_on_with(next, thread.context);
  if (is_cancelled_) throw Cancelled{};
  return true;
}

void Scheduler::wait(const Call& call) {
  call.thread.calls = 0;
  call.thread.waits_in = &call;
  if (ready_.empty())
    switch_context(call.thread.context, main_);
  else
    go_on_with(next_ready(), call.thread.context);
  if (is_cancelled_) throw Cancelled{};
}

void Scheduler::wake(Thread& thread) {
  ++events_;
  thread.waits_in = nullptr;
  ready_.push_back(&thread);
}

}  // namespace tilewright::dsl::emulator
