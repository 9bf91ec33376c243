// JailFixture: a jailer, a template and a host for tests that build real jails, without the daemon.
// Works as root and as a user; where the kernel refuses, usable() says so and the test is skipped.
#pragma once
#include <memory>
#include <string>

#include "jail/execution/execution.h"
#include "jail/host.h"

class JailFixture {
 public:
  JailFixture();
  ~JailFixture();

  const std::string& problem() const { return problem_; }  // empty: usable
  bool leaks() const { return leaks_; }                    // the problem: a guarantee does not hold in a jail
  jail::Host& host() { return *host_; }
  Loop& loop() { return *loop_; }
  const std::string& workspace() const { return workspace_; }

  // A request with the standard policy's limits, on this fixture's workspace.
  jail::Request request(jail::Language language, std::string code);
  Result<jail::Report> run(jail::Request request);
  jail::Report run(jail::Language language, std::string code);

 private:
  Result<> prepare();
  bool leaks_ = false;
  std::string problem_, directory_, workspace_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<jail::JailerClient> client_;
  std::unique_ptr<jail::Host> host_;
  Fd workspace_fd_;
  policies::Limits limits_;
  std::shared_ptr<policies::SeccompFilter> filter_;
  unsigned next_id_ = 0;
};
