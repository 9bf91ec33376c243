// Looking back over D-Bus: ListHistory and GetRecord, from the journal. A caller gets the executions that it would also
// see while they run (caller.h): those of its own tenant, or with org.warder.Warder1.see-all those of all tenants. A
// caller without that right may get them with org.warder.Warder1.manage-executions, which can ask for a password.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "policies/names.h"
#include "supervisor/base/json/json.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/json_values.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

constexpr uint64_t kMaxUsec = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxFilterText = 256;

struct HistoryRequest {
  journal::HistoryFilter filter;
  std::optional<std::string> tenant;  // nullopt: all that the caller may see
};

tl::unexpected<Error> bad_filter(const std::string& subject) {
  return fail(Code::invalid, "filter: " + subject, "see org.warder.Warder1.Manager.ListHistory");
}

// Reads one value of the filter. The message stands at the variant.
Result<> read_filter_value(sd_bus_message* call, const std::string& key, HistoryRequest& history) {
  journal::HistoryFilter& filter = history.filter;
  std::string* const texts[] = {&filter.outcome, &filter.language, &filter.after};
  constexpr std::string_view kTextKeys[] = {"Outcome", "Language", "After"};
  const auto text_key = std::find(std::begin(kTextKeys), std::end(kTextKeys), key);
  if (text_key != std::end(kTextKeys) || key == "Tenant") {
    const char* text = nullptr;
    if (sd_bus_message_read(call, "v", "s", &text) < 0) return bad_filter(key + " is not a text (s)");
    const std::string value(text);
    if (value.size() > kMaxFilterText) return bad_filter(key + " is too long");
    if (key != "Tenant") {
      *texts[text_key - std::begin(kTextKeys)] = value;
    } else if (policies::valid_name(value)) {
      history.tenant = value;
    } else {
      return bad_filter("Tenant is not the name of a tenant");
    }
    return {};
  }
  if (key == "All") {
    int all = 0;
    if (sd_bus_message_read(call, "v", "b", &all) < 0) return bad_filter("All is not true or false (b)");
    if (all != 0 && !history.tenant) history.tenant.emplace();
    return {};
  }
  if (key == "UID") {
    uint64_t uid = 0;
    if (sd_bus_message_read(call, "v", "t", &uid) < 0 || uid > std::numeric_limits<uint32_t>::max())
      return bad_filter("UID is not the number (t) of a user");
    filter.uid = static_cast<uint32_t>(uid);
    return {};
  }
  if (key == "Principal") {
    const char* principal = nullptr;
    if (sd_bus_message_read(call, "v", "s", &principal) < 0) return bad_filter("Principal is not a text (s)");
    filter.principal = principal;
    return {};
  }
  if (key == "SinceUSec" || key == "UntilUSec") {
    uint64_t usec = 0;
    if (sd_bus_message_read(call, "v", "t", &usec) < 0 || usec > kMaxUsec)
      return bad_filter(key + " is not a number (t) of microseconds since 1970");
    (key == "SinceUSec" ? filter.since_ms : filter.until_ms) = static_cast<int64_t>(usec / 1000);
    return {};
  }
  return bad_filter("a key that is not Tenant, All, Outcome, Language, UID, Principal, SinceUSec, UntilUSec or After");
}

Result<HistoryRequest> read_history_filter(sd_bus_message* call) {
  HistoryRequest history;
  int r = sd_bus_message_enter_container(call, 'a', "{sv}");
  while (r >= 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
    const char* name = nullptr;
    r = sd_bus_message_read(call, "s", &name);
    if (r < 0) break;
    CHECKED(read_filter_value(call, name, history));
    r = sd_bus_message_exit_container(call);
  }
  if (r >= 0) r = sd_bus_message_exit_container(call);
  if (r < 0) return bad_filter("it cannot be read");
  return history;
}

// What is stored of the output of an execution, if its tenant's folders are open.
void add_output(const tenants::Registry& registry, const std::string& tenant_name, const std::string& id,
                Json& members) {
  const auto tenant = registry.find_text(tenant_name);
  if (!tenant) return;
  bool stored = false;
  for (auto stream : {tenants::Stream::out, tenants::Stream::err}) {
    auto range = tenant->executions().read(id, stream, 0, 0);
    stored = stored || range.has_value();
    if (range) members[stream == tenants::Stream::out ? "StdoutBytes" : "StderrBytes"] = range->size;
  }
  members["OutputStored"] = stored;
}

}  // namespace

Task<Result<std::string>> BusObjects::readable_records(MessagePtr call, std::optional<std::string> request) {
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  if (viewer.sees_all) co_return request.value_or(std::string());
  if (!viewer.tenant.empty() && (!request || *request == viewer.tenant)) co_return viewer.tenant;
  auto admin = co_await authority_.allow(std::move(call), Right::manage_executions, std::string());
  if (!admin) co_return tl::unexpected<Error>(std::move(admin).error());
  co_return request.value_or(std::string());
}

Task<Result<MessagePtr>> BusObjects::list_history(MessagePtr call) {
  CO_TRY(HistoryRequest history, read_history_filter(call.get()));
  uint32_t limit = 0;
  if (int r = sd_bus_message_read(call.get(), "u", &limit); r < 0)
    co_return fail_errno(-r, "read the limit", Code::invalid);
  MessagePtr asking = share(call.get());
  CO_TRY(history.filter.account, co_await readable_records(std::move(asking), history.tenant));
  CO_TRY(journal::HistoryPage page, co_await services_.journal.history(history.filter, limit));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "a{sv}");
  for (const journal::HistoryRow& row : page.rows)
    if (r >= 0) r = append_object(reply.get(), journal::to_json(row));
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r >= 0) r = append(reply.get(), page.next);
  if (r < 0) co_return fail_errno(-r, "list the history");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::get_record(MessagePtr call) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &text); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  const std::string id(text);
  const std::optional<std::string> own;
  MessagePtr asking = share(call.get());
  CO_TRY(std::string account, co_await readable_records(std::move(asking), own));
  auto story = co_await services_.journal.story(account, id);
  if (!story) co_return tl::unexpected<Error>(std::move(story).error());
  if (!*story && !account.empty()) {  // an operator may have a tenant, and look at another one's execution
    asking = share(call.get());
    const std::string any_tenant;
    auto admin = co_await authority_.allow(std::move(asking), Right::manage_executions, any_tenant);
    if (admin) story = co_await services_.journal.story(any_tenant, id);
    if (!story) co_return tl::unexpected<Error>(std::move(story).error());
  }
  if (!*story)
    co_return fail(Code::not_found,
                   fmt::format("no stored execution that you may see has an id that begins with '{}'",
                               valid_utf8(id).substr(0, 64)),
                   "warder history lists them");
  const journal::ExecutionStory& execution_story = **story;
  Json members = journal::to_json(execution_story);
  add_output(services_.registry, execution_story.row.numbers.started.tenant, execution_story.row.numbers.started.id,
             members);
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append_object(reply.get(), members); r < 0) co_return fail_errno(-r, "answer with the record");
  co_return reply;
}

}  // namespace bus
