#include "supervisor/executions/execution_recording.h"

#include <cmath>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "jail/language.h"
#include "jail/spec.h"
#include "policies/policy.h"
#include "supervisor/executions/execution_log.h"
#include "supervisor/records/journal/tokens.h"
#include "supervisor/tenants/tenant.h"

namespace executions {
namespace {

journal::ExecutionDetails details_of(const jail::Report& report, const tenants::Changes* changes) {
  journal::ExecutionDetails details{
      std::string(jail::start_name(report.start)), report.message, report.receipt_json, {}};
  if (changes == nullptr) return details;
  details.files = journal::file_list({{"created", &changes->created.paths, changes->created.omitted},
                                      {"modified", &changes->modified.paths, changes->modified.omitted},
                                      {"deleted", &changes->deleted.paths, changes->deleted.omitted}});
  return details;
}

}  // namespace

ExecutionRecording::ExecutionRecording(Books books, const TraceContext& caller, ExecutionRecordPtr record)
    : books_(books), span_(books.spans, caller, record), entry_(books.registry, [&] {
        record->trace = span_.context().parent.text;
        return record;
      }()) {}

Task<Result<>> ExecutionRecording::begin(tenants::Tenant& tenant, const jail::Request& request) {
  const std::string language(jail::language_name(request.spec.language));
  entry_.start(language, request.spec.limits);
  log_started(books_.loop, entry_.shared());
  CO_TRY(tenants::Recording output, tenant.executions().begin(id(), request.spec.limits.saved_output_bytes));
  output_.emplace(std::move(output));
  tenant_ = tenant.name();
  books_.code.begin(tenant_, id(), language, request.code, entry_->policy->quota.executions_kept, journal::now_ms());
  journal::StartedRow started_row{
      id(), tenant.name(), language, entry_->policy->name, request.code.size(), journal::now_ms(), {}, {}};
  if (entry_->pid >= 0) {
    started_row.uid = entry_->uid;
  } else {
    started_row.principal = entry_->principal;
  }
  row_.emplace(books_.journal.begin(std::move(started_row)));
  if (books_.journal.failing()) {
    auto start = co_await books_.journal.started(*row_);
    if (!start)
      co_return tl::unexpected<Error>(
          std::move(start).error().within("the program did not run, because it cannot be recorded"));
  }
  has_started_ = true;
  co_return Result<>{};
}

void ExecutionRecording::connect(jail::Request& request) {
  const auto keep = [this](tenants::Stream stream) {
    return [this, stream](std::string_view part) { return output_->append(stream, part).has_value(); };
  };
  request.keep_out = keep(tenants::Stream::out);
  request.keep_err = keep(tenants::Stream::err);
  request.keep_value = [this](std::string_view part) { return keep_value(part); };
  request.answered = [this](std::string_view text) {
    fetched_bytes_ += text.size();
    fetched_tokens_ += journal::estimated_tokens(text);
  };
}

Result<> ExecutionRecording::keep_value(std::string_view part) {
  auto saved = output_->append(tenants::Stream::value, part);
  return saved;
}

journal::Ended ExecutionRecording::ended(jail::Outcome outcome, journal::Ended ended) const {
  ended.outcome = jail::outcome_name(outcome);
  ended.took_us = std::llround(ms_since(requested_at_) * 1000);
  return ended;
}

Task<Result<>> ExecutionRecording::end(const jail::Report& report, journal::Ledger ledger,
                                       const tenants::Changes* changes) {
  journal::Ended ended = this->ended(report.outcome, ended_with(report.usage));
  ended.ledger = ledger;
  ended.ledger.printed_bytes = report.out.bytes + report.err.bytes;
  ended.ledger.printed_tokens = journal::estimated_tokens(report.out.bytes, report.out.text) +
                                journal::estimated_tokens(report.err.bytes, report.err.text);
  ended.ledger.fetched_bytes = fetched_bytes_;
  ended.ledger.fetched_tokens = fetched_tokens_;
  ended.ledger.read_bytes = report.read_bytes;
  auto written = co_await books_.journal.end(*std::move(row_), ended);
  if (!written)
    co_return fail(Code::unavailable, "the program ran, but it cannot be recorded: " + written.error().what,
                   written.error().hint);
  books_.journal.add_details(id(), details_of(report, changes));
  books_.code.end(tenant_, id(), report.outcome == jail::Outcome::ok, ended.wall_us);
  entry_.end(report, ended);
  log_ended(books_.loop, entry_.shared());
  co_return Result<>{};
}

Task<Result<>> ExecutionRecording::end_without_jail() {
  journal::Ended failed = ended(jail::Outcome::internal, {});
  auto written = co_await books_.journal.end(*std::move(row_), std::move(failed));
  co_return written;
}

void ExecutionRecording::refuse(const Error& error) {
  entry_.refuse(error);
  log_refused(books_.loop, entry_.shared(), error);
}

}  // namespace executions
