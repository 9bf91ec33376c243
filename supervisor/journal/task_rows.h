// TaskRows: the tasks of TaskStore in the journal's file: a row for each, with its result. Written by the writer's
// thread, read on the thread of reads.
// Source: tasks::TaskStore. Errors: those of Journal; not_found: the row has no result.
#pragma once
#include "supervisor/journal/journal.h"
#include "supervisor/tasks/task_store.h"

namespace journal {

class TaskRows : public tasks::TaskDisk {
 public:
  // The journal must outlive it.
  explicit TaskRows(Journal& journal) : journal_(journal) {}
  Task<Result<>> add(tasks::StoredTask task) override;
  Task<Result<>> end(tasks::StoredTask task, std::string result) override;
  Task<Result<std::string>> result(std::string id) override;
  void remove(std::vector<std::string> ids) override;

 private:
  Journal& journal_;
};

Part tasks_part();
// All rows, oldest first. For the start.
Result<std::vector<tasks::StoredTask>> read_tasks(Database& database);

}  // namespace journal
