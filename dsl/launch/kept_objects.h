// Object code of hosts that an earlier process generated, by the content of its program.
//
// Its own file because it decides what may be kept: not what a developer's settings change
// (TILEWRIGHT_SKIP_PASSES, _STOP_AFTER), nor where passes are to be seen at work (_DUMP).
#pragma once

#include <optional>

#include "dsl/codegen/host/codegen.h"
#include "runtime/base/hash.h"

namespace tilewright::dsl {

// `key` is the program's and its target's; the compiler's build is added here. Nothing where there
// is none, or where nothing may be kept. Thread safe.
std::optional<HostObject> kept_object(const Hash& key);
void keep_object(const Hash& key, const HostObject& object);
// An object that cannot be loaded.
void forget_object(const Hash& key);

}  // namespace tilewright::dsl
