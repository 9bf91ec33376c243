// How many descriptors this process has open: what a test compares before and after.
#pragma once
#include <filesystem>
#include <iterator>

inline size_t open_descriptors() {
  std::filesystem::directory_iterator listing("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(listing), end(listing)));
}
