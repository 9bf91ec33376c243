// RuleFollower: brings the policies and tool definitions that the cluster's authority has signed into force in this
// warderd. They are fetched from warder-node when it is connected and when it says that they have changed. A policy of
// the cluster is used unless this machine's own folder has one of its name. If the daemon refuses the policies, they
// are tried one by one, so that a wrong one holds up no other; refused ones are tried again each ten minutes. Used by:
// membership.h. Errors are logged: the rules in force stay.
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
    std::function<bool()> is_in_doubt;       // the policies in force are not those of the folders
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
  Task<Result<>> adopt(std::vector<std::string> policies);
  Task<Result<>> adopt_one(std::vector<std::string> policies);

  struct Work;  // of the thread
  Loop& loop_;
  const Settings settings_;
  const Uses uses_;
  bool has_changed_ = false, is_taking_ = false, is_first_ = true;
  Deadline again_;
  std::shared_ptr<const RuleDefinitions> definitions_ = std::make_shared<RuleDefinitions>();
  const std::shared_ptr<Work> work_;
  std::unique_ptr<WorkerThread> thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
