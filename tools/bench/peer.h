// Other systems beside this one, in the same run: programs that time the same cases.
//
// An adapter is a process that lives as long as the bench and answers lines of JSON with lines of
// JSON, so that a sample of ours and one of theirs take turns, and no library of theirs is linked:
//
//   {"do": "hello"}                            -> {"versions": {"torch": "2.6.0", ..}}
//   {"do": "open", "op": "softmax", "arguments": [{"dtype": "f32", "shape": [64, 64], ..}],
//    "sets": 2, "threads": 2, ..}              -> {"systems": {"torch": {"first_call_s": ..}, ..}}
//   {"do": "sample", "system": "torch", "at_least_s": 0.002}  -> {"seconds": of one call}
//   {"do": "close"}                            -> {}
//
// An adapter leaves systems that it cannot run out of "systems", or answers {"error": text}. Data
// are its own, random as ours. tools/peers has the adapters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tilewright::tools {

class Peer {
 public:
  // Starts the program and greets it. Raises `Error` if it cannot be started or says nothing.
  explicit Peer(std::vector<std::string> command);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // One question, one answer. Raises `Error` if the process has ended, or answers with an error.
  nlohmann::json ask(const nlohmann::json& question);
  const nlohmann::json& versions() const { return versions_; }

 private:
  std::string read_line();

  std::string name_;
  int process_ = -1, socket_ = -1;
  std::string unread_;
  nlohmann::json versions_;
};

}  // namespace tilewright::tools
