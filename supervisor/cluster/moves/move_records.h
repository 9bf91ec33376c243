// MoveRecords: what the journal has of a workspace and moves with it: results of tasks, of executions in the background
// and of executions with ids that their clients chose, and workflows. One JSON object a line.
// Not moved: the history of executions and the audit chain (they say what happened on this machine), and what searches
// have learned.
// Used by: home_mover.h, home_receiver.h. Errors: those of the journal; exhausted: more than a snapshot may have.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/task.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/workflows/workflow.h"

namespace moves {

class MoveRecords {
 public:
  // All must outlive the object.
  MoveRecords(tasks::TaskStore& tasks, tasks::TaskStore& named, workflows::WorkflowDisk& workflows)
      : tasks_(tasks), named_(named), workflows_(workflows) {}

  // `tenant`: the text of a TenantId, here and below.
  Task<Result<std::string>> write(std::string tenant);
  // Records of another machine, read on a worker thread. Errors: invalid, naming the line.
  struct Read {
    struct Ended {
      bool is_named = false;
      tasks::StoredTask task;
      std::string result;
    };
    struct Flow {
      std::string name;
      workflows::StoredWorkflow workflow;
      std::vector<workflows::StoredStep> steps;
    };
    std::vector<Ended> ended;
    std::vector<Flow> flows;
  };
  static Result<Read> read(const std::string& text, const std::string& tenant);
  // Stores them. Known ids stay as they are; a record without room is logged and left out.
  Task<> adopt(std::string tenant, Read records);
  // Whether the workspace has records here that a snapshot could meet: workflows, tasks, executions in the background.
  // Executions with ids do not count: each call of another node leaves one, and adopt() keeps it.
  Task<Result<bool>> has_any(std::string tenant);
  // The workspace has another home: removes its records here.
  Task<> forget(std::string tenant);

 private:
  Task<Result<>> write_tasks(std::string& text, const std::string& tenant, bool is_named);
  Task<Result<>> write_workflows(std::string& text, const std::string& tenant);
  Task<Result<>> adopt_flow(const std::string& tenant, Read::Flow flow);

  tasks::TaskStore& tasks_;
  tasks::TaskStore& named_;
  workflows::WorkflowDisk& workflows_;
};

}  // namespace moves
