// Reload of configuration, policies and catalog, for SIGHUP and D-Bus. Either all of them is replaced or nothing.
// Policies under which the self-test of jails fails are not used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/log.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/daemon/daemon.h"
#include "supervisor/message_ids.h"

namespace {

using configuration::ConfigurationInForce;

// Keys that only the start uses, before privileges are dropped.
constexpr const char* kKeysOfStart[] = {"socket",  "egress_socket", "metrics", "http",     "cluster", "traces", "state",
                                        "catalog", "bus",           "user",    "id_range", "journal", "tasks"};

std::string with_hint(const Error& error) { return error.what + (error.hint.empty() ? "" : "; ") + error.hint; }

std::vector<std::string> changed_keys_of_start(const configuration::ConfigurationDocument& before,
                                               const configuration::ConfigurationDocument& now) {
  std::vector<std::string> changed;
  for (const char* key : kKeysOfStart)
    if (before.merged().value(key, Json()) != now.merged().value(key, Json()))
      changed.push_back(fmt::format("{}: {}: takes effect at the next restart", now.file_of(key), key));
  return changed;
}

// Whether two documents set the key of a shortfall, "http" of "http.listen[0]", to other values.
bool is_changed(const std::string& key, const configuration::ConfigurationDocument& before,
                const configuration::ConfigurationDocument& now) {
  const std::string name = key.substr(0, key.find_first_of(".["));
  return before.merged().value(name, Json()) != now.merged().value(name, Json());
}

// The reasons to refuse the files. A listener missing since the start is no reason to refuse other changes.
std::vector<std::string> objections_to(const configuration::LoadedConfiguration& fresh,
                                       const configuration::ConfigurationDocument& in_force) {
  std::vector<std::string> lines = fresh.notes.problems;
  for (const auto& shortfall : fresh.notes.shortfalls)
    if (is_changed(shortfall.key, in_force, fresh.document)) lines.push_back(shortfall.text);
  return lines;
}

}  // namespace

Task<> Daemon::reload_on_signal() { (void)co_await reload(); }  // reload_once() has logged the error

// One reload runs at a time. It runs to its end even if its caller is cancelled. A reload that is asked for meanwhile
// runs afterwards.
Task<Result<>> Daemon::reload() {
  auto request = std::make_shared<Reload>();
  reload_requests_.push_back(request);
  if (!std::exchange(reloading_, true)) tasks_.spawn(reload_until_no_request());
  co_await request->done;
  co_return request->result;
}

Task<> Daemon::reload_until_no_request() {
  co_await serving_;
  while (!reload_requests_.empty()) {
    auto answered = std::exchange(reload_requests_, {});
    const Result<> result = co_await reload_once();
    for (const auto& item : answered) {
      item->result = result;
      item->done.fire();
    }
  }
  reloading_ = false;
}

Task<Result<>> Daemon::reload_once() {
  service_.reloading();
  co_await parts_->reload_catalog();
  Result<Adopted> adopted;
  std::string request;
  auto read = co_await parts_->read_configuration();
  if (read) {
    request = (*read)->request;
    adopted = co_await adopt_configuration((*read)->loaded);
  } else {
    adopted = tl::unexpected<Error>(std::move(read).error());
  }
  reload_failed_ = !adopted;
  configuration::ReloadAnswer answer{adopted.has_value(), {}, parts_->files_in_force()};
  if (adopted) {
    log_notice("configuration and policies reloaded: {}", fmt::join(prepared_.policies.names(), ", "));
    for (const auto& warning : prepared_.configuration.notes.warnings) log_warning("configuration: {}", warning);
    for (const auto& line : adopted->at_restart) log_warning("configuration: {}", line);
    answer.lines = prepared_.configuration.notes.warnings;
    answer.lines.insert(answer.lines.end(), adopted->at_restart.begin(), adopted->at_restart.end());
  } else {
    answer.lines = lines_in(with_hint(adopted.error()), EmptyLines::left_out);
    log_problem(kReloadFailedId, "the reload failed, the former configuration stays in force", adopted.error());
  }
  co_await parts_->publish_sockets();
  service_.ready(status());
  parts_->show_reload(adopted ? std::string() : adopted.error().what);
  // After READY=1, so that the service manager knows the end of the reload before the asker ends (ExecReload=).
  if (!request.empty()) co_await parts_->answer_reload(std::move(request), std::move(answer));
  if (!adopted) co_return tl::unexpected<Error>(std::move(adopted).error());
  co_return Result<>{};
}

