#include "autotune/measure/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include "dsl/emulator/options.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::autotune {
namespace {

constexpr char done_mark = 'd', raised_mark = 'r', memory_mark = 'm', fault_mark = 'f';

// Pages that the process has reserved, times their size.
std::int64_t reserved_bytes() {
  std::int64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

bool write_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    ssize_t written = write(to, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

// Output of a crashing child (the C library reports a corrupted heap) belongs in the reason, not on
// the terminal. It goes to a file in memory, so that a child never waits for a reader.
class StandardError {
 public:
  StandardError() : file_(memfd_create("stderr of a child", MFD_CLOEXEC)) {}
  ~StandardError() {
    if (file_ >= 0) close(file_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  void take() const {
    if (file_ >= 0) dup2(file_, STDERR_FILENO);
  }
  // The end of it, as one line; nothing if nothing was printed.
  std::string text() const {
    constexpr off_t most = 300;
    off_t size = file_ < 0 ? 0 : lseek(file_, 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, most)), '\0');
    ssize_t got = pread(file_, text.data(), text.size(), std::max<off_t>(0, size - most));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

 private:
  int file_;
};

[[noreturn]] void be_child(int to, const std::function<std::string()>& work,
                           const ChildLimits& limits) {
  // Faults end the child, whatever this process does about them, and leave no core.
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) std::signal(fault, SIG_DFL);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#ifndef __SANITIZE_ADDRESS__  // which reserves most of the address space
  rlimit memory{};
  memory.rlim_cur = memory.rlim_max = static_cast<rlim_t>(reserved_bytes() + limits.memory_bytes);
  setrlimit(RLIMIT_AS, &memory);
#endif
  char mark = done_mark;
  std::string text;
  text.reserve(1024);  // while there is memory
  auto raised = [&](char kind, const char* what) {
    mark = kind;
    try {
      text = what;
    } catch (...) {
    }
  };
  try {
    text = work();
  } catch (const std::bad_alloc&) {
    raised(memory_mark, "memory could not be had");
  } catch (const OutOfMemory& error) {
    raised(memory_mark, error.what());
  } catch (const dsl::emulator::EmulationFault& fault) {
    raised(fault_mark, fault.what());
  } catch (const std::exception& error) {
    raised(raised_mark, error.what());
  } catch (...) {
    raised(raised_mark, "something was thrown that is not a std::exception");
  }
  bool whole = write_all(to, &mark, 1) && write_all(to, text.data(), text.size());
  _exit(whole ? 0 : 1);  // neither destructors nor what was registered for the end of the parent
}

// Reads what comes from the child's end of the pipe until it is closed; false if that was not in
// time.
bool read_until(int from, std::chrono::steady_clock::time_point end, std::string& text) {
  std::string part(1 << 16, '\0');
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    end - std::chrono::steady_clock::now())
                    .count();
    if (left <= 0) return false;
    pollfd one{from, POLLIN, 0};
    int ready = poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready <= 0) continue;
    ssize_t got = read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

ChildResult end_of(int status, const std::string& text, const StandardError& printed) {
  auto with_what_it_printed = [&](std::string reason) {
    std::string last = printed.text();
    return last.empty() ? reason : concat(reason, ": ", last);
  };
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    return {ChildEnd::crashed,
            with_what_it_printed(concat("ended by signal ", signal, " (", strsignal(signal), ")"))};
  }
  if (text.empty() || WEXITSTATUS(status) != 0)
    return {ChildEnd::exited,
            with_what_it_printed(concat("left the process with status ", WEXITSTATUS(status)))};
  ChildEnd end = text[0] == done_mark     ? ChildEnd::done
                 : text[0] == memory_mark ? ChildEnd::out_of_memory
                 : text[0] == fault_mark  ? ChildEnd::crashed
                                          : ChildEnd::raised;
  return {end, text.substr(1)};
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& work, const ChildLimits& limits) {
  // One at a time: a child would hold the ends of another's pipe open.
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  int ends[2];
  require(pipe2(ends, O_CLOEXEC) == 0,
          "[autotune] no pipe to a child process: ", std::strerror(errno));
  StandardError printed;
  std::fflush(nullptr);  // or the child would print it once more
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    printed.take();
    be_child(ends[1], work, limits);
  }
  close(ends[1]);
  if (child < 0) {
    int reason = errno;
    close(ends[0]);
    raise_error(concat("[autotune] no child process: ", std::strerror(reason)));
  }
  auto end = std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(limits.seconds));
  std::string text;
  bool in_time = read_until(ends[0], end, text);
  if (!in_time) kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return {ChildEnd::timed_out, concat("did not end within ", limits.seconds, " seconds")};
  return end_of(status, text, printed);
}

}  // namespace tilewright::autotune
