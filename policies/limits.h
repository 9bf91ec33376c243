// Limits: the resources that one execution may use. Complete and checked: no default is filled in later.
// Source: "limits" of a policy and the request of an agent, joined by resolve(). Applied by jail/usage/cgroup.cc, by
// jail-init (rlimits, tmpfs sizes) and by the daemon (clocks, output). No errors: resolve() clamps values that are out
// of range.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace policies {

struct Limits {
  std::chrono::milliseconds wall{30'000};     // from "code sent" to the answer
  std::chrono::milliseconds cpu{0};           // CPU time of the whole jail; 0: no limit besides wall
  uint64_t memory_bytes = 0;                  // memory.max; memory.swap.max is always 0
  uint32_t tasks = 0;                         // pids.max; threads count
  double cpus = 1;                            // cpu.max: 1.5 is 150000 of every 100000 us
  uint64_t output_bytes = 0;                  // stdout and stderr each, in the answer: head and tail
  uint64_t saved_output_bytes = 0;            // stdout, stderr and a large result each, readable later
  uint64_t output_total_bytes = 0;            // stdout and stderr each; more: outcome `output`
  uint64_t result_bytes = 0;                  // JSON text of `result` in the answer
  uint64_t json_bytes_per_second = 64 << 20;  // large messages read for the tenant; more must wait
  uint64_t file_bytes = 0;                    // RLIMIT_FSIZE
  uint32_t open_files = 0;                    // RLIMIT_NOFILE, soft and hard
  uint64_t tmp_bytes = 0;                     // each of /tmp, /home/agent and /dev/shm; see temporary_bytes()
  uint32_t tmp_files = 0;                     // in each of these folders: tmpfs nr_inodes=
};

// LimitRequest: the limits that an agent may ask for in a call. An absent value means the policy's standard.
struct LimitRequest {
  std::optional<std::chrono::milliseconds> wall;
  std::optional<std::chrono::milliseconds> cpu;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> tasks;
  std::optional<double> cpus;
  std::optional<uint64_t> output_bytes;
};

// Ceilings: `standard` applies to a call that asks for no limits; `maximum` bounds the limits that a call may ask for.
// Fields that a call cannot ask for are equal in both.
struct Ceilings {
  Limits standard;
  Limits maximum;
};

// Clamp: one requested limit that was not granted in full, as text for an agent: {"memory_bytes", "8 GiB", "2 GiB"}.
struct Clamp {
  std::string name;  // the key of the policy's "limits"
  std::string requested;
  std::string given;
};

// The smallest limits that still run an interpreter. A smaller request is raised to them, and a Clamp says so.
constexpr std::chrono::milliseconds kMinWall{1};
constexpr uint64_t kMinMemoryBytes = 16 << 20;
constexpr uint32_t kMinTasks = 4;  // init, the interpreter, and two more
constexpr double kMinCpus = 0.01;  // cpu.max has a quota of at least 1 ms
constexpr uint64_t kMinOutputBytes = 1024;

std::pair<Limits, std::vector<Clamp>> resolve(const Ceilings& ceilings, const LimitRequest& request);

// The bytes of each temporary folder: tmp_bytes, and at most half of the memory, which its files count as. So a program
// learns that a folder is full, and is not ended for want of memory.
uint64_t temporary_bytes(const Limits& limits);

// "2 GiB", "1.5 MiB", "20000 bytes": always the exact number.
std::string bytes_text(uint64_t bytes);
// "30 s", "250 ms", "1.5 s".
std::string duration_text(std::chrono::milliseconds time);

}  // namespace policies
