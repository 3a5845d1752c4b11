#include "tools/console/own_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "runtime/base/error.h"

extern char** environ;

namespace tilewright::tools {
namespace {

std::vector<std::string> environment_with(const std::string& setting) {
  const std::string_view name = std::string_view(setting).substr(0, setting.find('=') + 1);
  std::vector<std::string> all = {setting};
  for (char** at = environ; *at != nullptr; ++at)
    if (!std::string_view(*at).starts_with(name)) all.emplace_back(*at);
  return all;
}

// As execve() takes them.
std::vector<char*> pointers_of(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::vector<std::string> given_arguments(const CLI::App& command,
                                         const std::vector<std::string>& without) {
  std::vector<std::string> arguments = {command.get_name()}, positional;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(without, name) != without.end()) continue;
    for (const std::string& value : option->results())
      if (option->get_positional())
        positional.push_back(value);
      else
        arguments.push_back(option->get_items_expected_max() == 0 ? name
                                                                  : concat(name, "=", value));
  }
  arguments.emplace_back("--");  // behind which a dash begins no option
  std::ranges::move(positional, std::back_inserter(arguments));
  return arguments;
}

int run_as_process(const std::string& operation, const std::vector<std::string>& arguments,
                   const std::string& setting) {
  std::vector<std::string> words = {"tilewright"}, environment = environment_with(setting);
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int problem = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                                    pointers_of(words).data(), pointers_of(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  require(problem == 0, "[", operation, "] cannot start a process: ", std::strerror(problem));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  require(WIFEXITED(status), "[", operation, "] the process with ", setting,
          " was ended by signal ", WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace tilewright::tools
