// The beginning of a shape: a shorter expression that fits wherever the shape fits, and begins there. One pass over a
// text looks for beginnings only: an automaton that counts to 40 behind each of a hundred marks at once has tens of
// thousands of states, too many for a processor's cache and for the first text.
#pragma once
#include <string>
#include <string_view>

namespace policies {

// "ghp_[a-z]{36,}" is "ghp_[a-z]{8}". Cut behind the first part that is repeated 12 times or more; a bound of as many
// is left open. `expression` is of our own tables: literals, classes, groups that do not capture, and ? * + {n,m}.
std::string beginning_of(std::string_view expression);

}  // namespace policies
