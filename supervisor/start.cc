#include "supervisor/start.h"

#include <fmt/format.h>

#include <cstdlib>

#include "supervisor/configuration/last_good.h"

namespace {

using configuration::ConfigurationInForce;
using configuration::Invocation;
using configuration::LoadedConfiguration;

void add_problem(LoadedConfiguration& loaded, const char* key, const Error& error) {
  loaded.notes.problems.push_back(loaded.document.file_of(key) + ": " + key + ": " + error.what +
                                  (error.hint.empty() ? "" : " (" + error.hint + ")"));
}

// The user of the daemon must exist in a way that fits the range of ids. Otherwise a problem is added.
std::optional<DaemonIdentity> identity_of(LoadedConfiguration& loaded) {
  auto identity = choose_identity(loaded.options.user, loaded.options.ids.value_or(jail::IdRange{}));
  if (identity) return *identity;
  add_problem(loaded, "user", identity.error());
  return {};
}

Result<> check_environment(const Options& options) {
  const char* passed = std::getenv("LISTEN_FDS");
  if (options.socket.empty() && (!passed || !*passed))
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
  for (const auto& warning : notes.warnings) log_warning("configuration: {}", warning);
}

ChosenConfiguration chosen(LoadedConfiguration loaded, const DaemonIdentity& identity, ConfigurationInForce in_force) {
  return {std::move(loaded.options), identity, *std::move(loaded.policies), std::move(in_force)};
}

}  // namespace

LoadedConfiguration check_configuration(const Invocation& invocation) {
  LoadedConfiguration loaded = configuration::load(invocation);
  (void)identity_of(loaded);
  if (auto& traces = loaded.options.traces) {
    const char* credentials = std::getenv("CREDENTIALS_DIRECTORY");
    auto headers = traces::load_headers(*traces, credentials ? credentials : "");
    if (!headers)
      loaded.notes.warnings.push_back(loaded.document.file_of("traces") + ": traces: " + headers.error().what +
                                      "; no spans are exported");
  }
  return loaded;
}

Result<ChosenConfiguration> choose_configuration(const Invocation& invocation) {
  LoadedConfiguration now = configuration::load(invocation);
  set_log_level(now.options.log_level);
  CHECKED(check_environment(now.options));
  auto identity = identity_of(now);
  log_notes(now.notes);
  ConfigurationInForce in_force{.source = ConfigurationInForce::Source::files,
                                .invocation = invocation,
                                .document = now.document,
                                .notes = now.notes};
  if (now.good()) return chosen(std::move(now), *identity, std::move(in_force));

  auto kept = configuration::load_last_good(now.options.state, invocation);
  if (kept) {
    const auto kept_identity = identity_of(*kept);
    if (kept->good()) {
      set_log_level(kept->options.log_level);
      log_error(
          "the configuration has mistakes, so the last good copy in {}/{} is in force; correct the mistakes, then "
          "reload",
          now.options.state, configuration::kLastGoodFolder);
      in_force.source = ConfigurationInForce::Source::last_good;
      in_force.document = kept->document;
      return chosen(*std::move(kept), *kept_identity, std::move(in_force));
    }
  }
  const std::string why = kept ? configuration::summary_of(kept->notes.problems) : kept.error().what;
  log_error(
      "the configuration has mistakes, and there is no usable last good copy ({}): executions are denied until a "
      "reload finds no mistake",
      why);
  in_force.source = ConfigurationInForce::Source::none;
  // The keys without a mistake hold. Upstream servers do not run: no rule is known that allows a call.
  now.options.servers.clear();
  if (!identity) {
    TRY(identity, choose_identity(Options{}.user, now.options.ids.value_or(jail::IdRange{})));
  }
  now.policies = policies::Store::refusing(now.options.policies);
  return chosen(std::move(now), *identity, std::move(in_force));
}
