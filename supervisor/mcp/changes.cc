#include "supervisor/mcp/changes.h"

#include <fmt/format.h>

#include "supervisor/base/json.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace mcp {

namespace {

struct Row {
  List list;
  const char* name;
  const char* filter;
};
constexpr Row kRows[] = {{List::tools, "tools", "toolsListChanged"},
                         {List::resources, "resources", "resourcesListChanged"},
                         {List::prompts, "prompts", "promptsListChanged"}};

}  // namespace

std::string changed_line(List list, std::string_view meta) {
  const Row& row = kRows[static_cast<size_t>(list)];
  return notification_line(fmt::format("notifications/{}/list_changed", row.name),
                           meta.empty() ? std::string() : fmt::format(R"("_meta":{})", meta));
}

Changes::Hearing Changes::hear(Hearer hearer) {
  auto hearing = std::make_shared<const Hearer>(std::move(hearer));
  std::erase_if(hearers_, [](const auto& weak) { return weak.expired(); });
  hearers_.push_back(hearing);
  return hearing;
}

void Changes::tell(List list, const Concerns& concerns) {
  for (const auto& weak : hearers_) {
    if (auto hearer = weak.lock(); hearer && concerns(hearer->user)) hearer->tell(list);
  }
}

Task<Answer> Changes::listen(RequestContext& context, json params, const std::string& identity) {
  auto asked = params.find("notifications");
  if (asked == params.end() || !asked->is_object())
    co_return refuse(ErrorCode::invalid_params, "Invalid params: notifications must be an object");
  std::set<List> wanted;
  ordered_json granted = ordered_json::object();
  for (const Row& row : kRows) {
    auto flag = asked->find(row.filter);
    if (flag == asked->end() || *flag != true || !announced(row.list)) continue;
    wanted.insert(row.list);
    granted[row.filter] = true;
  }
  // A request's id is the name of what it subscribed to, in each message.
  const std::string meta = fmt::format(R"({{"io.modelcontextprotocol/subscriptionId":{}}})", context.id.wire);
  context.send(notification_line("notifications/subscriptions/acknowledged",
                                 fmt::format(R"("_meta":{},"notifications":{})", meta, dump_json(granted))));
  Hearer hearer;
  hearer.user = context.user;
  hearer.tell = [&context, wanted, meta](List list) {
    if (wanted.contains(list)) context.send(changed_line(list, meta));
  };
  const Hearing hearing = hear(std::move(hearer));
  auto end = std::make_shared<Event>();
  std::erase_if(ends_, [](const auto& weak) { return weak.expired(); });
  ends_.push_back(end);
  if (ended_) end->fire();
  co_await *end;
  std::string members;
  finish_result(members, context.version, identity,
                ordered_json{{"io.modelcontextprotocol/subscriptionId", ordered_json::parse(context.id.wire)}});
  co_return members;
}

void Changes::end(Loop& loop) {
  ended_ = true;
  for (const auto& weak : ends_) {
    loop.defer([weak] {  // not now: whoever ends us may be one of them
      if (auto event = weak.lock()) event->fire();
    });
  }
}

}  // namespace mcp
