// Processes of a test: started by fork, before which the test has no database open.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace tilewright::autotune {

// Ends with what `body` returns.
inline pid_t start(const std::function<int()>& body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

// The exit status; 128 plus the signal's number if a signal ended it.
inline int end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tilewright::autotune
