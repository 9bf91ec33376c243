// Daemon: a warderd of the benchmark's own. Its state and socket lie in a temporary directory; it ends with this
// object. Errors: internal, with the end of its log.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/result.h"
#include "tests/bench/process.h"
#include "tests/temp_directory.h"

namespace bench {

class Daemon {
 public:
  // With these policies, but that every execution builds its jail. It is ready when this returns.
  static Result<std::unique_ptr<Daemon>> start(const std::string& program, const std::string& policies);
  ~Daemon();

  std::string socket() const { return directory_.path() / "mcp.sock"; }
  double cpu_us() const;  // so far: its thread and its jailer
  std::string log_end() const;

 private:
  Daemon() = default;
  Result<> wait_until_ready(int notifications);
  TempDirectory directory_;
  std::optional<Process> process_;
  pid_t jailer_ = -1;
};

}  // namespace bench
