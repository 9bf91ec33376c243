#include "supervisor/start.h"

#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/configuration/last_good.h"
#include "supervisor/daemon/configuration/trial.h"

namespace {

using configuration::ConfigurationInForce;
using configuration::Invocation;
using configuration::LoadedConfiguration;

Result<> check_environment(const Options& options, const configuration::HeldSockets& sockets) {
  if (options.socket.empty() && !sockets.mcp_passed)
    return fail(Code::invalid, "no path for the socket: XDG_RUNTIME_DIR is not set", "give --socket PATH");
  if (options.state.empty())
    return fail(Code::invalid, "no state folder: neither XDG_STATE_HOME nor HOME is set", "give --state DIR");
  if (options.policies.empty())
    return fail(Code::invalid, "no policies: neither /usr/lib/warder/policies nor /etc/warder/policies is a folder",
                "give --policies DIR");
  return {};
}

void log_notes(const configuration::Notes& notes) {
  for (const auto& problem : notes.problems) log_error("configuration: {}", problem);
  for (const auto& shortfall : notes.shortfalls) log_error("configuration: {}", shortfall.text);
  for (const auto& warning : notes.warnings) log_warning("configuration: {}", warning);
}

Result<ChosenConfiguration> chosen(LoadedConfiguration loaded, ConfigurationInForce in_force) {
  TRY(const DaemonIdentity identity,
      choose_identity(loaded.options.user, loaded.options.ids.value_or(jail::IdRange{})));
  return ChosenConfiguration{std::move(loaded.options), identity, *std::move(loaded.policies), std::move(in_force)};
}

}  // namespace

Result<ChosenConfiguration> choose_configuration(const Invocation& invocation,
                                                 const configuration::HeldSockets& sockets) {
  const configuration::StartView view{.is_start = true, .listening = sockets, .held_unknown = false, .sandbox = {}};
  LoadedConfiguration now = configuration::load(invocation);
  set_log_level(now.options.log_level);
  CHECKED(check_environment(now.options, sockets));
  note_absent_annexes(now);
  configuration::try_start(now, invocation, view);
  log_notes(now.notes);
  ConfigurationInForce in_force{.source = ConfigurationInForce::Source::files,
                                .invocation = invocation,
                                .document = now.document,
                                .notes = now.notes};
  if (now.good()) return chosen(std::move(now), std::move(in_force));

  auto saved = configuration::load_last_good(now.options.state, invocation);
  if (saved) {
    note_absent_annexes(*saved);
    configuration::try_start(*saved, invocation, view);
    if (saved->good()) {
      set_log_level(saved->options.log_level);
      log_error(
          "the configuration has mistakes, so the last good copy in {}/{} is in force; correct the mistakes, then "
          "reload",
          now.options.state, configuration::kLastGoodFolder);
      in_force.source = ConfigurationInForce::Source::last_good;
      in_force.document = saved->document;
      in_force.notes.shortfalls = saved->notes.shortfalls;
      return chosen(*std::move(saved), std::move(in_force));
    }
  }
  const std::string why = saved ? configuration::summary_of(saved->notes.problems) : saved.error().what;
  log_error(
      "the configuration has mistakes, and there is no usable last good copy ({}): executions are denied until a "
      "reload finds no mistake",
      why);
  in_force.source = ConfigurationInForce::Source::none;
  // The keys without a mistake hold. Upstream servers do not run: no rule is known that allows a call.
  now.options.servers.clear();
  now.policies = policies::Store::refusing(now.options.policies);
  return chosen(std::move(now), std::move(in_force));
}
