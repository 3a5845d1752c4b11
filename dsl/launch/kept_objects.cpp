#include "dsl/launch/kept_objects.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dsl/launch/compiler_identity.h"
#include "runtime/base/env.h"
#include "runtime/kept/entry_store.h"

namespace tilewright::dsl {
namespace {

constexpr EntryStore objects("host", ".object");

bool may_be_kept() {
  return env::skip_passes().empty() && env::stop_after().empty() && env::dump().empty();
}

Hash entry_key(const Hash& key) {
  const CompilerIdentity identity = compiler_identity();
  return Hasher().add(identity.version).add(identity.llvm).add(identity.sources).add(key).finish();
}

}  // namespace

// An entry is the bytes of scratch memory, and the object.
std::optional<HostObject> kept_object(const Hash& key) {
  if (!may_be_kept()) return {};
  const std::vector<char> entry = objects.find(entry_key(key));
  HostObject object;
  if (entry.size() <= sizeof object.scratch_bytes) return {};
  std::memcpy(&object.scratch_bytes, entry.data(), sizeof object.scratch_bytes);
  object.bytes.assign(entry.begin() + sizeof object.scratch_bytes, entry.end());
  return object;
}

void keep_object(const Hash& key, const HostObject& object) {
  if (!may_be_kept()) return;
  std::vector<char> entry(sizeof object.scratch_bytes + object.bytes.size());
  std::memcpy(entry.data(), &object.scratch_bytes, sizeof object.scratch_bytes);
  std::ranges::copy(object.bytes, entry.begin() + sizeof object.scratch_bytes);
  objects.keep(entry_key(key), entry);
}

void forget_object(const Hash& key) { objects.forget(entry_key(key)); }

}  // namespace tilewright::dsl
