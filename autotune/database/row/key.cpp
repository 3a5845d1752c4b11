#include "autotune/database/row/key.h"

#include <cmath>

namespace tilewright::autotune {
namespace {

constexpr const char* absent = "(absent)";

// Both are in the order of names, as in a merge of sorted lists.
void compare(const std::string& part, const Record& wanted, const Record& stored,
             std::vector<Difference>& found) {
  auto a = wanted.fields().begin(), a_end = wanted.fields().end();
  auto b = stored.fields().begin(), b_end = stored.fields().end();
  while (a != a_end || b != b_end) {
    if (b == b_end || (a != a_end && a->name < b->name)) {
      found.push_back({part + "." + a->name, a->value, absent});
      ++a;
    } else if (a == a_end || b->name < a->name) {
      found.push_back({part + "." + b->name, absent, b->value});
      ++b;
    } else {
      if (a->value != b->value) found.push_back({part + "." + a->name, a->value, b->value});
      ++a;
      ++b;
    }
  }
}

}  // namespace

Hash TuningKey::question() const {
  return Hasher().add(kernel_hash).add(problem.text()).add(device.text()).finish();
}

Hash TuningKey::hash() const { return Hasher().add(question()).add(compiler.text()).finish(); }

bool TuningKey::operator==(const TuningKey& other) const {
  return kernel_hash == other.kernel_hash && problem == other.problem && device == other.device &&
         compiler == other.compiler;
}

std::vector<Difference> differences(const TuningKey& wanted, const TuningKey& stored) {
  std::vector<Difference> found;
  if (wanted.kernel_hash != stored.kernel_hash)
    found.push_back({"kernel_hash", wanted.kernel_hash.hex(), stored.kernel_hash.hex()});
  compare("problem", wanted.problem, stored.problem, found);
  compare("device", wanted.device, stored.device, found);
  compare("compiler", wanted.compiler, stored.compiler, found);
  return found;
}

double problem_distance(const Record& a, const Record& b) {
  std::vector<Difference> found;
  compare("", a, b, found);
  double distance = 0;
  for (const Difference& difference : found) {
    std::string name = difference.field.substr(1);
    std::optional<std::int64_t> x = a.integer(name), y = b.integer(name);
    bool are_sizes = x && y && *x > 0 && *y > 0;
    distance +=
        are_sizes ? std::abs(std::log2(static_cast<double>(*x) / static_cast<double>(*y))) : 8;
  }
  return distance;
}

}  // namespace tilewright::autotune
