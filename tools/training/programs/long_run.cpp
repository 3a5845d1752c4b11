// Trains the character GPT for 2,000 steps and prints its loss on held-out text beside PyTorch's.
//
//   long_run FOLDER TEXT
//
// FOLDER is `nanogpt` of the reference data, TEXT the text that its offsets count in.
#include "tools/training/long_run.h"

#include <fmt/format.h>

#include <exception>

int main(int count, char** words) {
  using namespace tilewright;
  if (count != 3) {
    fmt::print(stderr, "usage: long_run FOLDER TEXT\n");
    return 2;
  }
  try {
    const tools::LongRun run = tools::trained_long(words[1], words[2]);
    fmt::print(
        "{} steps: validation {:.6f}, PyTorch's {:.6f} ({:+.3f} %), last loss {:.4f}, {:.1f} "
        "ms a step{}\n",
        run.steps, run.validation, run.peer, 100 * (run.validation / run.peer - 1), run.last_loss,
        1e3 * run.seconds / run.steps, run.is_right() ? "" : "  WRONG");
    return run.is_right() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
