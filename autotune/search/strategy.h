// How configurations are looked for.
//
// A `Problem` is the prior knowledge: the space, the configuration used by default, perhaps an
// estimate of each configuration's time and perhaps points that were good elsewhere. A `Strategy`
// proposes the next measurements, from the `History` of earlier ones; search.h drives it. A
// strategy never measures, so all of them are tested on stored measurements and on arithmetic.
//
//   exhaustive          every legal point in order
//   random              legal points, each as likely as any; what the others are compared with
//   evolutionary        crossings and changes of the best so far
//   successive_halving  many points at little effort, the better half at twice that, and so on
//   model_guided        the default: points that a classifier, learned from the history, holds for
//                       likely to be among the best (model_guided.cpp)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/space/space.h"

namespace tilewright::autotune {

struct Problem {
  const Space* space = nullptr;
  Point preferred;  // used if nothing were tuned; always the first that is measured
  // Expected seconds, in any unit that ranks; empty: nothing is known.
  std::function<double(const Point&)> estimate;
  // Further numbers that may tell good from bad: waves, bytes of a tile, registers.
  std::function<std::vector<double>(const Point&)> features;
  std::vector<Point> seeds;  // good for neighbouring shapes, or by an older compiler
};

// The point to measure, and the share of a whole measurement's effort, above 0 and at most 1.
struct Proposal {
  Point point;
  double effort = 1;
  bool operator==(const Proposal&) const = default;
};

struct Trial {
  Point point;
  double seconds;  // infinite: it failed
  double effort = 1;
};

class History {
 public:
  void add(Trial trial);
  const std::vector<Trial>& trials() const { return trials_; }
  bool knows(const Point& point) const;
  // The last of those trials at the point that had the most effort; null if there is no trial.
  const Trial* find(const Point& point) const;
  // The fastest of whole effort, or of the most effort there is; null before any succeeded.
  const Trial* best() const;
  // One trial a point, that of `find`; fastest first.
  std::vector<const Trial*> ranked() const;
  double effort() const { return effort_; }

 private:
  std::vector<Trial> trials_;
  std::map<Point, std::size_t> best_;  // into trials_
  double effort_ = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // At most `count` proposals that the history does not know at that effort; empty when it is done.
  virtual std::vector<Proposal> propose(const History& history, int count) = 0;
};

// By the names above; raises for others. The problem must outlive the strategy. Equal seeds and
// histories give equal proposals.
Point untried_choice(const Problem& problem);

}  // namespace tilewright::autotune
