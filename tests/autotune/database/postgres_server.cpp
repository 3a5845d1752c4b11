#include "tests/autotune/database/postgres_server.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;

// The newest that Debian has installed.
std::string programs_folder() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none))
    if (fs::exists(entry.path() / "bin" / "initdb")) found.push_back(entry.path() / "bin");
  return found.empty() ? "" : *std::ranges::max_element(found);
}

}  // namespace

// The server refuses to run as root: then it is the user that its package made.
bool PostgresServer::run(const std::string& command) const {
  std::string program =
      programs_ + "/" + command + " >> " + (folder_.path() / "log").string() + " 2>&1";
  std::string line = ::geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups "
                                        "sh -c '" +
                                            program + "'"
                                      : program;
  return std::system(line.c_str()) == 0;
}

std::unique_ptr<PostgresServer> PostgresServer::start(std::string& why) {
  std::string programs = programs_folder();
  if (programs.empty()) {
    why = "PostgreSQL's server is not installed (postgresql-15)";
    return nullptr;
  }
  std::unique_ptr<PostgresServer> server(new PostgresServer(programs));
  const fs::path& folder = server->folder_.path();
  if (::geteuid() == 0 && std::system(("chown postgres " + folder.string()).c_str()) != 0) {
    why = "there is no user postgres";
    return nullptr;
  }
  bool runs = server->run(concat("initdb -D ", folder.string(), "/data -A trust -N -E UTF8")) &&
              server->start_again();
  if (runs) return server;
  why = "PostgreSQL's server does not start: " + read_file(folder / "log");
  return nullptr;
}

bool PostgresServer::start_again() {
  std::string folder = folder_.path();
  return run(concat("pg_ctl -D ", folder, "/data -w -t 60 -o \"-k ", folder,
                    " -h \\\"\\\" -F -p 5433\" start"));
}

void PostgresServer::stop() {
  run(concat("pg_ctl -D ", folder_.path().string(), "/data -m immediate -w stop"));
}

PostgresServer::~PostgresServer() { stop(); }

std::string PostgresServer::url() const {
  return concat("postgresql:///postgres?host=", folder_.path().string(),
                "&port=5433&user=", ::geteuid() == 0 ? "postgres" : "");
}

}  // namespace tilewright::autotune
