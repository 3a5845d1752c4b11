// Limits of a process: memory, files, stack, file size, data, processes. Each run gives its result,
// or ends with 1 and a sentence that names what there was too little of; a file that may not grow
// or a database that cannot be opened takes no result away.
#include <gtest/gtest.h>

#include <unistd.h>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

struct Case {
  const char* name;
  __rlimit_resource resource;
  std::vector<rlim_t> values;
};

constexpr rlim_t mib = 1 << 20;

const std::vector<Case>& limits() {
  static const std::vector<Case> all = {
      {"address space",
       RLIMIT_AS,
       {64 * mib, 96 * mib, 128 * mib, 160 * mib, 256 * mib, 512 * mib, 1024 * mib, 2048 * mib}},
      {"files", RLIMIT_NOFILE, {3, 4, 5, 6, 8, 16}},
      {"stack", RLIMIT_STACK, {64 << 10, 128 << 10, 256 << 10, mib, 2 * mib}},
      {"file size", RLIMIT_FSIZE, {0, 4096, 65536}},
      {"data", RLIMIT_DATA, {8 * mib, 32 * mib, 128 * mib}},
      {"processes", RLIMIT_NPROC, {0, 1, 3}},
  };
  return all;
}

// A folder with all that is in it.
void give_to(uid_t user, const std::filesystem::path& folder) {
  ASSERT_EQ(::chown(folder.c_str(), user, user), 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    ASSERT_EQ(::chown(entry.path().c_str(), user, user), 0);
}

TEST(Limits, EndInAResultOrInAnErrorThatNamesThem) {
  Words tuned = generate_words();
  tuned.insert(tuned.end(), {"--mode", "max-autotune", "--tune-seconds", "0.2"});
  const std::vector<Words> commands = {
      generate_words(), tuned, tune_words(), {"db", "import", "new.jsonl"}, {"db", "list"}};
  std::vector<std::pair<std::size_t, rlim_t>> points;
  for (std::size_t i = 0; i < limits().size(); ++i)
    for (rlim_t value : limits()[i].values) points.emplace_back(i, value);
  each_case(points.size() * commands.size(), [&](std::uint64_t number) {
    auto [which, value] = points[number / commands.size()];
    const Words& words = commands[number % commands.size()];
    SCOPED_TRACE(concat(limits()[which].name, " of ", value, ": ", words[0], " ", words[1]));
    Workplace place;
    Command command = place.command(words);
    command.limits = {{limits()[which].resource, value}};
    // The system ends a program whose own file does not fit before it has begun.
    if (limits()[which].resource == RLIMIT_AS &&
        value < std::filesystem::file_size(command.words[0]))
      return;
    // Root is free of the limit on processes.
    command.is_nobody = limits()[which].resource == RLIMIT_NPROC && ::geteuid() == 0;
    if (command.is_nobody) give_to(nobody, place.path());
    Outcome outcome = run(command);
    if (command.is_nobody) give_to(::geteuid(), place.path());
    bool never_began =
        outcome.status == 127 ||
        outcome.err.find("error while loading shared libraries") != std::string::npos;
    if (!never_began) {
      expect_answer(outcome, 1 << 20);
      for (const char* nameless : {"tilewright: std::bad_alloc\n", "terminate called",
                                   "tilewright: Resource temporarily unavailable\n", "LLVM ERROR"})
        EXPECT_EQ(outcome.err.find(nameless), std::string::npos) << outcome.text();
    }
    bool is_generate = words[0] == "generate";
    if (is_generate && outcome.status == 0) {
      EXPECT_TRUE(has_said_ids(outcome)) << outcome.text();
    }
    if (is_generate && limits()[which].resource == RLIMIT_FSIZE) {
      EXPECT_EQ(outcome.status, 0) << "results need no file: " << outcome.text();
    }
    expect_usable(place.path());
  });
}

TEST(Limits, AStackThatIsTooSmallIsRefusedAtTheStart) {
  Workplace place;
  place.write("made.tile", "func @f() {\n}\n");
  for (const Words& words : {Words{"opt", "made.tile"}, Words{"ptx", "made.tile"},
                             Words{"db", "list"}, Words{"explain", "model"}}) {
    Command command = place.command(words);
    command.limits = {{RLIMIT_STACK, 64 << 10}};
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 1) << outcome.text();
    EXPECT_EQ(outcome.err,
              "tilewright: the stack may have 64 KiB; at least 256 KiB are needed, and `ulimit -s "
              "8192` allows the usual size\n");
  }
}

}  // namespace
}  // namespace tilewright::drills
