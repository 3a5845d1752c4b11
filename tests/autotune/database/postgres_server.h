// A PostgreSQL server of a test's own, from Debian's package: in a folder that goes with it, on a
// socket in that folder, as a user that is not root.
#pragma once

#include <memory>
#include <string>

#include "tests/scratch_folder.h"

namespace tilewright::autotune {

class PostgresServer {
 public:
  // Null, with the reason in `why`, where the server's programs are not installed or do not start.
  static std::unique_ptr<PostgresServer> start(std::string& why);
  ~PostgresServer();
  std::string url() const;
  void stop();
  bool start_again();

 private:
  explicit PostgresServer(std::string programs) : programs_(std::move(programs)) {}
  bool run(const std::string& command) const;
  std::string programs_;
  ScratchFolder folder_;
};

}  // namespace tilewright::autotune
