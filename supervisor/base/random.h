// Random digits, for names and keys that nobody else has or can guess. Source: getrandom(2), seeded before it answers.
#pragma once
#include <string>

// As many bytes as hexadecimal digits, two each; at most 256 bytes. Cannot fail: no kernel that has jails is without
// it.
std::string random_hex(size_t bytes);
