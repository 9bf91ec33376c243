// What the kernel would answer: runs a seccomp filter over a made-up call. Pure, no privileges, any architecture.
// Errors: std::runtime_error for a program that the kernel would not take (seccomp_check_filter).
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

struct FilterVerdict {
  uint32_t action = 0;  // SECCOMP_RET_*, data included
  size_t steps = 0;     // instructions run
};

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kUnsupported = SECCOMP_RET_ERRNO | EOPNOTSUPP;  // of file systems
constexpr uint64_t kHigh = 0xdeadbeef00000000;  // what the kernel does not look at in an int argument

using Arguments = std::array<uint64_t, 6>;
// The action for a call by instructions that stand in front of a profile that allows everything.
uint32_t answer_before_allow(std::vector<sock_filter> instructions, long number, const Arguments& arguments,
                             uint32_t arch);
seccomp_data made_up_call(long number, const Arguments& arguments, uint32_t arch);

FilterVerdict evaluate(const std::vector<sock_filter>& program, const seccomp_data& call);
