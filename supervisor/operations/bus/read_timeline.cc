// ReadTimeline over D-Bus: the counts of the last hour and day (executions/timeline.h). At most 3,600 rows, which cost
// the loop about a millisecond. Like the properties of the Manager, it is open to every caller: the counts are sums
// over all tenants and name none.
#include "supervisor/operations/bus/bus_objects.h"

namespace bus {
namespace {

constexpr uint64_t kUsecPerSecond = 1'000'000;

int append_rows(sd_bus_message* to, const std::vector<std::vector<uint64_t>>& rows) {
  int r = sd_bus_message_open_container(to, 'a', "at");
  for (const auto& row : rows)
    if (r >= 0) r = sd_bus_message_append_array(to, 't', row.data(), row.size() * sizeof(uint64_t));
  return r < 0 ? r : sd_bus_message_close_container(to);
}

executions::Counts answer_counts(const executions::TimelineRange& range) {
  executions::Counts counts = {{"of", range.answers}};
  if (range.p50 != executions::kUnknown) counts["p50"] = range.p50;
  if (range.p90 != executions::kUnknown) counts["p90"] = range.p90;
  if (range.p99 != executions::kUnknown) counts["p99"] = range.p99;
  return counts;
}

}  // namespace

Task<Result<MessagePtr>> BusObjects::read_timeline(MessagePtr call) {
  uint64_t from_usec = 0, until_usec = 0;
  executions::Timeline::Query request;
  if (int r = sd_bus_message_read(call.get(), "ttu", &from_usec, &until_usec, &request.step); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  request.from = static_cast<int64_t>(from_usec / kUsecPerSecond + (from_usec % kUsecPerSecond > 0 ? 1 : 0));
  if (until_usec > 0) request.until = static_cast<int64_t>(until_usec / kUsecPerSecond);
  CO_TRY(executions::TimelineRange range, services_.timeline.read(request));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append(reply.get(), range.columns);
  if (r >= 0) r = append_rows(reply.get(), range.rows);
  if (r >= 0) r = append(reply.get(), answer_counts(range));
  if (r < 0) co_return fail_errno(-r, "answer with the timeline");
  co_return reply;
}

}  // namespace bus
