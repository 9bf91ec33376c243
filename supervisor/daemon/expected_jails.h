// ExpectedJails: the jails that wait for the programs of connected clients, so that a first call finds one.
// Source: the policies of connected clients. Used by: the daemon's parts. No errors: an execution without a waiting
// jail builds one.
#pragma once
#include "jail/pool/pool.h"
#include "policies/policy_fwd.h"
#include "supervisor/operations/bus/members.h"

class ExpectedJails {
 public:
  // References must outlive this object.
  ExpectedJails(jail::Pool& pool, const bus::Members& members) : pool_(pool), members_(members) {}
  ExpectedJails(const ExpectedJails&) = delete;

  // A client with this policy connects: the pool builds jails for its languages.
  void expect(const policies::Policy& policy);
  // Ends all waiting jails, and builds others for the clients that are connected.
  void replace();

 private:
  jail::Pool& pool_;
  const bus::Members& members_;
};
