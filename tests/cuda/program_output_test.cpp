#include <filesystem>

#include "tools/measure/program_output.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/scratch_folder.h"

namespace tilewright::tools::program_output_test {
namespace {

TEST(ProgramOutput, WordsArePassedOnAsTheyAre) {
  ScratchFolder folder;
  std::string word = "x'; touch " + (folder.path() / "made").string() + "; '";
  ProgramOutput output = output_of({"echo", word}, "test");
  EXPECT_TRUE(output.ok);
  EXPECT_EQ(output.text, word + "\n");
  EXPECT_FALSE(output_of({word, "--version"}, "test").ok);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "made"));
}

TEST(ProgramOutput, HasBothStreamsAndHowItEnded) {
  ProgramOutput output = output_of({"sh", "-c", "echo out; echo err >&2; exit 3"}, "test");
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.text, "out\nerr\n");
  expect_contains(output_of({"/no/such/program"}, "test").text, "cannot start /no/such/program");
}

}  // namespace
}  // namespace tilewright::tools::program_output_test
