// ExecutionRecording: all records of one call of execute_code: its entry in the ExecutionRegistry, its span,
// its lines in the log, the output of its program, and its rows in the journal.
// A recording without an end says `cancelled` in its destructor: the client went away.
// Used by: tools/execution. Errors: unavailable: the journal cannot keep the record; those of tenants::Executions.
#pragma once
#include <optional>

#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/execution_span.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/executions.h"

namespace jail {
enum class Outcome;
struct Report;
struct Request;
}  // namespace jail

namespace tenants {
struct Changes;
class Tenant;
}  // namespace tenants

namespace executions {

class ExecutionRecording {
 public:
  // All must outlive the recording.
  struct Books {
    Loop& loop;
    ExecutionRegistry& registry;
    journal::Journal& journal;
    RecentCode& code;
    spans::Queue* spans = nullptr;  // nullptr: no spans are recorded
  };
  // `record` names the tenant and the client; from now on it is in the registry. `caller`: the trace context of the
  // request.
  ExecutionRecording(Books books, const TraceContext& caller, ExecutionRecordPtr record);
  ExecutionRecording(const ExecutionRecording&) = delete;

  ExecutionRecord& record() { return *entry_; }
  const ExecutionRecord& record() const { return *entry_; }
  const std::string& id() const { return entry_->id; }
  // The program and its calls belong to this span.
  const TraceContext& trace() const { return span_.context(); }

  // Between these two calls the execution waits for a place. A wait that took a turn of the loop has its own span.
  void begin_wait() { span_.waits(books_.loop); }
  void end_wait() { span_.goes_on(); }

  // The program of `request` is about to start, under the limits that it has by now. Begins its output and its row.
  Task<Result<>> begin(tenants::Tenant& tenant, const jail::Request& request);
  // The journal has a row of the execution, so clients may ask for it by its id.
  bool was_started() const { return has_started_; }
  // Sets the callbacks of `request` that take the program's output and the answers to its calls. The recording must
  // outlive the program. Call it after begin().
  void connect(jail::Request& request);
  // Stores the next part of a value that is too large for the answer. Call it after begin(). Errors: exhausted.
  Result<> keep_value(std::string_view part);
  const tenants::Recording& output() const { return *output_; }  // after begin()

  // One of these ends the recording. Each returns when the answer may be sent.
  // The program ended; `ledger`: of the answer, and of what the program read. `changes`: the changed files, or nullptr.
  Task<Result<>> end(const jail::Report& report, journal::Ledger ledger, const tenants::Changes* changes);
  // There was no jail for the program.
  Task<Result<>> end_without_jail();
  // The call was refused before it began, or failed.
  void refuse(const Error& error);
  // The call ran no program: it only ended a session, or its branches ended.
  void end_without_program(std::string outcome = "ok") { entry_.pass(std::move(outcome)); }

 private:
  journal::Ended ended(jail::Outcome outcome, journal::Ended ended) const;

  const Books books_;
  const Monotonic::time_point requested_at_ = Monotonic::now();
  ExecutionSpan span_;  // before the entry: it takes from the record how the execution went
  ExecutionRegistry::Entry entry_;
  uint64_t fetched_bytes_ = 0, fetched_tokens_ = 0;  // of answers to the program's own calls
  bool has_started_ = false;
  std::string tenant_;  // since begin(): TenantId::text()
  std::optional<tenants::Recording> output_;
  std::optional<journal::Journal::Execution> row_;
};

}  // namespace executions
