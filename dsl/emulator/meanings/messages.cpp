// Messages that programs print.
#include "dsl/emulator/meanings.h"
#include "runtime/code/message.h"

namespace tilewright::dsl::emulator {

void print(const Call& call) {
  write_message(reinterpret_cast<const char*>(call.operands[0].pointer),
                reinterpret_cast<const std::uint64_t*>(call.operands[1].pointer));
}

}  // namespace tilewright::dsl::emulator
