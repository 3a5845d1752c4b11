// A program run as a child: in its own folder, with its own few settings and with limits, and what
// became of it. A drill asks the same four things of every run (crash, hang, memory, what it said),
// so they are measured here and nowhere else.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::drills {

constexpr uid_t nobody = 65534;

struct Limit {
  __rlimit_resource resource;
  rlim_t value;
};

struct Command {
  std::vector<std::string> words;  // the program's path first
  std::filesystem::path folder;    // where it runs; also its HOME, in which its caches are
  // NAME=value. Nothing of the test's own environment is handed on; a bare NAME takes away what is
  // set otherwise: PATH, HOME, and TILEWRIGHT_THREADS=1.
  std::vector<std::string> settings;
  std::vector<Limit> limits;
  // Standard input, output and errors. Empty: nothing to read, and what is written is captured. A
  // path is opened; "-" is closed.
  std::string in, out, err;
  bool is_nobody = false;  // run as the user nobody, which needs root
  double wall_s = 60;      // ended by SIGKILL after
};

struct Outcome {
  int status = 0;  // what it ended with; 128 and the signal's number where a signal ended it
  int signal = 0;
  double cpu_s = 0, wall_s = 0;
  std::int64_t peak_bytes = 0;
  std::string out, err;
  bool is_late = false;  // it had to be killed

  // More than 5 s of the processor or a minute of the clock: machines that build and test are
  // shared.
  bool is_hung() const { return is_late || cpu_s > 5; }
  // One line for a failure's message.
  std::string text() const;
};

// One running child, the leader of a process group that ends with it.
class Child {
 public:
  explicit Child(const Command& command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // By SIGKILL, it and all that it started.
  void end_group() const;
  // Reads what it says for so long, or to its end; whether it has ended.
  bool attend(double seconds);
  // Waits for its end, until the command's time is over.
  Outcome wait();

 private:
  void read(int fd, std::string& text);
  Command command_;
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  double began_s_ = 0;
  bool has_ended_ = false;
  Outcome outcome_;
};

Outcome run(const Command& command);

// `tilewright` with these words, in the folder.
Command tilewright_command(const std::filesystem::path& folder, std::vector<std::string> words);

// Expects of any run that it ended by itself, within the time, and within 3 times `input_bytes` and
// 256 MiB of memory.
void expect_orderly(const Outcome& outcome, std::int64_t input_bytes = 0);
// And that it either gave a result, or ended with 1 or 2 and a sentence of ours that says why.
void expect_answer(const Outcome& outcome, std::int64_t input_bytes = 0);

}  // namespace tilewright::drills
