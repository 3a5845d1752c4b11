// Where the programs of a cluster meet while the interpreter runs them: each on a thread of its
// own, but only one at a time, since a program may stop in the middle of loops and wait for the
// others.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "dsl/interpret/tile_data.h"
#include "dsl/ir/function.h"

namespace tilewright::ir {

class ClusterRendezvous {
 public:
  explicit ClusterRendezvous(int programs) : values_(static_cast<std::size_t>(programs)) {}

  // Runs program(rank) of all ranks together; raises the first error of any.
  void run(const std::function<void(int rank)>& program);
  // Called by a program: waits until all have come to `inst`, and gives their values combined in
  // the order of ranks.
  TileDataPtr combine(int rank, const Inst& inst, TileDataPtr mine, const Type& type);

 private:
  void leave(std::exception_ptr error);
  void complete(const Inst& inst, const Type& type);

  std::mutex mutex_;  // held by the program that runs
  std::condition_variable changed_;
  std::vector<TileDataPtr> values_;  // of the programs that wait, by rank
  TileDataPtr result_;
  const Inst* waits_at_ = nullptr;
  int waiting_ = 0, left_ = 0, turn_ = 0;
  std::exception_ptr error_;
};

}  // namespace tilewright::ir