Task<Result<Daemon::Adopted>> Daemon::adopt_configuration(configuration::LoadedConfiguration& fresh) {
  const auto objections = objections_to(fresh, prepared_.configuration.document);
  if (!objections.empty()) co_return fail(Code::invalid, fmt::format("{}", fmt::join(objections, "\n")));
  CO_CHECKED(co_await test_policies(*fresh.policies));
  ConfigurationInForce& in_force = prepared_.configuration;
  Adopted adopted{changed_keys_of_start(in_force.document, fresh.document)};
  prepared_.policies = *std::move(fresh.policies);
  prepared_.options.policies = std::move(fresh.options.policies);
  prepared_.options.tokens = std::move(fresh.options.tokens);
  prepared_.options.jwt = std::move(fresh.options.jwt);
  if (!prepared_.credential_tokens.empty())
    (void)configuration::add_token_rules(prepared_.policies, prepared_.tokens());  // the start logged their mistakes
  // A level that an administrator has set while the daemon runs stays, unless the configuration changes its own.
  if (std::exchange(prepared_.options.log_level, fresh.options.log_level) != fresh.options.log_level)
    set_log_level(fresh.options.log_level);
  in_force.source = ConfigurationInForce::Source::files;
  const auto before = std::exchange(in_force.notes, std::move(fresh.notes)).shortfalls;
  in_force.notes.shortfalls = open_missing(before, std::move(in_force.notes.shortfalls), fresh.document);
  for (const auto& shortfall : in_force.notes.shortfalls) adopted.at_restart.push_back(shortfall.text);
  parts_->adopt_policies();
  for (auto& line : parts_->adopt_servers(std::move(fresh.options.servers), in_force.notes.unreadable_imports))
    adopted.at_restart.push_back(std::move(line));
  co_return adopted;
}

// Opens the listeners that are missing since the start, and returns the rest. Sockets that only a start can open stay
// missing, unless the files have another value now. `before`: missing before the reload; `tried`: the trial's list.
std::vector<configuration::Shortfall> Daemon::open_missing(const std::vector<configuration::Shortfall>& before,
                                                           std::vector<configuration::Shortfall> tried,
                                                           const configuration::ConfigurationDocument& fresh) {
  const configuration::ConfigurationDocument& start = prepared_.configuration.document;
  auto missing = std::move(tried);
  if (!is_changed("http", start, fresh)) missing = parts_->open_missing_http(std::move(missing));
  if (!is_changed("metrics", start, fresh)) missing = parts_->open_missing_metrics(std::move(missing));
  for (const auto& shortfall : before) {
    const bool is_tried = shortfall.key == "metrics" || shortfall.key.starts_with("http.");
    if (!is_tried && !is_changed(shortfall.key, start, fresh) && !configuration::has_key(missing, shortfall.key))
      missing.push_back(shortfall);
  }
  return missing;
}

// Policies under which the self-test of jails fails are not used. If the self-test fails under the old policies, too,
// the host has changed. Then executions are refused until a reload passes the self-test; other requests are served.
Task<Result<>> Daemon::test_policies(const policies::Store& fresh) {
  jail::Host& host = jails_->host();
  const auto policy = fresh.standard();
  Result<> tested = co_await jails_->test(*policy);
  if (tested) {
    host.unfit.reset();
    co_return tested;
  }
  if (prepared_.configuration.source == ConfigurationInForce::Source::none)  // no old policies exist
    co_return tl::unexpected<Error>(std::move(tested).error().within("the self-test of jails fails"));
  const auto old_policy = prepared_.policies.standard();
  const Result<> before = co_await jails_->test(*old_policy);
  if (before) {
    host.unfit.reset();
    co_return tl::unexpected<Error>(
        std::move(tested).error().within("the self-test of jails fails under the new policies"));
  }
  const Error& why = before.error();
  deny_executions(why);
  parts_->end_executions("the self-test of jails fails on this machine");
  co_return tl::unexpected<Error>(
      Error(why).within("the self-test of jails fails on this machine, also under the old policies"));
}

void Daemon::deny_executions(const Error& why) {
  jails_->host().unfit =
      Error{Code::denied,
            0,
            "executions are denied, because the self-test of jails fails on this machine: " + why.what,
            "ask the administrator to correct the cause, and then to run `systemctl reload warder`",
            {}};
  log_problem(kSelfTestFailedId, "executions are denied until a reload passes the self-test of jails", why);
}
