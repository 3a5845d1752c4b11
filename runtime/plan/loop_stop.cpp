#include "runtime/plan/loop_stop.h"

#include <utility>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

thread_local const std::atomic<bool>* stop_of_thread = nullptr;

}  // namespace

StoppableLoops::StoppableLoops(const std::atomic<bool>& stop)
    : around_(std::exchange(stop_of_thread, &stop)) {}
StoppableLoops::~StoppableLoops() { stop_of_thread = around_; }

LoopStop::LoopStop(std::string_view loop) : loop_(loop), stop_(stop_of_thread) {}

void LoopStop::raise(std::int64_t done) const {
  raise_error(concat("[", loop_, "] was stopped after ", done, " turn", done == 1 ? "" : "s",
                     ", as the flag of StoppableLoops is set; a loop ends when its condition "
                     "becomes false, or at a number of turns that it carries and compares"));
}

}  // namespace tilewright
