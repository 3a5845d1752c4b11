// Timing for people and reports: medians of repeated runs, interleaved where things are compared.
#pragma once

#include <string>

#include "autotune/measure/interleaved.h"

namespace tilewright::tools {

double now_s();  // steady clock

using autotune::interleaved_medians;

std::string cpu_model();   // as the kernel reports it
std::string date_today();  // 2026-01-31

}  // namespace tilewright::tools
