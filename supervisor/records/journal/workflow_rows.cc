#include "supervisor/records/journal/workflow_rows.h"

#include <fmt/format.h>

#include <set>

#include "supervisor/base/elapsed_clock.h"

namespace journal {
namespace {

using workflows::StoredStep;
using workflows::StoredWorkflow;
using workflows::WorkflowId;
using workflows::WorkflowLimits;

// `state` has the words of workflows::state_name. The steps of a workflow have the positions 0 to steps - 1.
constexpr char kWorkflowTables[] = R"(
CREATE TABLE workflows(
  tenant TEXT NOT NULL, name TEXT NOT NULL, run TEXT NOT NULL, execution TEXT NOT NULL, created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, steps INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY(tenant, name)
) WITHOUT ROWID;
CREATE INDEX workflows_by_expiry ON workflows(expires_ms);
CREATE TABLE workflow_steps(
  tenant TEXT NOT NULL, workflow TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL, execution TEXT NOT NULL, ended_ms INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(tenant, workflow, position)
);
CREATE TABLE workflow_runs(
  execution TEXT PRIMARY KEY, tenant TEXT NOT NULL, workflow TEXT NOT NULL, caller TEXT NOT NULL,
  arguments TEXT NOT NULL, resumes INTEGER NOT NULL
);
)";

// The values that a step's function read (workflows::StepInputs::text()).
constexpr char kStepInputs[] = "ALTER TABLE workflow_steps ADD COLUMN inputs TEXT NOT NULL DEFAULT ''";

// The secret of workflows::hash_seed(), one row.
constexpr char kHashSecret[] =
    "CREATE TABLE workflow_hash_secret(secret BLOB NOT NULL); "
    "INSERT INTO workflow_hash_secret VALUES(randomblob(16))";

StoredWorkflow workflow_of(const Statement& row, int first) {
  StoredWorkflow workflow;
  workflow.run = row.text(first);
  workflow.execution = row.text(first + 1);
  workflow.created_ms = row.integer(first + 2);
  workflow.updated_ms = row.integer(first + 3);
  workflow.expires_ms = row.integer(first + 4);
  workflow.steps = static_cast<uint32_t>(row.integer(first + 5));
  workflow.bytes = static_cast<uint64_t>(row.integer(first + 6));
  return workflow;
}

Result<std::optional<StoredWorkflow>> find_workflow(Database& database, const WorkflowId& id) {
  TRY(Statement row, database.prepare("SELECT run, execution, created_ms, updated_ms, expires_ms, steps, bytes "
                                      "FROM workflows WHERE tenant=? AND name=?"));
  TRY(bool count, row.bind(id.tenant).bind(id.name).step());
  if (!count) return std::optional<StoredWorkflow>();
  return std::optional(workflow_of(row, 0));
}

struct WorkflowSums {
  uint64_t count = 0, bytes = 0;
};
Result<WorkflowSums> sums_of(Database& database, const std::string& tenant) {
  TRY(Statement row, database.prepare("SELECT count(*), total(bytes) FROM workflows WHERE tenant=?"));
  TRY(bool count, row.bind(tenant).step());
  if (!count) return WorkflowSums{};
  return WorkflowSums{static_cast<uint64_t>(row.integer(0)), static_cast<uint64_t>(row.integer(1))};
}

Result<> open_workflow(Database& database, const WorkflowId& id, const StoredWorkflow& fresh,
                       const WorkflowLimits& limits, workflows::WorkflowDisk::Opened& opened) {
  TRY(std::optional<StoredWorkflow> found, find_workflow(database, id));
  TRY(const WorkflowSums sums, sums_of(database, id.tenant));
  opened.tenant_bytes = sums.bytes;
  if (!found && sums.count >= limits.workflows)
    return fail(Code::exhausted,
                fmt::format("there are {} workflows, and the limit is {}", sums.count, limits.workflows),
                "delete one that is no longer needed: delete_workspace_file with workflow:///NAME", "workflows.max");
  opened.workflow = found ? *std::move(found) : fresh;
  opened.workflow.execution = fresh.execution;
  opened.workflow.updated_ms = fresh.updated_ms;
  opened.workflow.expires_ms = fresh.expires_ms;
  TRY(Statement put, database.prepare("INSERT INTO workflows(tenant, name, run, execution, created_ms, updated_ms, "
                                      "expires_ms, steps, bytes) VALUES(?,?,?,?,?,?,?,0,0) "
                                      "ON CONFLICT(tenant, name) DO UPDATE SET execution=excluded.execution, "
                                      "updated_ms=excluded.updated_ms, expires_ms=excluded.expires_ms"));
  put.bind(id.tenant).bind(id.name).bind(opened.workflow.run).bind(fresh.execution).bind(opened.workflow.created_ms);
  return put.bind(fresh.updated_ms).bind(fresh.expires_ms).run();
}

Result<std::optional<int64_t>> bytes_of_step(Database& database, const WorkflowId& id, uint32_t position) {
  TRY(Statement row, database.prepare("SELECT length(CAST(value AS BLOB)) + length(CAST(inputs AS BLOB)) "
                                      "FROM workflow_steps WHERE tenant=? AND workflow=? AND position=?"));
  TRY(bool count, row.bind(id.tenant).bind(id.name).bind(position).step());
  return count ? std::optional(row.integer(0)) : std::nullopt;
}

Result<uint64_t> put_step(Database& database, const WorkflowId& id, const StoredStep& step, int64_t expires_ms,
                          const WorkflowLimits& limits) {
  TRY(const std::optional<StoredWorkflow> workflow, find_workflow(database, id));
  if (!workflow || step.position > workflow->steps)
    return fail(Code::not_found, fmt::format("workflow '{}' was removed while the step ran", id.name),
                "send the program again: it begins anew");
  TRY(const WorkflowSums sums, sums_of(database, id.tenant));
  TRY(const std::optional<int64_t> before, bytes_of_step(database, id, step.position));
  const uint64_t more = step.value.size() + step.inputs.size();
  const uint64_t less = static_cast<uint64_t>(before.value_or(0));
  const uint64_t all = sums.bytes - std::min(sums.bytes, less) + more;
  if (more > less && all > limits.bytes)
    return fail(Code::exhausted,
                fmt::format("the values of all workflows would have {} bytes, {} are allowed", all, limits.bytes),
                "write large values to files and return their names, or delete a workflow: delete_workspace_file with "
                "workflow:///NAME",
                "workflows.bytes");
  {
    TRY(Statement put,
        database.prepare("INSERT OR REPLACE INTO workflow_steps(tenant, workflow, position, name, state, "
                         "attempts, execution, ended_ms, value, inputs) VALUES(?,?,?,?,?,?,?,?,?,?)"));
    put.bind(id.tenant).bind(id.name).bind(step.position).bind(step.name).bind(workflows::state_name(step.state));
    CHECKED(put.bind(step.attempts).bind(step.execution).bind(step.ended_ms).bind(step.value).bind(step.inputs).run());
  }
  // The expiry is in an index, so writing it costs a page: one that moved by less than a hundredth is left as it is.
  const bool expiry_moved = expires_ms - workflow->expires_ms > (expires_ms - retention_now_ms()) / 100;
  const int64_t expiry = expiry_moved || expires_ms < workflow->expires_ms ? expires_ms : workflow->expires_ms;
  TRY(Statement update,
      database.prepare(expiry == workflow->expires_ms
                           ? "UPDATE workflows SET steps=?, bytes=?, updated_ms=? WHERE tenant=? AND name=?"
                           : "UPDATE workflows SET steps=?, bytes=?, updated_ms=?, expires_ms=? "
                             "WHERE tenant=? AND name=?"));
  const uint64_t own = workflow->bytes - std::min(workflow->bytes, less) + more;
  update.bind(std::max(workflow->steps, step.position + 1)).bind(stored(own)).bind(step.ended_ms);
  if (expiry != workflow->expires_ms) update.bind(expiry);
  CHECKED(update.bind(id.tenant).bind(id.name).run());
  return all;
}

StoredStep step_of(const Statement& row) {
  StoredStep step;
  step.position = static_cast<uint32_t>(row.integer(0));
  step.name = row.text(1);
  step.state = workflows::find_state(row.text(2)).value_or(workflows::StepState::failed);
  step.attempts = static_cast<uint32_t>(row.integer(3));
  step.execution = row.text(4);
  step.ended_ms = row.integer(5);
  step.value = row.text(6);
  step.inputs = row.text(7);
  return step;
}

Result<std::vector<StoredStep>> read_steps(Database& database, const WorkflowId& id, uint32_t first, uint32_t max,
                                           uint64_t max_bytes) {
  TRY(Statement rows, database.prepare("SELECT position, name, state, attempts, execution, ended_ms, value, inputs "
                                       "FROM workflow_steps WHERE tenant=? AND workflow=? AND position>=? "
                                       "ORDER BY position LIMIT ?"));
  rows.bind(id.tenant).bind(id.name).bind(first).bind(max);
  std::vector<StoredStep> all;
  for (uint64_t bytes = 0; bytes < max_bytes;) {
    TRY(bool row, rows.step());
    if (!row) break;
    all.push_back(step_of(rows));
    bytes += all.back().value.size();
  }
  return all;
}

Result<std::vector<workflows::WorkflowDisk::StepHead>> read_heads(Database& database, const WorkflowId& id,
                                                                  uint32_t first, uint32_t max) {
  TRY(Statement rows,
      database.prepare("SELECT position, name, state, attempts, execution, ended_ms, "
                       "CASE state WHEN 'failed' THEN value ELSE '' END, inputs, length(CAST(value AS BLOB)) "
                       "FROM workflow_steps WHERE tenant=? AND workflow=? AND position>=? "
                       "ORDER BY position LIMIT ?"));
  rows.bind(id.tenant).bind(id.name).bind(first).bind(max);
  std::vector<workflows::WorkflowDisk::StepHead> all;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return all;
    all.push_back({step_of(rows), static_cast<uint64_t>(rows.integer(8))});
  }
}

