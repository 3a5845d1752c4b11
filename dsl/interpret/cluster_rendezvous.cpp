#include "dsl/interpret/cluster_rendezvous.h"

#include <thread>
#include <utility>

#include "dsl/ir/elements.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

struct Stopped {};  // thrown in programs that wait when another one fails

}  // namespace

void ClusterRendezvous::run(const std::function<void(int rank)>& program) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(values_.size()); ++rank)
    threads.emplace_back([this, rank, &program] {
      std::unique_lock lock(mutex_);
      std::exception_ptr error;
      try {
        if (!error_) program(rank);
      } catch (const Stopped&) {
      } catch (...) {
        error = std::current_exception();
      }
      leave(error);
    });
  for (std::thread& thread : threads) thread.join();
  if (error_) std::rethrow_exception(error_);
}

void ClusterRendezvous::leave(std::exception_ptr error) {
  ++left_;
  if (!error && !error_ && waiting_ > 0)
    error = std::make_exception_ptr(
        Error(concat(describe(waits_at_->where), ": [cluster_reduce] ", waiting_,
                     " programs of the cluster wait here, and another one has ended; all must come "
                     "equally often")));
  if (error && !error_) error_ = error;
  changed_.notify_all();
}

TileDataPtr ClusterRendezvous::combine(int rank, const Inst& inst, TileDataPtr mine,
                                       const Type& type) {
  require(left_ == 0 && (waiting_ == 0 || waits_at_ == &inst), describe(inst.where),
          ": [cluster_reduce] programs of one cluster come to different places; all must come to "
          "the same, equally often");
  waits_at_ = &inst;
  values_[static_cast<std::size_t>(rank)] = std::move(mine);
  if (++waiting_ == static_cast<int>(values_.size())) {
    complete(inst, type);
    return result_;
  }
  std::unique_lock lock(mutex_, std::adopt_lock);
  changed_.wait(lock, [this, turn = turn_] { return turn_ != turn || error_; });
  lock.release();
  if (error_) throw Stopped{};
  return result_;
}

void ClusterRendezvous::complete(const Inst& inst, const Type& type) {
  TileDataPtr sum = values_[0];
  for (std::size_t i = 1; i < values_.size(); ++i) {
    auto next = std::make_shared<TileData>(type);
    std::array<Column, 2> both{sum->column(), values_[i]->column()};
    evaluate_elements(info(inst.get<Reduction>().kind).combining_op, type.dtype, type.dtype, both,
                      next->mutable_column(), element_count(type.shape));
    sum = next;
  }
  result_ = sum;
  waiting_ = 0;
  ++turn_;
  changed_.notify_all();
}

}  // namespace tilewright::ir
