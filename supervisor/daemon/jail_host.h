// JailHost: the daemon's end of the jailer, and the host of all jails: the parts that the self-test of jails needs.
// Source: Prepared. Made by Daemon, before all other parts. Errors: those of JailerClient::start().
#pragma once
#include <functional>
#include <memory>

#include "jail/host.h"
#include "jail/jailer_client/jailer_client.h"
#include "supervisor/daemon/prepared.h"

class JailHost {
 public:
  // Takes the jailer's socket of `prepared`. `lost` is called once, from the loop, when the jailer has ended. Loop and
  // `prepared` must outlive the host.
  static Result<std::unique_ptr<JailHost>> start(Loop& loop, Prepared& prepared, std::function<void()> lost);

  // Runs the self-test of jails with this policy's filter and limits, and logs the facts of this machine. `policy` must
  // outlive the task. Errors: those of jail::test_host().
  Task<Result<>> test(const policies::Policy& policy);
  jail::Host& host() { return host_; }

 private:
  JailHost(Loop& loop, Prepared& prepared, std::unique_ptr<jail::JailerClient> jailer);

  std::unique_ptr<jail::JailerClient> jailer_;  // never nullptr
  jail::Host host_;
  int self_test_;  // descriptor of the folder for self-tests; borrowed
};
