// Advice: what to do about an end with a usual cause, read from what the program itself wrote. The program chose the
// words, so this is help for its author and never evidence. Pure: tests/jail/advice_test.cc is a table.
#pragma once
#include <string>
#include <string_view>

namespace jail {

// One sentence where the text is of a program that looked for a network or for something to install, else empty. The
// text is searched once for each of some words: give little of it.
std::string network_advice(std::string_view text);

// One sentence where the code names a call that makes shared memory without a file, and what it wrote tells of a
// refusal, else empty. To be asked where no cgroup counts such memory (policies/uncounted_memory.h).
std::string shared_memory_advice(std::string_view text, std::string_view code);

// Which call of the rules that kill (policies/seccomp/) the code probably made, by the names in it; else which there
// are. The kernel ends the process without telling anybody but its own log what the call was.
std::string forbidden_call_advice(std::string_view code);

}  // namespace jail
