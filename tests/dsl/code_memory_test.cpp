// Memory with compiled code is never both writable and executable: what could write over code could
// run anything.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "runtime/base/out_of_memory.h"
#include "tests/errors.h"
#include "tests/mappings.h"
#include "tests/scratch_folder.h"

namespace tilewright::dsl::code_memory_test {
namespace {

Kernel scaled_by(int times) {
  return Kernel("scaled", [times](Pointer from, Pointer to) {
    Tile i = arange(0, 64);
    store(to + i, exp(load(from + i)) * times);
  });
}

TEST(CodeMemory, IsNeverWritableAndExecutable) {
  const std::int64_t before = mappings().executable;
  std::vector<float> x(64, 2), y(64);
  for (int times = 1; times <= 8; ++times) {
    scaled_by(times).launch(1, x, y);
    EXPECT_EQ(mappings().writable_code, "");
  }
  EXPECT_GT(mappings().executable, before) << "no code was made";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve addresses
// From now on `malloc` has much, and no new mapping is to be had. Returns the limit before.
rlimit forbid_new_mappings() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  void* volatile room = std::malloc(std::size_t{256} << 20);  // volatile: is not left out
  std::free(room);
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit now = before;
  now.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  ::setrlimit(RLIMIT_AS, &now);
  return before;
}

// Writes down what is wrong.
void compile_without_room_for_code(std::ostream& out) {
  std::vector<float> x(64, 2), y(64);
  Kernel first = scaled_by(101), second = scaled_by(102);
  rlimit before = forbid_new_mappings();
  testing::internal::CaptureStderr();
  std::string error = "no error";
  bool is_of_memory = false;
  try {
    first.launch(1, x, y);
  } catch (const OutOfMemory& lack) {
    error = lack.what();
    is_of_memory = true;
  } catch (const std::exception& other) {
    error = other.what();
  }
  ::setrlimit(RLIMIT_AS, &before);
  std::string said = testing::internal::GetCapturedStderr();
  if (!is_of_memory || error.find("[loading code] ") != 0) out << error << '\n';
  if (!said.empty()) out << "stderr has: " << said << '\n';
  for (Kernel* kernel : {&first, &second})
    if (std::string later = error_of([&] { kernel->launch(1, x, y); }); later != "no error")
      out << "later: " << later << '\n';
}

TEST(CodeMemory, ThatCannotBeHadIsAnErrorAfterWhichOtherCodeIsMade) {
  std::vector<float> x(64, 2), y(64);
  scaled_by(100).launch(1, x, y);  // what is made once a process
  ScratchFolder folder;
  pid_t child = ::fork();
  if (child == 0) {
    std::ofstream out(folder.path() / "wrong");
    compile_without_room_for_code(out);
    out.close();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(folder.path() / "wrong"), "");
}
#endif

}  // namespace
}  // namespace tilewright::dsl::code_memory_test
