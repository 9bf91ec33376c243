// RuleFollower: brings the policies and tool definitions that the cluster's authority has signed into force in this
// warderd. They are fetched from warder-node when it is connected and when it says that they have changed. A policy of
// the cluster is used unless this machine's own folder has one of its name. If the daemon refuses the policies, those
// from before stay.
// Used by: membership.h. Errors are logged: the rules in force stay.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/cluster/link/rule_files.h"

namespace cluster {

class RuleFollower {
 public:
  struct Settings {
    std::string socket;  // of warder-node
    std::string trust;   // the trust record that root wrote
    std::string state;   // the daemon's folder
  };
  struct Uses {
    std::function<Task<Result<>>()> reload;  // reads all folders of policies again
    std::function<void()> catalog_changed;   // definitions() has changed
  };
  // The loop must outlive the object. Errors: those of WorkerThread.
  static Result<std::unique_ptr<RuleFollower>> make(Loop& loop, Settings settings, Uses uses);
  // The rules may have changed.
  void changed();
  const RuleDefinitions& definitions() const { return *definitions_; }

 private:
  RuleFollower(Loop& loop, Settings settings, Uses uses, std::unique_ptr<WorkerThread> thread);
  Task<> take_until_none_changed();
  Task<Result<>> take();
  Task<Result<>> adopt_policies();

  struct Work;  // of the thread
  Loop& loop_;
  const Settings settings_;
  const Uses uses_;
  bool has_changed_ = false, is_taking_ = false;
  std::shared_ptr<const RuleDefinitions> definitions_ = std::make_shared<RuleDefinitions>();
  const std::shared_ptr<Work> work_;
  std::unique_ptr<WorkerThread> thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
