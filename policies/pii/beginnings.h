// The beginning of a shape: a shorter expression that fits at each place where the shape fits. One pass over a text
// looks for beginnings only: an automaton that counts to 40 behind each of a hundred marks at once has tens of
// thousands of states. They are too many for a processor's cache, and too slow to build for the first text. Used by:
// pii/detect.cc.
#pragma once
#include <string>
#include <string_view>

namespace policies {

// "ghp_[a-z]{36,}" is "ghp_[a-z]{8}". The expression is cut behind the first part that is repeated 12 times or more. An
// upper bound of 12 or more is removed. `expression` must be from the tables of this program: literals, classes, groups
// that do not capture, and ? * + {n,m}.
std::string beginning_of(std::string_view expression);

}  // namespace policies
