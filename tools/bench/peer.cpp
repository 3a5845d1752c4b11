#include "tools/bench/peer.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/error.h"

extern char** environ;

namespace tilewright::tools {

Peer::Peer(std::vector<std::string> command) : name_(command.back()) {
  // A socket instead of pipes, so that writing to a process that has ended is an error and not a
  // signal.
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
          "[bench] cannot make a socket to talk to ", name_);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  int failed = posix_spawnp(&process_, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  socket_ = ends[0];
  if (failed != 0) {
    close(ends[0]);
    raise_error(concat("[bench] cannot start ", argv.front(), " for ", name_));
  }
  try {
    versions_ = ask({{"do", "hello"}}).value("versions", nlohmann::json::object());
  } catch (...) {
    close(ends[0]);
    waitpid(process_, nullptr, 0);
    throw;
  }
}

Peer::~Peer() {
  close(socket_);  // it reads the end of its input and leaves
  waitpid(process_, nullptr, 0);
}

std::string Peer::read_line() {
  for (;;) {
    if (auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    ssize_t n = read(socket_, buffer, sizeof buffer);
    require(n > 0, "[bench] ", name_, " has ended");
    unread_.append(buffer, static_cast<std::size_t>(n));
  }
}

nlohmann::json Peer::ask(const nlohmann::json& question) {
  std::string line = question.dump() + "\n";
  for (std::size_t done = 0; done < line.size();) {
    ssize_t n = send(socket_, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    require(n > 0, "[bench] ", name_, " has ended");
    done += static_cast<std::size_t>(n);
  }
  std::string text = read_line();
  auto answer = nlohmann::json::parse(text, nullptr, false);
  require(answer.is_object(), "[bench] ", name_, " answers \"", text, "\"; JSON is needed");
  require(!answer.contains("error"), "[bench] ", name_, ": ", answer.value("error", ""));
  return answer;
}

}  // namespace tilewright::tools
