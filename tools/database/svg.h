// Drawings as text, to stand in a page: scatter plots with a logarithmic axis of times, and bars.
//
// All text that comes from outside goes through `escaped`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tools {

// & < > " ' as entities, and other characters than printable ASCII as a question mark.
std::string escaped(std::string_view text);

struct PlotPoint {
  double x = 0, time_ns = 0;
  std::string style;  // class: "ok", "best", "default", ...
  std::string note;   // shown where the mouse rests
};

struct Plot {
  std::string title, x_label;
  std::vector<PlotPoint> points;
  std::vector<PlotPoint> steps;  // a line that falls in steps; by x
  std::string svg() const;       // nothing without points
};

struct Bar {
  std::string name;
  double time_ns = 0, other_time_ns = 0;  // other: the default's, 0 where it is not known
};
// Times side by side, from 0, each with its name and its time.
std::string bars_svg(const std::string& title, const std::vector<Bar>& bars);

}  // namespace tilewright::tools
