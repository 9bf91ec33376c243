#include "supervisor/programs/cli/tokens/token_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "policies/policy_parts.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/programs/cli/indented_json.h"

namespace admin {
namespace {

Result<> expect_tenant(const policies::Assignment& assigned, const credentials::StoredToken& token) {
  const auto& [name, tenant, policy] = token.rule;
  if (!tenant.empty() && tenant != assigned.tenant)
    return fail(Code::invalid,
                fmt::format("a rule of tenants.json gives the token '{}' the tenant '{}', not '{}'", name,
                            assigned.tenant, tenant),
                "leave out --tenant, or change that rule");
  if (!policy.empty() && policy != policies::name_of(*assigned.policy))
    return fail(Code::invalid,
                fmt::format("a rule of tenants.json gives the token '{}' the policy '{}', not '{}'", name,
                            policies::name_of(*assigned.policy), policy),
                "leave out --policy, or change that rule");
  return {};
}

}  // namespace

Result<TokenFiles> TokenFiles::read(const ParsedCommand& command) {
  TokenFiles all(ServerDropIns::read(command));
  if (all.files_.main_file().empty())
    return fail(Code::invalid, "this user has no folder for a configuration: HOME is not set", "give --config FILE");
  all.loaded_ = configuration::load(all.files_.invocation());
  if (!all.loaded_.good())
    return fail(Code::invalid, "the configuration has a mistake already: " + all.loaded_.notes.problems.front(),
                "correct it first; warder config check prints every mistake");
  return all;
}

bool TokenFiles::has(const std::string& name) const {
  return std::any_of(tokens().begin(), tokens().end(), [&](const auto& token) { return token.name == name; });
}

std::string TokenFiles::file_of(const std::string& name) const {
  return fmt::format("{}.d/50-token-{}.json", files_.main_file(), name);
}

Result<policies::Assignment> TokenFiles::assignment_of(const std::string& name) const {
  return loaded_.policies->tenant_of(policies::TokenBearer{name});
}

Result<policies::Assignment> TokenFiles::check_new(const std::string& name, const Json& entry) {
  auto read = credentials::read_token(name, entry, "tokens." + name);
  if (!read) {
    if (!credentials::is_token_name(name))
      return fail(Code::invalid,
                  fmt::format("'{}' is not the name of a token: 1 to 48 of a-z, 0-9, '-', '_' and '.', not beginning "
                              "with a dot",
                              printable(name, 64)));
    return tl::unexpected<Error>(std::move(read).error());
  }
  if (has(name))
    return fail(Code::invalid, fmt::format("a token is named '{}' already", name),
                fmt::format("choose another name, or remove it: warder token remove {}", name));
  auto all = tokens();
  all.push_back(*read);
  const auto notes = configuration::add_token_rules(*loaded_.policies, all);
  if (!notes.problems.empty())
    return fail(Code::invalid, fmt::format("--policy: there is no policy '{}'", printable(read->rule.policy, 64)),
                fmt::format("known: {}", fmt::join(loaded_.policies->names(), ", ")));
  auto assigned = assignment_of(name);
  if (!assigned)
    return fail(Code::invalid, assigned.error().what + ", so its clients would have no tenant",
                fmt::format("give --tenant NAME, or add a rule to tenants.json first: {{\"token\": \"{}\", \"tenant\": "
                            "\"...\", \"policy\": \"...\"}}",
                            name));
  CHECKED(expect_tenant(*assigned, *read));
  return assigned;
}

Result<> TokenFiles::write(const std::string& name, const Json& entry) const {
  const std::string folder = files_.main_file() + ".d";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const char* const hint = ::geteuid() == 0 ? "" : "call as root for the machine's daemon";
  if (error) {
    Error failed = fail_errno(error.value(), "make the folder " + folder, Code::denied).value();
    failed.hint = hint;
    return tl::unexpected<Error>(std::move(failed));
  }
  TRY(const auto group, daemon_group(files_.options()));
  auto written =
      replace_text_file(file_of(name), indented_json(Json{{"tokens", {{name, entry}}}}), group ? 0640 : 0600, group);
  if (!written && written.error().hint.empty()) written.error().hint = hint;
  return written;
}

Result<> TokenFiles::remove(const std::string& name) const {
  const std::string file = file_of(name);
  if (!credentials::is_token_name(name) || !has(name))
    return fail(Code::not_found, fmt::format("no token is named '{}'", printable(name, 64)),
                "warder token list shows them");
  if (::unlink(file.c_str()) == 0) return {};
  if (errno == ENOENT)
    return fail(Code::not_found,
                fmt::format("the token '{}' was not made by this command, but is in {}", name,
                            loaded_.document.file_of("tokens." + name)),
                "remove it from that file, then: systemctl reload warder");
  return fail_errno(errno, "remove " + file, Code::denied);
}

}  // namespace admin
