// The turn to make an entry of a store. Several processes that start together miss the same
// entries, and each would compile all of them: instead one compiles an entry, and those that want
// it too wait until it has, then find it.
//
// A turn is an advisory lock of a file beside the entry. The system gives it back when its process
// ends, in whichever way. A turn only saves work: where the folder cannot be written or the file
// system has no locks, everybody has a turn at once, and so does a process
// that has waited for `longest_wait`, because the other one may be stopped.
#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

namespace tilewright {

class EntryTurn {
 public:
  static constexpr std::string_view extension = ".turn";
  static constexpr std::chrono::seconds longest_wait{10};

  // Waits for the turn. Without a path there is no turn to wait for.
  explicit EntryTurn(std::filesystem::path file, std::chrono::milliseconds most = longest_wait);
  ~EntryTurn();
  EntryTurn(EntryTurn&& other) noexcept
      : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  EntryTurn& operator=(EntryTurn&&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;  // of the locked file
};

}  // namespace tilewright