Result<> remove_workflow(Database& database, const WorkflowId& id) {
  {
    TRY(Statement steps, database.prepare("DELETE FROM workflow_steps WHERE tenant=? AND workflow=?"));
    CHECKED(steps.bind(id.tenant).bind(id.name).run());
  }
  TRY(Statement row, database.prepare("DELETE FROM workflows WHERE tenant=? AND name=?"));
  return row.bind(id.tenant).bind(id.name).run();
}

Result<> forget_workflows(Database& database, const std::string& tenant) {
  const std::string first = tenant + "/", end = tenant + "0";  // '0' is the character after '/'
  for (const char* sql : {"DELETE FROM workflow_steps WHERE tenant=? OR (tenant>? AND tenant<?)",
                          "DELETE FROM workflows WHERE tenant=? OR (tenant>? AND tenant<?)",
                          "DELETE FROM workflow_runs WHERE tenant=? OR (tenant>? AND tenant<?)"}) {
    TRY(Statement rows, database.prepare(sql));
    CHECKED(rows.bind(tenant).bind(first).bind(end).run());
  }
  return {};
}

Result<uint64_t> expire_workflows(Database& database, int64_t retention_ms, const std::set<WorkflowId>& workflow_ids) {
  std::vector<WorkflowId> old;
  {
    TRY(Statement rows, database.prepare("SELECT tenant, name FROM workflows WHERE expires_ms<=? LIMIT 500"));
    rows.bind(retention_ms);
    for (;;) {
      TRY(bool row, rows.step());
      if (!row) break;
      WorkflowId id{rows.text(0), rows.text(1)};
      if (!workflow_ids.contains(id)) old.push_back(std::move(id));
    }
  }
  for (const WorkflowId& id : old) CHECKED(remove_workflow(database, id));
  return old.size();
}

