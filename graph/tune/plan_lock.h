// A plan's choices as text: written, read by people, kept beside the program, and held to.
//
//   tilewright plan 2
//   compiler llvm=22.1.8 sources=1f0c... version=0.1.0
//   device architecture=x86-64-v4 kind=host name=... threads=2
//   plan f32 128x768, f32 3072x768
//     region 5b1e93d0... asked rows=64 columns=16 used rows=64 columns=16 precision=ieee  matmul
//     add region 77aa02c4... asked nothing used rows=4 columns=3072 precision=ieee  layer_norm
//   end 2 regions, checksum 0c31e95f...
//
// A region's line gives the operations that were fused (the words at its end), the region's key,
// the block sizes that the lowering was asked for and those that it used: rows, columns, splits of
// the inner axis, tail (stream-K), clusters. These determine the order of all sums, and together
// with the compiler every bit of the results, whatever a measurement would prefer. So a locked plan
// refuses whatever differs: another compiler, another fusion, other default block sizes, another
// precision. A file that was cut or edited is refused by a checksum over its lines. A plan of the
// first version has no checksum; it comes from another compiler anyway and must be written again.
// The device must match too, except for the number of threads, since code for other instructions
// rounds differently.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/database/row/record.h"
#include "dsl/launch/device.h"
#include "graph/lower/blocks/block_request.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

struct LockedRegion {
  BlockSizes asked, used;
  std::string precision;  // of f32 products: ieee or tf32
  std::string ops;        // the fused ops, for people
};

// Thread safe. One file has the plans of one process, of any number of functions.
class PlanLock {
 public:
  // The choices in a file. Raises `Error` naming file and line where it is not a plan, or was made
  // by another compiler or for another device than these.
  static std::shared_ptr<PlanLock> read(const std::filesystem::path& file);
  // An empty one that will be the file, which is rewritten with every plan. The same for every call
  // with the same path.
  static std::shared_ptr<PlanLock> write(const std::filesystem::path& file);

  bool is_locked() const { return is_locked_; }
  // Raises `Error` where the device is not that of the file.
  void require_device(const Device& device) const;
  // The choice for the region; raises `Error` if it is missing.
  const LockedRegion& at(const Hash& region, const std::string& ops) const;
  // Raises `Error` where the region became something else than the file says.
  void require_same(const Hash& region, const LockedRegion& now) const;

  // Adds a plan's regions in their order and brings the file to the disk. Raises `Error` where it
  // cannot be written.
  void add_plan(const Device& device, const std::string& title,
                const std::vector<std::pair<Hash, LockedRegion>>& regions);

 private:
  PlanLock(std::filesystem::path file, bool is_locked);
  struct State;
  std::filesystem::path file_;
  bool is_locked_;
  std::shared_ptr<State> state_;
};

}  // namespace tilewright::graph
