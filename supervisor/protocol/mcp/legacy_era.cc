// The part of Conversation for settings that a legacy client makes for all its requests: version, capabilities, log
// level, subscriptions.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

Answer Conversation::initialize(const Json& params) {
  if (is_large(params)) {
    const auto text = fmt::format("Invalid params: initialize has more than {} KiB", kSmallText >> 10);
    return mcp::refuse(ErrorCode::invalid_params, text);
  }
  const auto requested = params.find("protocolVersion");
  if (requested == params.end() || !requested->is_string()) {
    return tl::unexpected(RpcError{ErrorCode::invalid_params, "Invalid params: protocolVersion must be a string", {}});
  }
  settings_.negotiated = negotiate(requested->get_ref<const std::string&>());
  settings_.log_level = Severity::info;  // until logging/setLevel says otherwise
  start_legacy(params.value("capabilities", Json()), params.value("clientInfo", Json()));
  sink_.settings_changed();
  return server_.initialize_members(*settings_.negotiated);
}

void Conversation::start_legacy(Json capabilities, Json info) {
  auto client = std::make_shared<ClientInfo>();
  if (capabilities.is_object()) client->capabilities = std::move(capabilities);
  client->info = std::move(info);
  settings_.client = std::move(client);
  settings_.interest.emplace(server_.subscriptions(), client_.user, "", [this](std::string line) {
    sink_.notify(nullptr, std::move(line), Sink::Delivery::if_room);
  });
  settings_.interest->wishes.lists = server_.reported();
  settings_.interest->task_changed = [this](const tasks::StoredTask& task) {
    std::string members;
    append_task(members, task, *settings_.negotiated, server_.task_calls()->rules().poll_ms);
    settings_.interest->send("notifications/tasks/status", std::move(members));
    if (tasks::is_ended(task.state)) settings_.interest->wishes.tasks.erase(task.id);
  };
}

Answer Conversation::subscribe(Method method, const Json& params) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string())
    return mcp::refuse(ErrorCode::invalid_params, "Invalid params: uri must be a string");
  if (method == Method::unsubscribe) {
    settings_.interest->wishes.uris.erase(uri->get<std::string>());
  } else if (auto added = add_uri(settings_.interest->wishes, *uri); !added) {
    return tl::unexpected(std::move(added).error());
  }
  settings_.interest->watch(params.value("_meta", Json()));
  sink_.settings_changed();
  return std::string();
}

Answer Conversation::set_level(const Json& params) {
  const auto level = params.find("level");
  std::optional<Severity> severity;
  if (level != params.end() && level->is_string()) severity = severity_named(level->get_ref<const std::string&>());
  if (!severity) {
    return tl::unexpected(RpcError{ErrorCode::invalid_params,
                                   "Invalid params: level must be one of debug, info, notice, warning, "
                                   "error, critical, alert, emergency",
                                   {}});
  }
  settings_.log_level = severity;
  sink_.settings_changed();
  return std::string();
}

Json Conversation::settings() const {
  if (!settings_.negotiated) return {};
  Json uris = Json::array();
  for (const std::string& uri : settings_.interest->wishes.uris) uris.push_back(uri);
  Json entry = {{"version", version_name(*settings_.negotiated)},
                {"capabilities", settings_.client->capabilities},
                {"info", settings_.client->info},
                {"uris", std::move(uris)}};
  if (settings_.log_level) entry["log_level"] = severity_name(*settings_.log_level);
  return entry;
}

void Conversation::restore(const Json& settings) {
  if (!settings.is_object()) return;
  auto text_of = [&settings](const char* key) {
    const auto it = settings.find(key);
    return it != settings.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  settings_.negotiated = version_named(text_of("version"));
  if (!settings_.negotiated) return;
  settings_.log_level = severity_named(text_of("log_level"));
  start_legacy(settings.value("capabilities", Json()), settings.value("info", Json()));
  for (const Json& uri : settings.value("uris", Json::array())) (void)!add_uri(settings_.interest->wishes, uri);
  settings_.interest->watch();
  sink_.settings_changed();
}

}  // namespace mcp
