// A static library (ar) of relocatable ELF objects: kernels as their compiler wrote them,
// each under a name of its own, and constant data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::graph {

class CodeArchive {
 public:
  explicit CodeArchive(std::uint16_t machine) : machine_(machine) {}  // EM_X86_64, EM_AARCH64
  // The object of a kernel (runtime/code/object.h), whose entry is called `symbol` from here on.
  void add_kernel(const std::string& symbol, std::span<const std::byte> object);
  // Constant bytes from a multiple of 64 on, at `symbol`.
  void add_data(const std::string& symbol, const std::string& bytes);
  // As a linker reads it, with the table of its symbols.
  std::string bytes() const;

 private:
  struct Member {
    std::string symbol, object;
  };
  std::uint16_t machine_;
  std::vector<Member> members_;
};

}  // namespace tilewright::graph
