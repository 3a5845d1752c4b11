// Handles that a captured function assigns: what its run over symbolic tensors must not leave
// behind.
//
// A function is run once for its graph and never again for its calls. If it assigns a handle that
// outlives it (`state = state + x`, `std::swap(now, next)`), every call ought to do so, which no
// graph can express. Whether a handle outlives the function is known only at the end: handles that
// are destroyed before were local to the function. So the first assignment of each handle is noted
// together with its former tensor, destroyed handles are forgotten, and the remaining ones are
// examined at the end of the capture:
//
//   * a handle on a symbolic tensor holds a value of the call, and the graph breaks;
//   * handles that stand for what others of them stood for were exchanged, and the graph breaks;
//   * a handle that was read, and stood for memory that the graph reads, is a state of the
//   function,
//     and the graph breaks;
//   * anything else, such as a table that is made at the first call, is as one run of the function
//     leaves it.
//
// Where the capture ends by an error, handles of the first three kinds are given back what they
// stood for, so that the function can be run again. In a function that runs in segments (capture.h)
// they are as they should be: it runs at each call.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

// The assignments during one capture, on its thread.
class HandleAssignments {
 public:
  explicit HandleAssignments(std::uint64_t capture) : capture_(capture) {}
  // A handle that stood for `former`, maybe null, is about to stand for something else. `was_read`:
  // by this capture or another one.
  void note(Tensor& handle, const std::shared_ptr<TensorBody>& former, bool was_read) noexcept;
  void forget(Tensor& handle) noexcept { former_.erase(&handle); }  // it ends

  // The handles of the first three kinds, where the graph reads this memory. Raises std::bad_alloc
  // where there was no memory for a note.
  std::vector<Tensor*> lasting(std::span<const Buffer* const> read) const;
  // The tensor of one of these handles; its former tensor, if it is undefined now.
  const TensorBody& named_by(Tensor& handle) const;
  void give_back(std::span<const Buffer* const> read);
  void keep() noexcept { former_.clear(), has_missed_one_ = false; }  // they are as they should be

 private:
  bool is_own(const TensorBody& body) const { return body.capture == capture_; }
  bool was_exchanged(const Tensor& handle, const std::shared_ptr<TensorBody>& before) const;

  std::uint64_t capture_;
  struct Former {
    std::shared_ptr<TensorBody> body;
    bool was_read;
  };
  bool is_lasting(const Tensor& handle, const Former& former,
                  std::span<const Buffer* const> read) const;
  std::map<Tensor*, Former> former_;
  bool has_missed_one_ = false;
};

}  // namespace tilewright::graph
