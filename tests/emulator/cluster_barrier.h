// The barrier of a cluster as text, for kernels of tests.
#pragma once

#include <string>

namespace tilewright::dsl::testing_clusters {

inline const std::string meet = R"(
  call void @td.cluster_barrier_arrive()
  call void @td.cluster_barrier_wait()
)";

}  // namespace tilewright::dsl::testing_clusters
