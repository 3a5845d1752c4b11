// Processes that start together on an empty cache folder compile each program once between them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::dsl::compiled_once_test {
namespace {

ir::Function program_of(int number) {
  Tracer t("rows");
  Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32);
  Tile read = load(make_desc(x, {64}, {1}), {0}, {64});
  store(make_desc(y, {64}, {1}), {0}, exp(read) * (1.0 + number));
  return t.finish();
}

struct Counts {
  std::int64_t compiled = 0, loaded = 0;
};

TEST(CompiledOnce, ByProcessesThatStartTogether) {
  TILEWRIGHT_ON_THE_HOST_ONLY("objects that are kept");
  ScratchFolder folder;
  Setting cache("TILEWRIGHT_CACHE_DIR", folder.path().c_str());
  constexpr int processes = 6, programs = 5;
  std::vector<std::array<int, 2>> pipes(processes);
  for (int i = 0; i < processes; ++i) {
    ASSERT_EQ(pipe(pipes[i].data()), 0);
    if (fork() != 0) continue;
    alarm(120);
    const CompileStatistics before = compile_statistics();
    for (int number = 0; number < programs; ++number) compile(program_of(number), Device::cpu(), 0);
    const CompileStatistics after = compile_statistics();
    const Counts counts{after.compiled - before.compiled, after.loaded - before.loaded};
    _exit(write(pipes[i][1], &counts, sizeof counts) == sizeof counts ? 0 : 1);
  }
  Counts all;
  for (auto [in, out] : pipes) {
    close(out);
    Counts counts;
    ASSERT_EQ(read(in, &counts, sizeof counts), static_cast<ssize_t>(sizeof counts));
    close(in);
    all.compiled += counts.compiled;
    all.loaded += counts.loaded;
  }
  while (wait(nullptr) > 0) {
  }
  EXPECT_EQ(all.compiled, programs);
  EXPECT_EQ(all.loaded, (processes - 1) * programs);
}

}  // namespace
}  // namespace tilewright::dsl::compiled_once_test
