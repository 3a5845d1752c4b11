// The operations on a tuning database. Apart from where it is and how it is reached, which only the
// library's own files see.
#pragma once

namespace tilewright::autotune {

enum class Access { read, read_write };

}  // namespace tilewright::autotune
