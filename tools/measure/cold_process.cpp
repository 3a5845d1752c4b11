#include "tools/measure/cold_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "runtime/base/error.h"

extern char** environ;

namespace tilewright::tools {
namespace {

// This process's environment, but for the cache folder.
std::vector<std::string> environment_with(Kept kept) {
  constexpr std::string_view cache = "TILEWRIGHT_CACHE_DIR=";
  std::vector<std::string> all;
  if (kept == Kept::nothing) all.push_back(concat(cache, "off"));
  for (char** at = environ; *at != nullptr; ++at)
    if (kept == Kept::as_here || !std::string_view(*at).starts_with(cache)) all.emplace_back(*at);
  return all;
}

}  // namespace

nlohmann::json run_cold(const std::vector<std::string>& arguments, Kept kept) {
  int ends[2];
  require(pipe(ends) == 0, "[bench] cannot make a pipe");
  std::vector<char*> argv = {const_cast<char*>("tilewright")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> settings = environment_with(kept);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  int failed =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  require(failed == 0, "[bench] cannot start a process of its own");
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  require(status == 0, "[bench] the process \"", arguments.front(), "\" failed");
  auto json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded(), "[bench] the process printed no JSON");
  return json;
}

}  // namespace tilewright::tools
