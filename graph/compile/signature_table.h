// The signatures that a function was compiled for, and which of them a call has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/compile/calls/call.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/compiled_signature.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/sizes/declared_sizes.h"

namespace tilewright::graph {

class SignatureTable {
 public:
  struct Entry {
    std::unique_ptr<CompiledSignature> signature;
    std::uint64_t used = 0;   // the call that used it last
    bool sizes_vary = false;  // it is one of several that differ in sizes alone
    SignatureSizes sizes = {};
  };

  const std::vector<Entry>& entries() const { return entries_; }
  std::int64_t count(bool sizes_vary) const;
  void clear() { entries_.clear(); }

  // Notifies the signatures if handles or guarded values have changed since this was called last.
  void look_at_changes();
  // The entry that has the call's signature and whose guards hold, which becomes the latest; null
  // if no entry has.
  Entry* find(const Call& call);
  std::size_t latest() const { return latest_; }  // the place of the entry found, or put, last
  // At the end, or in place of the entry that is there.
  Entry& put(std::size_t place, Entry entry);
  std::size_t least_recent(bool sizes_vary) const;  // the place of that entry

  // How the call differs from the nearest signature: one that differs in sizes alone, or else the
  // one with the fewest differences. `device` is where calls on tensors of the host run.
  std::vector<Difference> nearest(const Call& call, const Device& device,
                                  const DeclaredSizes& declared) const;

 private:
  std::vector<Entry> entries_;
  std::size_t latest_ = 0;
  std::uint64_t changes_ = 0, guarded_changes_ = 0;  // when they were looked at
};

// How the call differs from a known signature.
std::vector<Difference> differences(const CompiledSignature& known, const Signature& call,
                                    const ArgumentForm& form, const DeclaredSizes& declared);
bool are_sizes_alone(const std::vector<Difference>& differences);

}  // namespace tilewright::graph
