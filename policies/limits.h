// Limits: what one execution may use. Complete and checked: nothing fills in defaults later.
// Source: "limits" of a policy and what the agent asked for, joined by resolve(). Applied by jail/cgroup.cc, by
// jail-init (rlimits, tmpfs sizes) and by the daemon (clocks, output). Cannot fail: what is too much is clamped.
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
  std::chrono::milliseconds cpu{0};           // CPU time of the whole jail; 0: none beyond wall
  uint64_t memory_bytes = 0;                  // memory.max; memory.swap.max is always 0
  uint32_t tasks = 0;                         // pids.max; threads count
  double cpus = 1;                            // cpu.max: 1.5 is 150000 of every 100000 us
  uint64_t output_bytes = 0;                  // stdout and stderr each, told in the answer: head and tail
  uint64_t output_kept_bytes = 0;             // stdout and stderr each, kept to be read later; beyond: outcome `output`
  uint64_t result_bytes = 0;                  // JSON text of `result`
  uint64_t json_bytes_per_second = 64 << 20;  // large messages that are read for its tenant; more waits
  uint64_t file_bytes = 0;                    // RLIMIT_FSIZE
  uint32_t open_files = 0;                    // RLIMIT_NOFILE, soft and hard
  uint64_t tmp_bytes = 0;                     // each of /tmp, /home/agent and /dev/shm: tmpfs size=
  uint32_t tmp_files = 0;                     // each of them: tmpfs nr_inodes=
};

// What an agent may ask for in a call. Absent: the policy's standard.
struct LimitRequest {
  std::optional<std::chrono::milliseconds> wall;
  std::optional<std::chrono::milliseconds> cpu;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> tasks;
  std::optional<double> cpus;
  std::optional<uint64_t> output_bytes;
};

// `standard` is what a call gets that asks for nothing; `maximum` what one may ask for. Fields of `maximum` that
// cannot be asked for equal those of `standard`.
struct Ceilings {
  Limits standard;
  Limits maximum;
};

// One wish that was not granted in full, in words an agent understands: {"memory_bytes", "8 GiB", "2 GiB"}.
struct Clamp {
  std::string name;  // the key of the policy's "limits"
  std::string asked;
  std::string given;
};

// The smallest that still runs an interpreter; less is raised to it, and said.
constexpr std::chrono::milliseconds kMinWall{1};
constexpr uint64_t kMinMemoryBytes = 16 << 20;
constexpr uint32_t kMinTasks = 4;  // init, the interpreter, and two more
constexpr double kMinCpus = 0.01;  // cpu.max has a quota of at least 1 ms
constexpr uint64_t kMinOutputBytes = 1024;

std::pair<Limits, std::vector<Clamp>> resolve(const Ceilings& ceilings, const LimitRequest& request);

// "2 GiB", "1.5 MiB", "20000 bytes": exact where it can be.
std::string bytes_text(uint64_t bytes);
// "30 s", "250 ms", "1.5 s".
std::string duration_text(std::chrono::milliseconds time);

}  // namespace policies