// Runs `work` on the writer's thread, or on the thread of reads, and returns what it returned.
enum class Side { write, read };
template <class T>
Task<Result<T>> answer_of(Journal& journal, Side side, std::function<Result<T>(Database&)> work) {
  auto match = std::make_shared<T>();
  const Writer::Work job = [match, work = std::move(work)](Database& database) -> Result<> {
    TRY(*match, work(database));
    return {};
  };
  auto doing = side == Side::write ? journal.run(job) : journal.read(job);
  auto done = co_await std::move(doing);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*match);
}

}  // namespace

SchemaPart workflows_part() { return {"workflows", {kWorkflowTables, kStepInputs, kHashSecret}}; }

Result<std::vector<std::string>> read_run_executions(Database& database) {
  TRY(Statement rows, database.prepare("SELECT execution FROM workflow_runs ORDER BY rowid"));
  std::vector<std::string> all;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return all;
    all.push_back(rows.text(0));
  }
}

Result<std::string> read_hash_secret(Database& database) {
  TRY(Statement row, database.prepare("SELECT secret FROM workflow_hash_secret"));
  TRY(bool count, row.step());
  return count ? row.blob(0) : std::string();
}

Task<Result<workflows::WorkflowDisk::Opened>> WorkflowRows::open(WorkflowId id, StoredWorkflow fresh,
                                                                 WorkflowLimits limits) {
  return answer_of<Opened>(
      journal_, Side::write,
      [id = std::move(id), fresh = std::move(fresh), limits](Database& database) -> Result<Opened> {
        Opened opened;
        CHECKED(open_workflow(database, id, fresh, limits, opened));
        return opened;
      });
}

Task<Result<uint64_t>> WorkflowRows::put(WorkflowId id, StoredStep step, int64_t expires_ms, WorkflowLimits limits) {
  return answer_of<uint64_t>(journal_, Side::write,
                             [id = std::move(id), step = std::move(step), expires_ms, limits](Database& database) {
                               return put_step(database, id, step, expires_ms, limits);
                             });
}

Task<Result<std::vector<StoredStep>>> WorkflowRows::steps(WorkflowId id, uint32_t first, uint32_t max,
                                                          uint64_t max_bytes) {
  return answer_of<std::vector<StoredStep>>(journal_, Side::read,
                                            [id = std::move(id), first, max, max_bytes](Database& database) {
                                              return read_steps(database, id, first, max, max_bytes);
                                            });
}

