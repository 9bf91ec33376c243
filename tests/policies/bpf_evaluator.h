// What the kernel would answer: runs a seccomp filter over a made-up call. Pure, no privileges, any architecture.
// Errors: std::runtime_error for a program that the kernel would not take (seccomp_check_filter).
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <vector>

struct FilterVerdict {
  uint32_t action = 0;  // SECCOMP_RET_*, data included
  size_t steps = 0;     // instructions run
};

FilterVerdict evaluate(const std::vector<sock_filter>& program, const seccomp_data& call);
