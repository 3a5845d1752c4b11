// One function of a C library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/compile/c_library/c_names.h"

namespace tilewright::graph {

class CFunction {
 public:
  CFunction(const CLibrary& library, std::size_t number);
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  // Lines that describe its parameters.
  std::string comment() const;
  std::string prototype() const;   // without a semicolon
  std::string definition() const;  // with its body

 private:
  void place_memory();
  std::string checks_of_indices() const;
  std::string output_buffers() const;
  std::string steps() const;
  std::string call(const ExecutableStep& step, std::uint32_t grid) const;
  std::string argument(const ArgumentSlot& slot) const;
  std::string input_address(std::size_t input) const;
  std::string checks_of_extrema() const;
  std::string copies() const;
  std::string copy_of_input(std::size_t output) const;
  std::string data_at(std::size_t blob, std::int64_t offset) const;

  const CLibrary& library_;
  const PackageFunction& function_;
  const PackageExecutable& executable_;
  std::string name_;
  std::vector<std::string> inputs_, outputs_;  // parameters
  std::vector<std::int64_t> buffers_at_;       // of each output buffer, in the workspace
  std::vector<std::size_t> first_use_;         // of each: the output whose memory it may be
  std::int64_t scratch_at_ = 0, workspace_bytes_ = 0;
};

}  // namespace tilewright::graph
