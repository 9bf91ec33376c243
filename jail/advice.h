// Advice: one sentence about a usual cause of a failure and its remedy, found by words in the program's own output and
// code. The program chose these words: advice helps the program's author, and is never evidence.
// Used by: jail/execution/conclusion.cc. Pure; no errors: tests/jail/advice_test.cc is a table.
#pragma once
#include <string>
#include <string_view>

namespace jail {

// none: no host is reached. by_proxy: those that the policy's egress rules name.
enum class Network { none, by_proxy };

// A sentence if the text shows that a program looked for a network or for a package to install, else empty. The whole
// text is searched once for each word of several lists: pass only a few kilobytes.
std::string network_advice(std::string_view text, Network network);

// A sentence if the code names a call that makes shared memory without a file and the text shows a refusal, else empty.
// Call this only where no cgroup counts shared memory (policies/uncounted_memory.h).
std::string shared_memory_advice(std::string_view text, std::string_view code);

// A sentence if a shell program failed at words that are Python or JavaScript, or at typographic characters, else
// empty. `text`: what it printed on stderr.
std::string shell_language_advice(std::string_view text, std::string_view code);

// The call that probably ended the program: the first call of the rules that kill (policies/seccomp/) that the code
// names. If the code names no call of these rules: a list of the calls. The kernel ends the process and writes the
// number of the call to its log only.
std::string forbidden_call_advice(std::string_view code);

}  // namespace jail
