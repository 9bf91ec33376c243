// TaskRows: the tasks of one TaskStore in the journal's file: a row for each, with its result. Each store has its own
// table. Written by the writer's thread, read on the thread of reads.
// Source: tasks::TaskStore. Errors: those of Journal; not_found: the row has no result.
#pragma once
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/journal/journal.h"

namespace journal {

// tasks: of the protocol, and executions in the background. named_executions: with ids that their clients chose.
enum class TaskTable { tasks, named_executions };

class TaskRows : public tasks::TaskDisk {
 public:
  // The journal must outlive it.
  TaskRows(Journal& journal, TaskTable table) : journal_(journal), table_(table) {}
  Task<Result<>> add(tasks::StoredTask task) override;
  Task<Result<>> end(tasks::StoredTask task, std::string result) override;
  Task<Result<std::string>> result(std::string id) override;
  void remove(std::vector<std::string> ids) override;

 private:
  Journal& journal_;
  const TaskTable table_;
};

SchemaPart tasks_part();
// All rows of a table, oldest first. For the start.
Result<std::vector<tasks::StoredTask>> read_tasks(Database& database, TaskTable table);

}  // namespace journal
