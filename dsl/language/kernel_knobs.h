// Knobs of a launch: their names, and the values that each may have. Apart from the kernel because
// tuning and launches both ask, by name and by value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tilewright::ir {
struct Function;
}

namespace tilewright::dsl {

// What a launch says of how a GPU runs a program; 0: the compiler decides. On the host they change
// nothing.
//
//   num_warps   warps of 32 threads that hold the tiles of a program, a power of two up to 32
//   num_ctas    programs of a cluster: 1, 2, 4 or 8
//   num_stages  of what a loop loads so many at most are in shared memory at once, 1 to 8: all but
//               one are on their way while one is computed with
//   maxnreg     registers that a thread may have, 24 to 255. Fewer let more programs run at once,
//               and may spill. Warps that have roles of their own divide them among themselves.
struct Knobs {
  int num_warps = 0, num_ctas = 0, num_stages = 0, maxnreg = 0;
  bool operator==(const Knobs&) const = default;
};
// Sets the knob of that name; false: there is none.
bool set_knob(Knobs& knobs, std::string_view name, std::int64_t value);

// Raises `Error` naming the kernel and the first knob that is out of its range.
void require_knobs(const std::string& kernel, const Knobs& knobs);
// Applies the knobs to the function; the compiler's choices stay as they are.
void follow(const Knobs& knobs, ir::Function& function);
// All that there are, by name.
std::map<std::string, std::int64_t, std::less<>> values_of(const Knobs& knobs);
// Those of `first`, and of `second` where these are 0.
Knobs joined(const Knobs& first, const Knobs& second);

}  // namespace tilewright::dsl
