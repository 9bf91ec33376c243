// Part: a room of the daemon, as the daemon sees it: what it needs of other rooms, the services that it offers to them,
// and what it does at the turns of the daemon's life.
//
// A room has one file for this, part.cc, and one line in daemon/part_list.cc; an annex has no line (annexes.h). Its
// class derives from Part and from those interfaces below that the room has a use for; the daemon calls them in loops.
// Its function open() makes it: the parameters are the services that it needs (parts.h), so the daemon opens the parts
// in an order in which each finds its needs, and destroys them in the reverse order. All functions run on the event
// loop.
#pragma once
#include <chrono>
#include <string>

#include "policies/tenant_id.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/operations/doctor/doctor.h"

namespace bus {
class OfferedMembers;
}
namespace metrics {
class OpenMetricsText;
}
namespace tools {
class OperationRegistry;
}

class Part {
 public:
  Part() = default;
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  // The name of its PartEntry, for the log.
  const std::string& name() const { return name_; }

 private:
  friend class Parts;
  std::string name_;
};

// Offers tools, resources, prompts and calls of jailed code. Called once, before the first client.
class ToolSource {
 public:
  virtual void add_tools(const tools::OperationRegistry& operations) = 0;

 protected:
  ~ToolSource() = default;
};

// Works beside clients. begin() is done when clients may be served; an error ends the start of the daemon.
class Beginner {
 public:
  virtual Task<Result<>> begin() = 0;

 protected:
  ~Beginner() = default;
};

// Opens sockets for clients and administrators, or begins work that needs them. Called when all parts have begun.
class Opener {
 public:
  virtual Result<> serve() = 0;

 protected:
  ~Opener() = default;
};

// Follows a reload of the policies. The new policies are in force when the first part is called.
class PolicyFollower {
 public:
  virtual void adopt_policies() = 0;

 protected:
  ~PolicyFollower() = default;
};

// Shows the result of each reload.
class ReloadObserver {
 public:
  virtual void reloaded(const std::string& problem) = 0;  // empty: it succeeded

 protected:
  ~ReloadObserver() = default;
};

// Has data of tenants beside their folders, in memory or elsewhere in the state folder.
class TenantDataOwner {
 public:
  // The account loses its waiting jails and idle servers. May be called several times.
  virtual void close_account(const std::string& account) { static_cast<void>(account); }
  // The workspace's folder will have other contents, or will be gone: open files of it are closed. No program runs.
  virtual void close_workspace(const tenants::TenantId& id) { static_cast<void>(id); }
  // The tenant (its workspace is empty) or the named workspace was removed, and close_workspace() was called.
  virtual void forget(const tenants::TenantId& id) { static_cast<void>(id); }

 protected:
  ~TenantDataOwner() = default;
};

// Removes data that is too old. Called at the start, and again when the shortest of the returned times has passed.
class Tidier {
 public:
  virtual Task<std::chrono::seconds> tidy() = 0;

 protected:
  ~Tidier() = default;
};

// Takes part in the end of the daemon, in three steps.
class Drainer {
 public:
  // No new calls from now on.
  virtual void refuse_calls() {}
  // Returns when the answers of the running calls and all records are written. Called for the newest part first.
  virtual Task<> finish_calls() { co_return; }
  // Ends all connections and tasks. Called for the newest part first; after it, only destruction.
  virtual void disconnect() {}

 protected:
  ~Drainer() = default;
};

// Has findings of the doctor, the health of this room now.
class FindingSource {
 public:
  virtual Task<doctor::Findings> examine() = 0;

 protected:
  ~FindingSource() = default;
};

// Has metrics. Readers that may not see names get no names of tenants and upstream servers.
class MetricSource {
 public:
  struct Reader {
    bool sees_names = false;
  };
  virtual void write_metrics(metrics::OpenMetricsText& text, Reader reader) const = 0;

 protected:
  ~MetricSource() = default;
};

// Has properties and methods on D-Bus, of the Manager or in an interface of its own. Called once, before the daemon is
// on the bus.
class BusSource {
 public:
  virtual void add_bus_members(bus::OfferedMembers& members) = 0;

 protected:
  ~BusSource() = default;
};
