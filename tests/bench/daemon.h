// Daemon: a warderd of the benchmark's own. Its state and socket lie in a temporary directory; it ends with this
// object. Errors: internal, with the end of its log.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "tests/bench/process.h"
#include "tests/temp_directory.h"

namespace bench {

class Daemon {
 public:
  // With these policies, but that every execution builds its jail. It is ready when this returns. `options`: more words
  // of its command line.
  static Result<std::unique_ptr<Daemon>> start(const std::string& program, const std::string& policies,
                                               const std::vector<std::string>& options = {});
  ~Daemon();

  std::string socket() const { return directory_.path() / "mcp.sock"; }
  double cpu_us() const;  // so far: its thread and its jailer
  std::string log_end() const;
  bool logged(std::string_view text) const;  // so far

 private:
  Daemon() = default;
  std::string log() const;
  Result<> wait_until_ready(int notifications);
  TempDirectory directory_;
  std::optional<Process> process_;
  pid_t jailer_ = -1;
};

}  // namespace bench
