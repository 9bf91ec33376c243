#include "supervisor/records/journal/task_rows.h"

namespace journal {
namespace {

// `state` and `kind` have the words of tasks::state_name and tasks::kind_name.
constexpr char kTaskTable[] = R"(
CREATE TABLE tasks(
  id TEXT PRIMARY KEY, tenant TEXT NOT NULL, principal TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
  created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, result TEXT
) WITHOUT ROWID;
)";
constexpr char kTaskColumns[] = R"(
ALTER TABLE tasks ADD COLUMN is_error INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN digest TEXT NOT NULL DEFAULT '';
)";
constexpr char kNamedTable[] = R"(
CREATE TABLE named_executions(
  id TEXT PRIMARY KEY, tenant TEXT NOT NULL, principal TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
  created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, result TEXT,
  is_error INTEGER NOT NULL DEFAULT 0, digest TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
)";

// Rows of older versions have no expires_ms: the wall clock's times of the row stand for it.
constexpr char kExpiry[] = R"(
ALTER TABLE tasks ADD COLUMN expires_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE named_executions ADD COLUMN expires_ms INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET expires_ms=max(created_ms+ttl_ms, updated_ms+60000);
UPDATE named_executions SET expires_ms=max(created_ms+ttl_ms, updated_ms+60000);
)";

// The statements about one table. Database finds a prepared statement by the address of its text.
struct TaskStatements {
  const char *insert, *end, *result, *remove, *all;
};
constexpr TaskStatements kOfTasks = {
    "INSERT INTO tasks(id, tenant, principal, kind, state, created_ms, updated_ms, ttl_ms, digest, "
    "expires_ms) VALUES(?,?,?,?,?,?,?,?,?,?)",
    "UPDATE tasks SET state=?, updated_ms=?, result=?, is_error=?, expires_ms=? WHERE id=?",
    "SELECT result FROM tasks WHERE id=? AND result IS NOT NULL", "DELETE FROM tasks WHERE id=?",
    "SELECT id, tenant, principal, kind, state, created_ms, updated_ms, ttl_ms, length(CAST(result AS BLOB)), "
    "is_error, digest, expires_ms FROM tasks ORDER BY created_ms"};
constexpr TaskStatements kOfNamed = {
    "INSERT INTO named_executions(id, tenant, principal, kind, state, created_ms, updated_ms, ttl_ms, digest, "
    "expires_ms) VALUES(?,?,?,?,?,?,?,?,?,?)",
    "UPDATE named_executions SET state=?, updated_ms=?, result=?, is_error=?, expires_ms=? WHERE id=?",
    "SELECT result FROM named_executions WHERE id=? AND result IS NOT NULL", "DELETE FROM named_executions WHERE id=?",
    "SELECT id, tenant, principal, kind, state, created_ms, updated_ms, ttl_ms, length(CAST(result AS BLOB)), "
    "is_error, digest, expires_ms FROM named_executions ORDER BY created_ms"};

const TaskStatements& statements_of(TaskTable table) { return table == TaskTable::tasks ? kOfTasks : kOfNamed; }

Result<> write_task(Database& database, TaskTable table, const tasks::StoredTask& task) {
  TRY(Statement insert, database.prepare(statements_of(table).insert));
  insert.bind(task.id).bind(task.owner.tenant).bind(task.owner.principal).bind(tasks::kind_name(task.kind));
  insert.bind(tasks::state_name(task.state)).bind(task.created_ms).bind(task.updated_ms).bind(task.ttl_ms);
  return insert.bind(task.digest).bind(task.expires_ms).run();
}

Result<> write_task_end(Database& database, TaskTable table, const tasks::StoredTask& task, const std::string& result) {
  TRY(Statement update, database.prepare(statements_of(table).end));
  update.bind(tasks::state_name(task.state)).bind(task.updated_ms).bind(result).bind(task.is_error ? 1 : 0);
  return update.bind(task.expires_ms).bind(task.id).run();
}

}  // namespace

SchemaPart tasks_part() { return {"tasks", {kTaskTable, kTaskColumns, kNamedTable, kExpiry}}; }

Result<std::vector<tasks::StoredTask>> read_tasks(Database& database, TaskTable table) {
  TRY(Statement rows, database.prepare(statements_of(table).all));
  std::vector<tasks::StoredTask> all;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return all;
    const auto kind = tasks::find_kind(rows.text(3));
    const auto state = tasks::find_state(rows.text(4));
    if (!kind || !state) continue;  // of a later version
    tasks::StoredTask task;
    task.id = rows.text(0);
    task.owner = {rows.text(1), rows.text(2)};
    task.kind = *kind, task.state = *state;
    task.created_ms = rows.integer(5), task.updated_ms = rows.integer(6), task.ttl_ms = rows.integer(7);
    task.result_bytes = static_cast<uint64_t>(std::max<int64_t>(rows.integer(8), 0));
    task.is_error = rows.integer(9) != 0;
    task.digest = rows.text(10);
    task.expires_ms = rows.integer(11);
    all.push_back(std::move(task));
  }
}

Task<Result<>> TaskRows::add(tasks::StoredTask task) {
  const Writer::Work work = [table = table_, task = std::move(task)](Database& database) {
    return write_task(database, table, task);
  };
  auto done = co_await journal_.run(work);
  co_return done;
}

Task<Result<>> TaskRows::end(tasks::StoredTask task, std::string result) {
  const Writer::Work work = [table = table_, task = std::move(task), result = std::move(result)](Database& database) {
    return write_task_end(database, table, task, result);
  };
  auto done = co_await journal_.run(work);
  co_return done;
}

Task<Result<std::string>> TaskRows::result(std::string id) {
  auto match = std::make_shared<std::optional<std::string>>();
  const Writer::Work work = [table = table_, match, id = std::move(id)](Database& database) -> Result<> {
    TRY(Statement rows, database.prepare(statements_of(table).result));
    TRY(bool row, rows.bind(id).step());
    if (row) *match = rows.text(0);
    return {};
  };
  auto done = co_await journal_.read(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  if (!*match) co_return fail(Code::not_found, "no result of this task is stored");
  co_return **std::move(match);
}

void TaskRows::remove(std::vector<std::string> ids) {
  auto work = [table = table_, ids = std::move(ids)](Database& database) -> Result<> {
    for (const auto& id : ids) {
      TRY(Statement remove, database.prepare(statements_of(table).remove));
      CHECKED(remove.bind(id).run());
    }
    return {};
  };
  journal_.queue(std::move(work));
}

}  // namespace journal
