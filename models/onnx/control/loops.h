// Loop of ONNX: turns as often as a count and a condition say, of which each may also give elements
// that are stacked.
//
// At once it runs turn by turn, with numbers of the host for the turn and the condition. Inside
// compile() it becomes a loop of the graph where it can (graph/functions/control/control_flow.h):
// - few turns, whose number the host knows, are recorded one by one;
// - more of them are a scan;
// - where data decides how many there are, it is a while loop, if it stacks nothing.
// A loop that can be none of these, since its carried values change their sizes or are sequences,
// or since the body reads numbers of the iteration, goes turn by turn there too: the host reads the
// condition, which breaks the graph. Turn by turn, a loop of too many turns is an Error; a while
// loop of a graph ends when its data says so.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

Results looped(const Call& call);

}  // namespace tilewright::onnx
