#include "tools/console/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

#include "runtime/base/out_of_memory.h"
#include "tools/console/terminal_text.h"

namespace tilewright::tools {
namespace {

const char* running = "";  // the subcommand; "" before main

// The need of the deepest program that is read; smaller ones do with less, but none with 64 KiB.
constexpr rlim_t least_stack_bytes = 256 << 10;

std::terminate_handler usual_terminate = nullptr;

[[noreturn]] void end_without_memory() {
  say_out_of_memory();
  ::_exit(1);
}

// Memory may also run out where nothing may be thrown: in destructors of the libraries that read
// options and JSON, and before main, where not even an exception may have a place. Any other reason
// to get here is a bug, and leaves a core dump.
void end_by_terminate() {
  if (*running == '\0') end_without_memory();
  try {
    if (std::exception_ptr raised = std::current_exception()) std::rethrow_exception(raised);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (...) {
  }
  usual_terminate();
}

void guard_start() {
  usual_terminate = std::set_terminate(end_by_terminate);
  std::signal(SIGABRT, [](int) { end_without_memory(); });
}

// Before main nothing can be caught, and libraries ask for memory there; this runs before they do.
[[gnu::used, gnu::section(".preinit_array")]] void (*const first_function)() = guard_start;

// The lowest number that is free is given, which is the one that was found closed.
void open_standard_file(int number, int access) {
  if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) return;
  ::open("/dev/null", access);
}

}  // namespace

void prepare_process(const char* command) {
  running = command;
  std::signal(SIGABRT, SIG_DFL);
  open_standard_file(STDIN_FILENO, O_RDONLY);
  open_standard_file(STDOUT_FILENO, O_RDONLY);  // writing must fail
  open_standard_file(STDERR_FILENO, O_WRONLY);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

bool has_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least_stack_bytes) return true;
  char line[160];
  std::snprintf(line, sizeof line,
                "the stack may have %llu KiB; at least %llu KiB are needed, and `ulimit -s 8192` "
                "allows the usual size",
                static_cast<unsigned long long>(limit.rlim_cur >> 10),
                static_cast<unsigned long long>(least_stack_bytes >> 10));
  say(line);
  return false;
}

int finished_output(int status) {
  errno = 0;
  bool is_written = std::cout.good() && std::ferror(stdout) == 0;
  is_written &= std::fflush(stdout) == 0;
  if (is_written) return status;
  // An earlier failed write has left no reason.
  const char* reason = errno != 0 ? ::strerrordesc_np(errno) : nullptr;
  char line[160];
  std::snprintf(line, sizeof line, "standard output could not be written%s%s",
                reason != nullptr ? ": " : "", reason != nullptr ? reason : "");
  say(line);
  return status == 0 ? 1 : status;
}

void say_out_of_memory() noexcept {
  const char* named = message_without_memory();
  char line[200];
  if (*running == '\0')
    std::snprintf(line, sizeof line, "cannot start: out of memory");
  else
    std::snprintf(line, sizeof line, "out of memory while running `tilewright %.80s`", running);
  say(*named != '\0' ? named : line);
}

void say(const char* text) noexcept {
  print_error("tilewright: ");
  print_error(text);
  print_error("\n");
}

void print_error(const char* text) noexcept {
  std::fflush(stderr);
  write_without_control(text, [](std::string_view part) {
    while (!part.empty()) {
      ssize_t done = ::write(STDERR_FILENO, part.data(), part.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return;
      part.remove_prefix(static_cast<std::size_t>(done));
    }
  });
}

}  // namespace tilewright::tools
