#include "supervisor/base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

std::string random_hex(size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> random(bytes);
  while (::getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    if (errno != EINTR) std::abort();
  std::string text;
  for (const unsigned char byte : random) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}
