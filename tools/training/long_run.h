// The character GPT trained for 2,000 steps on a text, and its loss on held-out windows of it
// beside PyTorch's.
#pragma once

#include <filesystem>

namespace tilewright::tools {

struct LongRun {
  int steps = 0;
  double validation = 0, peer = 0;  // mean losses of the held-out windows
  double last_loss = 0;
  double seconds = 0;  // of all steps
  // Within 0.5 %: 2,000 steps amplify differences of rounding.
  bool is_right() const { return validation <= 1.005 * peer && validation >= 0.995 * peer; }
};

// `folder` is `nanogpt` of the reference data, with the offsets of all batches, and `text` the text
// that they count in. A call of the compiled function takes many steps.
LongRun trained_long(const std::filesystem::path& folder, const std::filesystem::path& text);

}  // namespace tilewright::tools
