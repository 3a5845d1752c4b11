// Timing several programs so that they can be compared on a machine that others use too.
//
// The programs take turns: each runs once a round, in an order that is shuffled for each round, so
// that a slow moment of the machine hits all of them alike and none always runs after the same
// other. Candidates that are clearly slower than the best are dropped after two rounds or three,
// which saves most of the time of a search. Samples of one round belong together: decision.h
// compares them in pairs.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "autotune/space/space.h"

namespace tilewright::autotune {

// Runs the program with this index for a while and answers seconds a call; infinite: it failed.
using RunOnce = std::function<double(std::size_t program)>;

// Seconds since any fixed moment.
using Clock = std::function<double()>;
double steady_seconds();

struct Rounds {
  int count = 7;
  double hopeless = 2.0;  // its best sample, times the best's median: dropped after the second
  double behind = 1.2;    // its best sample, times the best's median: dropped after the third
  // The number of first programs that are never dropped; 1: the default, with which all are
  // compared.
  std::size_t always = 1;
  // A moment of `clock` after which nothing is run any more, but for one sample of the default and
  // of one other. The first round keeps the order in which the programs are given, so that those
  // that are then left without a sample are the last.
  double until = std::numeric_limits<double>::infinity();
  Clock clock = steady_seconds;
};

// Samples of each program, one a round while it was not dropped; one infinite sample of those that
// failed, and none of those for which there was no time. A program is called no more after it
// failed.
struct Timing {
  std::vector<double> samples;
  bool was_dropped = false;
  bool failed() const;
  double seconds() const;  // the median; infinite where it failed
};

std::vector<Timing> time_interleaved(std::size_t programs, const RunOnce& run, const Rounds& rounds,
                                     Random& random);

// Median seconds a call of each function, on a machine that others use too: they are called in
// turn, often enough in a turn to take `shortest` seconds, for `rounds` rounds. Each is called
// twice before. A function that starts work on a GPU has to wait for its end. An exception of a
// function ends it all.
std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& functions,
                                        int rounds = 9, double shortest = 0.005);

// The samples, scaled as if the preferred program, which ran in the same rounds, took `seconds` in
// each of them; unscaled where it failed. So measurements of different moments can be compared. A
// round in which the preferred program took more than 1.5 times its median counts as 1.5 times,
// since what disturbed it probably disturbed it alone.
std::vector<double> beside(const Timing& timing, const Timing& preferred, double seconds);

}  // namespace tilewright::autotune
