// Numbers as text that no locale changes: a program that has called setlocale must not get "1,5"
// into the traces, plans and messages of this library.
#pragma once

#include <string>

namespace tilewright {

// As "%.*f" gives it in the C locale.
std::string fixed_text(double value, int digits);
std::string general_text(double value);  // likewise "%g"

}  // namespace tilewright
