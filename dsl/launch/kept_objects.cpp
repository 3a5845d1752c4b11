#include "dsl/launch/kept_objects.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "dsl/launch/compiler_identity.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/kept/entry_store.h"

namespace tilewright::dsl {
namespace {

EntryKey entry_key(const ObjectIdentity& identity) {
  return EntryKey()
      .add("program", identity.program)
      .add(compiler_key())
      .add(target_key(identity.target))
      .add("checked", identity.is_watched)
      .add("code", identity.tier == CodeTier::quick ? "quick" : "full");
}

}  // namespace

bool runs_all_passes_unseen() { return !env::is_any_set(env::Effect::unkept); }

void log_missing_object(const ObjectIdentity& identity) {
  const std::vector<std::string> topics = env::log();
  if (!runs_all_passes_unseen() || std::ranges::find(topics, "cache") == topics.end()) return;
  const EntryKey key = entry_key(identity);
  std::string why = "no entry of this program";
  if (const auto nearest = host_objects.nearest(key, "program")) {
    why = "the nearest entry differs in";
    for (const KeyDifference& difference : differences(key, nearest->key))
      why +=
          concat(" ", difference.name, " (", difference.found, ", wanted ", difference.wanted, ")");
  }
  std::fputs(
      concat("tilewright: kernel ", identity.function.name, " is compiled: ", why, "\n").c_str(),
      stderr);
}

EntryKey compiler_key() {
  const CompilerIdentity identity = compiler_identity();
  return EntryKey()
      .add("version", identity.version)
      .add("llvm", identity.llvm)
      .add("sources", identity.sources);
}

EntryKey target_key(const Target& target) {
  return EntryKey()
      .add("cpu", target.cpu)
      .add("lanes", target.lanes)
      .add("features", target.features)
      .add("target", target.hash());
}

// An entry is the bytes of scratch memory, and the object.
std::optional<HostObject> kept_object(const ObjectIdentity& identity) {
  if (!runs_all_passes_unseen()) return {};
  const std::vector<char> entry = host_objects.find(entry_key(identity));
  HostObject object;
  if (entry.size() <= sizeof object.scratch_bytes) return {};
  std::memcpy(&object.scratch_bytes, entry.data(), sizeof object.scratch_bytes);
  object.bytes.assign(entry.begin() + sizeof object.scratch_bytes, entry.end());
  return object;
}

EntryTurn object_turn(const ObjectIdentity& identity, Ground ground) {
  if (!runs_all_passes_unseen()) return EntryTurn({});
  EntryKey key = entry_key(identity);
  if (ground == Ground::back) key.add("turn", "in the background");
  return host_objects.turn(key);
}

void keep_object(const ObjectIdentity& identity, const HostObject& object) {
  if (!runs_all_passes_unseen()) return;
  std::vector<char> entry(sizeof object.scratch_bytes + object.bytes.size());
  std::memcpy(entry.data(), &object.scratch_bytes, sizeof object.scratch_bytes);
  std::ranges::copy(object.bytes, entry.begin() + sizeof object.scratch_bytes);
  host_objects.keep(entry_key(identity), identity.function.name, entry);
}

HostObject host_object(const ir::Function& function, const Target& target) {
  const ObjectIdentity identity{function, ir::content_hash(function), target};
  if (std::optional<HostObject> kept = kept_object(identity)) return *std::move(kept);
  ir::Function passed = function;
  run_passes(passed, {.target = target});
  return generate_host_object(passed, target);
}

void forget_object(const ObjectIdentity& identity) { host_objects.forget(entry_key(identity)); }

}  // namespace tilewright::dsl
