// Tests are run again on every device that TILEWRIGHT_DEVICE can name (tests/CMakeLists.txt). The
// few that are about the host alone leave, saying what there is only on the host.
#pragma once

#include <gtest/gtest.h>

#include "dsl/launch/device.h"

#define TILEWRIGHT_ON_THE_HOST_ONLY(what) \
  if (tilewright::default_device().is_emulated()) GTEST_SKIP() << "only the host has " << (what)
