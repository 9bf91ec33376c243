#include "supervisor/protocol/mcp/subscriptions.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/answers.h"

namespace mcp {

namespace {

constexpr size_t kMaxUriBytes = 4096;
constexpr std::chrono::seconds kQuiet{1};  // between two messages about one list

constexpr std::pair<const char*, Changed> kLists[] = {{"toolsListChanged", Changed::tools},
                                                      {"promptsListChanged", Changed::prompts},
                                                      {"resourcesListChanged", Changed::resources}};

std::string_view list_method(Changed subject) {
  switch (subject) {
    case Changed::tools:
      return "notifications/tools/list_changed";
    case Changed::prompts:
      return "notifications/prompts/list_changed";
    case Changed::resources:
      return "notifications/resources/list_changed";
  }
  return {};
}

}  // namespace

Subscriptions::Interest::Interest(Subscriptions& all, std::shared_ptr<ConnectionUser> user, std::string id,
                                  std::function<void(std::string)> send)
    : all_(all), user_(std::move(user)), id_(std::move(id)), send_(std::move(send)) {
  position_ = all_.interests_.insert(all_.interests_.end(), this);
}

Subscriptions::Interest::~Interest() { all_.interests_.erase(position_); }

void Subscriptions::Interest::watch(const Json& meta) {
  if (!all_.watch_) return;
  std::erase_if(watches_, [this](const auto& watched) { return !wishes.uris.contains(watched.first); });
  for (const std::string& uri : wishes.uris) {
    if (!watches_.contains(uri)) watches_.emplace(uri, all_.watch_(user_, meta, uri));
  }
}

void Subscriptions::Interest::send(std::string_view method, std::string members) const {
  if (!id_.empty()) {
    append_key(members, "_meta");
    members += R"({"io.modelcontextprotocol/subscriptionId":)" + id_ + "}";
  }
  send_(notification_line(method, members));
}

void Subscriptions::Interest::list_changed(Changed subject) {
  Quiet& quiet = quiet_[subject];
  if (quiet.lasts) {
    quiet.changed = true;
    return;
  }
  send(list_method(subject), {});
  quiet.lasts = true;
  quiet.end = Deadline(all_.loop_, kQuiet, [this, subject] {
    Quiet& over = quiet_[subject];
    over.lasts = false;
    if (std::exchange(over.changed, false)) list_changed(subject);
  });
}

tl::expected<void, RpcError> add_uri(Subscriptions::Wishes& wishes, const Json& uri) {
  if (!uri.is_string() || uri.get_ref<const std::string&>().size() > kMaxUriBytes)
    return refuse(ErrorCode::invalid_params, "Invalid params: a resource's uri must be a string of at most 4096 bytes");
  if (wishes.uris.size() >= kMaxSubscribedUris && !wishes.uris.contains(uri.get_ref<const std::string&>())) {
    return refuse(ErrorCode::invalid_params,
                  fmt::format("Invalid params: more than {} resources in one subscription", kMaxSubscribedUris));
  }
  wishes.uris.insert(uri.get<std::string>());
  return {};
}

namespace {

tl::expected<void, RpcError> read_task_ids(const Json& filter, std::set<std::string>& ids) {
  const auto it = filter.find("taskIds");
  if (it == filter.end() || it->is_null()) return {};
  if (!it->is_array()) return refuse(ErrorCode::invalid_params, "Invalid params: taskIds must be an array");
  for (const Json& id : *it) {
    if (!id.is_string())
      return refuse(ErrorCode::invalid_params, "Invalid params: taskIds must be an array of strings");
    ids.insert(id.get<std::string>());
  }
  if (ids.size() <= kMaxSubscribedTasks) return {};
  return refuse(ErrorCode::invalid_params,
                fmt::format("Invalid params: more than {} tasks in one subscription", kMaxSubscribedTasks));
}

}  // namespace

tl::expected<Subscriptions::Wishes, RpcError> read_wishes(const Json& params, const std::set<Changed>& report) {
  const auto filter = params.find("notifications");
  if (filter == params.end() || !filter->is_object())
    return refuse(ErrorCode::invalid_params, "Invalid params: notifications must be an object");
  Subscriptions::Wishes wishes;
  for (const auto& [key, what] : kLists) {
    const auto it = filter->find(key);
    if (it == filter->end() || it->is_null()) continue;
    if (!it->is_boolean())
      return refuse(ErrorCode::invalid_params, fmt::format("Invalid params: {} must be true or false", key));
    if (it->get<bool>() && report.contains(what)) wishes.lists.insert(what);
  }
  if (auto read = read_task_ids(*filter, wishes.tasks); !read) return tl::unexpected(std::move(read).error());
  const auto uris = filter->find("resourceSubscriptions");
  if (uris == filter->end() || uris->is_null()) return wishes;
  if (!uris->is_array())
    return refuse(ErrorCode::invalid_params, "Invalid params: resourceSubscriptions must be an array");
  for (const Json& uri : *uris) {
    if (auto added = add_uri(wishes, uri); !added) return tl::unexpected(std::move(added).error());
  }
  if (!report.contains(Changed::resources)) wishes.uris.clear();
  return wishes;
}

std::string write_watches(const Subscriptions::Wishes& wishes) {
  Json agreed = Json::object();
  for (const auto& [key, what] : kLists) {
    if (wishes.lists.contains(what)) agreed[key] = true;
  }
  if (!wishes.uris.empty()) agreed["resourceSubscriptions"] = wishes.uris;
  if (!wishes.tasks.empty()) agreed["taskIds"] = wishes.tasks;
  std::string members;
  append_key(members, "notifications");
  members += dump_json(agreed);
  return members;
}

void Subscriptions::lists_changed(Changed subject, const UserFilter& concerned) const {
  for (Interest* interest : interests_) {
    if (interest->wishes.lists.contains(subject) && (!concerned || concerned(interest->user_)))
      interest->list_changed(subject);
  }
}

void Subscriptions::resource_updated(const std::string& uri, const UserFilter& concerned) const {
  for (const Interest* interest : interests_) {
    if (!interest->wishes.uris.contains(uri) || (concerned && !concerned(interest->user_))) continue;
    std::string members;
    append_key(members, "uri");
    append_json_string(members, uri);
    interest->send("notifications/resources/updated", std::move(members));
  }
}

void Subscriptions::task_changed(const tasks::StoredTask& task) const {
  for (const Interest* interest : interests_)
    if (interest->task_changed && interest->wishes.tasks.contains(task.id)) interest->task_changed(task);
}

}  // namespace mcp
