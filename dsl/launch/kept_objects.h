// Object code of hosts that an earlier process generated, by the content of its program.
//
// Its own file because it decides what may be kept: not what a developer's settings change
// (TILEWRIGHT_SKIP_PASSES, _STOP_AFTER), nor where passes are to be seen at work (_DUMP): the
// column of effects in env.def says which these are.
#pragma once

#include <optional>

#include "dsl/codegen/host/codegen.h"
#include "runtime/base/hash.h"
#include "runtime/kept/entry_key.h"
#include "runtime/kept/entry_turn.h"

namespace tilewright::dsl {

// A kernel as far as it decides its object. The compiler's build is added here.
struct ObjectIdentity {
  const ir::Function& function;
  Hash program;  // the function's content
  const Target& target;
  bool is_watched = false;  // compiled to check its accesses
  CodeTier tier = CodeTier::full;
};

// False where a developer's settings change passes or print what they do.
bool runs_all_passes_unseen();
// Nothing where there is none, or where nothing may be kept. Thread safe.
std::optional<HostObject> kept_object(const ObjectIdentity& identity);
// Waits while another process generates the object: ask for it again then. Threads in the
// background wait only for each other: nobody should have to wait for a thread of low priority.
enum class Ground : std::uint8_t { fore, back };
EntryTurn object_turn(const ObjectIdentity& identity, Ground ground = Ground::fore);
// Where misses are logged, prints how the nearest entry of the same program differs.
void log_missing_object(const ObjectIdentity& identity);
void keep_object(const ObjectIdentity& identity, const HostObject& object);
// The object of a program before its passes, as it was kept, or generated again with the same
// bytes.
HostObject host_object(const ir::Function& function, const Target& target);
// An object that cannot be loaded.
void forget_object(const ObjectIdentity& identity);

// The facts of every key that are this process's: the compiler's build, and a target.
EntryKey compiler_key();
EntryKey target_key(const Target& target);

}  // namespace tilewright::dsl
