#include "tests/drills/child.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::drills {
namespace {

constexpr std::size_t most_kept_bytes = 4 << 20;
constexpr rlim_t most_cpu_s = 10;

double now_s() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// The later of two settings of one name counts.
std::vector<std::string> environment(const Command& command) {
  std::vector<std::string> all = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                  "HOME=" + command.folder.string(), "TILEWRIGHT_THREADS=1"};
  for (const std::string& setting : command.settings) {
    std::string name = setting.substr(0, setting.find('='));
    std::erase_if(all, [&](const std::string& other) { return other.starts_with(name + "="); });
    if (name != setting) all.push_back(setting);
  }
  return all;
}

std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void give_up(const char* what) {
  const char* why = ::strerrordesc_np(errno);
  (void)!::write(STDERR_FILENO, what, ::strlen(what));
  (void)!::write(STDERR_FILENO, why, ::strlen(why));
  ::_exit(125);
}

// In the child: a stream that is not given is the pipe's end.
void set_stream(int stream, const std::string& path, int pipe_end) {
  if (path == "-") {
    ::close(stream);
    return;
  }
  if (path.empty() && pipe_end >= 0) {
    ::dup2(pipe_end, stream);
    return;
  }
  const char* name = path.empty() ? "/dev/null" : path.c_str();
  int fd = ::open(name, stream == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT, 0666);
  if (fd < 0) give_up("a stream cannot be opened: ");
  if (fd == stream) return;
  ::dup2(fd, stream);
  ::close(fd);
}

void confine(const Command& command) {
  ::setpgid(0, 0);
  rlimit cpu{most_cpu_s, most_cpu_s}, core{0, 0};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_CORE, &core);
  if (::chdir(command.folder.c_str()) != 0) give_up("the folder cannot be entered: ");
  if (command.is_nobody && (::setgid(nobody) != 0 || ::setuid(nobody) != 0))
    give_up("nobody cannot be had: ");
}

void set_limits(const Command& command) {
  for (const Limit& one : command.limits) {
    rlimit limit{one.value, one.value};
    if (::setrlimit(one.resource, &limit) != 0) give_up("a limit cannot be set: ");
  }
}

}  // namespace

std::string Outcome::text() const {
  auto begin = [](const std::string& all) {
    return all.size() <= 600 ? all : all.substr(0, 600) + "...";
  };
  return concat("status ", status, signal != 0 ? ::strsignal(signal) : "", is_late ? " (late)" : "",
                ", ", cpu_s, " s of CPU, ", wall_s, " s, ", peak_bytes >> 20,
                " MiB\nout: ", begin(out), "\nerr: ", begin(err));
}

Child::Child(const Command& command) : command_(command), began_s_(now_s()) {
  std::vector<std::string> settings = environment(command_);
  std::vector<char*> words = as_pointers(command_.words), variables = as_pointers(settings);
  int out[2], err[2];
  check(::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0, "no pipe");
  pid_ = ::fork();
  check(pid_ >= 0, "no child");
  if (pid_ == 0) {
    confine(command_);
    set_stream(STDIN_FILENO, command_.in, -1);
    set_stream(STDOUT_FILENO, command_.out, out[1]);
    set_stream(STDERR_FILENO, command_.err, err[1]);
    for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_DFL);
    set_limits(command_);
    ::execve(words[0], words.data(), variables.data());
    give_up("cannot be run: ");
  }
  ::setpgid(pid_, pid_);  // in the parent or the child, whichever comes first
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Child::~Child() {
  if (!has_ended_) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Child::send(int signal) const {
  if (!has_ended_) ::kill(pid_, signal);
}

void Child::end_group() const {
  if (!has_ended_) ::kill(-pid_, SIGKILL);
}

void Child::read(int fd, std::string& text) {
  char bytes[1 << 14];
  ssize_t got = ::read(fd, bytes, sizeof bytes);
  if (got > 0) {
    if (text.size() < most_kept_bytes) text.append(bytes, static_cast<std::size_t>(got));
    return;
  }
  if (got < 0 && errno == EINTR) return;
  (fd == out_ ? out_ : err_) = -1;
  ::close(fd);
}

bool Child::attend(double time_s) {
  double end_s = now_s() + time_s;
  while (!has_ended_) {
    int status = 0;
    rusage used{};
    if (::wait4(pid_, &status, WNOHANG, &used) == pid_) {
      has_ended_ = true;
      outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      outcome_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + outcome_.signal;
      outcome_.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
      outcome_.peak_bytes = used.ru_maxrss * 1024;
      outcome_.wall_s = now_s() - began_s_;
      // Processes that it started and left behind would hold the pipes open.
      ::kill(-pid_, SIGKILL);
      break;
    }
    double left_s = end_s - now_s();
    if (left_s <= 0) return false;
    pollfd ends[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    // A closed pipe is no end of the process: it is asked for again soon.
    ::poll(ends, 2, std::max(1, static_cast<int>(1000 * std::min(left_s, 0.005))));
    if (out_ >= 0 && ends[0].revents != 0) read(out_, outcome_.out);
    if (err_ >= 0 && ends[1].revents != 0) read(err_, outcome_.err);
  }
  while (out_ >= 0) read(out_, outcome_.out);
  while (err_ >= 0) read(err_, outcome_.err);
  return true;
}

Outcome Child::wait() {
  if (!attend(command_.wall_s - (now_s() - began_s_))) {
    ::kill(-pid_, SIGKILL);
    attend(1e9);
    outcome_.is_late = true;
  }
  return outcome_;
}

Outcome run(const Command& command) { return Child(command).wait(); }

Command tilewright_command(const std::filesystem::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), TILEWRIGHT_TOOL);
  Command command;
  command.words = std::move(words);
  command.folder = folder;
  return command;
}

void expect_orderly(const Outcome& outcome, std::int64_t input_bytes) {
  EXPECT_EQ(outcome.signal, 0) << outcome.text();
  EXPECT_FALSE(outcome.is_hung()) << outcome.text();
  EXPECT_LE(outcome.peak_bytes, 3 * input_bytes + (std::int64_t{256} << 20)) << outcome.text();
}

void expect_answer(const Outcome& outcome, std::int64_t input_bytes) {
  expect_orderly(outcome, input_bytes);
  if (outcome.signal != 0 || outcome.status == 0) return;
  EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << outcome.text();
  EXPECT_NE(outcome.err.size() + outcome.out.size(), 0u) << "without a word: " << outcome.text();
  for (const char* nameless : {"basic_ios", "std::bad_alloc", "terminate called"})
    EXPECT_EQ(outcome.err.find(nameless), std::string::npos) << outcome.text();
}

}  // namespace tilewright::drills
