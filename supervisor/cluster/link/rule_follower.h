// RuleFollower: brings the policies, tool definitions and skills that the cluster's authority has signed into force in
// this warderd. It begins with the last good copy on the disk, also without warder-node. They are fetched from
// warder-node when it is connected and when it says that they have changed. A policy of the cluster is used unless this
// machine's own folder has one of its name. If the daemon refuses the policies, they are tried one by one, so that a
// wrong one holds up no other; refused policies and skills are tried again each ten minutes. Used by: membership.h.
// Errors are logged: the rules in force stay.
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
    std::function<void()> skills_changed;    // shared_skills() has changed
    // Whether a policy of the folders is in force; a wrong one that no tenant has is skipped. Empty: all are.
    std::function<bool(const std::string& name)> has_policy = {};
  };
  // The loop must outlive the object. Errors: those of WorkerThread.
  static Result<std::unique_ptr<RuleFollower>> make(Loop& loop, Settings settings, Uses uses);
  // Takes the last good copy of definitions and skills.
  void begin();
  // The rules may have changed.
  void changed();
  const RuleDefinitions& definitions() const { return *definitions_; }
  const skills::Shared& shared_skills() const { return *skills_; }

 private:
  RuleFollower(Loop& loop, Settings settings, Uses uses, std::unique_ptr<WorkerThread> thread);
  Task<> take_until_none_changed();
  Task<Result<>> take_last_copy();
  Task<Result<>> take();
  void show_changes();
  Task<Result<>> adopt(std::vector<std::string> policies);
  Task<Result<>> adopt_one(std::vector<std::string> policies);

  struct Work;  // of the thread
  Loop& loop_;
  const Settings settings_;
  const Uses uses_;
  bool has_changed_ = false, is_taking_ = false, is_first_ = true, has_last_copy_ = false;
  Deadline retry_;
  std::shared_ptr<const RuleDefinitions> definitions_ = std::make_shared<RuleDefinitions>();
  std::shared_ptr<const skills::Shared> skills_ = std::make_shared<skills::Shared>();
  const std::shared_ptr<Work> work_;
  std::unique_ptr<WorkerThread> thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