Task<Result<std::vector<workflows::WorkflowDisk::StepHead>>> WorkflowRows::heads(WorkflowId id, uint32_t first,
                                                                                 uint32_t max) {
  return answer_of<std::vector<StepHead>>(journal_, Side::read, [id = std::move(id), first, max](Database& database) {
    return read_heads(database, id, first, max);
  });
}

Task<Result<std::optional<StoredWorkflow>>> WorkflowRows::find(WorkflowId id) {
  return answer_of<std::optional<StoredWorkflow>>(
      journal_, Side::read, [id = std::move(id)](Database& database) { return find_workflow(database, id); });
}

Task<Result<std::vector<workflows::WorkflowDisk::Listed>>> WorkflowRows::list(std::string tenant) {
  return answer_of<std::vector<Listed>>(
      journal_, Side::read, [tenant = std::move(tenant)](Database& database) -> Result<std::vector<Listed>> {
        TRY(Statement rows, database.prepare("SELECT name, run, execution, created_ms, updated_ms, expires_ms, steps, "
                                             "bytes FROM workflows WHERE tenant=? ORDER BY name"));
        rows.bind(tenant);
        std::vector<Listed> all;
        for (;;) {
          TRY(bool row, rows.step());
          if (!row) return all;
          all.push_back({rows.text(0), workflow_of(rows, 1)});
        }
      });
}

Task<Result<workflows::WorkflowDisk::Removed>> WorkflowRows::remove(WorkflowId id) {
  return answer_of<Removed>(journal_, Side::write, [id = std::move(id)](Database& database) -> Result<Removed> {
    TRY(const std::optional<StoredWorkflow> found, find_workflow(database, id));
    CHECKED(remove_workflow(database, id));
    TRY(const WorkflowSums sums, sums_of(database, id.tenant));
    return Removed{found.has_value(), sums.bytes};
  });
}

void WorkflowRows::forget(std::string tenant) {
  journal_.queue([tenant = std::move(tenant)](Database& database) { return forget_workflows(database, tenant); });
}

Task<Result<>> WorkflowRows::add_run(workflows::StoredRun run) {
  const Writer::Work work = [run = std::move(run)](Database& database) -> Result<> {
    TRY(Statement put, database.prepare("INSERT INTO workflow_runs(execution, tenant, workflow, caller, arguments, "
                                        "resumes) VALUES(?,?,?,?,?,?) ON CONFLICT(execution) DO NOTHING"));
    put.bind(run.execution).bind(run.workflow.tenant).bind(run.workflow.name).bind(run.caller).bind(run.arguments);
    return put.bind(run.resumes).run();
  };
  auto done = co_await journal_.run(work);
  co_return done;
}

Task<Result<std::optional<workflows::StoredRun>>> WorkflowRows::find_run(std::string execution) {
  using Found = std::optional<workflows::StoredRun>;
  return answer_of<Found>(
      journal_, Side::read, [execution = std::move(execution)](Database& database) -> Result<Found> {
        TRY(Statement row, database.prepare("SELECT tenant, workflow, caller, arguments, resumes FROM workflow_runs "
                                            "WHERE execution=?"));
        TRY(bool count, row.bind(execution).step());
        if (!count) return Found();
        workflows::StoredRun run;
        run.execution = execution;
        run.workflow = {row.text(0), row.text(1)};
        run.caller = row.text(2), run.arguments = row.text(3);
        run.resumes = static_cast<uint32_t>(row.integer(4));
        return Found(std::move(run));
      });
}

Task<Result<>> WorkflowRows::resume_run(std::string before, std::string execution) {
  const Writer::Work work = [before = std::move(before), execution = std::move(execution)](Database& database) {
    auto update = database.prepare("UPDATE workflow_runs SET execution=?, resumes=resumes+1 WHERE execution=?");
    return update ? update->bind(execution).bind(before).run() : tl::unexpected<Error>(std::move(update).error());
  };
  auto done = co_await journal_.run(work);
  co_return done;
}

void WorkflowRows::end_run(std::string execution) {
  auto work = [execution = std::move(execution)](Database& database) -> Result<> {
    TRY(Statement remove, database.prepare("DELETE FROM workflow_runs WHERE execution=?"));
    return remove.bind(execution).run();
  };
  journal_.queue(std::move(work), Writer::When::soon);
}

Task<Result<uint64_t>> WorkflowRows::expire(int64_t retention_ms, std::vector<WorkflowId> workflow_ids) {
  return answer_of<uint64_t>(
      journal_, Side::write,
      [retention_ms, workflow_ids = std::set<WorkflowId>(workflow_ids.begin(), workflow_ids.end())](
          Database& database) { return expire_workflows(database, retention_ms, workflow_ids); });
}

}  // namespace journal
