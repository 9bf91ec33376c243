// Random digits, for names and keys that are unique and cannot be guessed. Source: getrandom(2), which waits until it
// is seeded.
#pragma once
#include <string>

// `bytes` random bytes as hexadecimal digits, two for each byte; at most 256 bytes. Cannot fail: each kernel that
// supports jails has getrandom(2).
std::string random_hex(size_t bytes);
