#include "tests/drills/preload.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tilewright::drills {

Command with_fault(Command command, const std::string& fault) {
  command.settings.push_back("LD_PRELOAD=" TILEWRIGHT_IO_FAULTS);
  command.settings.push_back("DRILL_FAULT=" + fault);
  return command;
}

Command with_clock(Command command, const std::string& clock) {
  command.settings.push_back("LD_PRELOAD=" TILEWRIGHT_CLOCK);
  command.settings.push_back("DRILL_CLOCK=" + clock);
  return command;
}

long calls_of(Command command, const std::string& kind) {
  command.settings.push_back("LD_PRELOAD=" TILEWRIGHT_IO_FAULTS);
  std::filesystem::path counts = command.folder / "counts";
  command.settings.push_back("DRILL_COUNTS=" + counts.string());
  Outcome outcome = run(command);
  EXPECT_EQ(outcome.status, 0) << outcome.text();
  std::ifstream lines(counts);
  std::string name;
  for (long count = 0; lines >> name >> count;)
    if (name == kind) return count;
  ADD_FAILURE() << "no count of " << kind;
  return 0;
}

}  // namespace tilewright::drills
