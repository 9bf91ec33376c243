#include "supervisor/cluster/link/rule_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies/policy.h"
#include "supervisor/base/directory_stream.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr std::string_view kPolicyEnd = ".json";

Result<> make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) < 0) return errno == EEXIST ? Result<>() : fail_path(errno, "make", path);
  if (::chmod(path.c_str(), mode) < 0) return fail_path(errno, "change the mode of", path);  // whatever the umask is
  return {};
}

}  // namespace

Result<RuleFiles> RuleFiles::open(const std::string& anchor, const std::string& state) {
  const std::string top = state + "/cluster";
  CHECKED(make_folder(top, 0755));
  CHECKED(make_folder(top + "/rules", 0700));
  CHECKED(make_folder(top + "/policies", 0755));  // the next start reads it before it becomes the daemon's user
  TRY(RuleStore store, RuleStore::open(anchor, top + "/rules"));
  return RuleFiles(std::move(store), top + "/policies");
}

Result<RuleFiles::Taken> RuleFiles::take(const std::vector<std::string>& texts) {
  Taken taken;
  for (const std::string& text : texts) {
    const auto rule = read_signed_rule(text);
    const auto accepted = store_.accept(text);
    if (accepted && *accepted == RuleStore::Accepted::stored && rule && rule->kind == "catalog")
      taken.has_catalog_changed = true;
    // This machine's record may be newer than that of warder-node, which follows soon.
    if (!accepted && !(rule && rule->kind == "trust")) taken.refused.push_back(accepted.error().what);
  }
  TRY(before_, read_policies());
  wanted_ = wanted_policies(taken.refused);
  for (const auto& [name, content] : wanted_) {
    const auto before = before_.find(name);
    if (before == before_.end() || before->second != content) taken.policies.push_back(name);
  }
  for (const auto& [name, content] : before_)
    if (!wanted_.contains(name)) taken.policies.push_back(name);
  return taken;
}

Result<> RuleFiles::apply(const std::vector<std::string>& policies) const {
  for (const std::string& name : policies) CHECKED(write_policy(name, wanted_));
  return {};
}

Result<> RuleFiles::undo(const std::vector<std::string>& policies) const {
  for (const std::string& name : policies) CHECKED(write_policy(name, before_));
  return {};
}

Result<> RuleFiles::clear() const {
  TRY(const Contents now, read_policies());
  for (const auto& [name, content] : now) CHECKED(write_policy(name, {}));
  return {};
}

Result<RuleFiles::Contents> RuleFiles::read_policies() const {
  const DirectoryStream entries = stream_of(Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!entries) return fail_path(errno, "read", folder_);
  Contents contents;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string file = entry->d_name;
    if (file.starts_with('.') || !file.ends_with(kPolicyEnd)) continue;
    TRY(contents[file.substr(0, file.size() - kPolicyEnd.size())],
        read_trusted_file(folder_ + "/" + file, kMaxRuleContent));
  }
  return contents;
}

RuleFiles::Contents RuleFiles::wanted_policies(std::vector<std::string>& refused) const {
  Contents wanted;
  for (const auto& [key, stored] : store_.rules()) {
    if (key.kind != "policy" || stored.rule.content.empty()) continue;
    const auto policy = parse_json(stored.rule.content);
    if (key.name == "tenants")  // the file of this name has the rules of tenants, which are each machine's own
      refused.push_back("the policy 'tenants': this name is not for policies");
    else if (!policy || !policy->is_object())
      refused.push_back(fmt::format("the policy '{}' is no JSON object", key.name));
    else
      wanted.emplace(key.name, stored.rule.content);
  }
  return wanted;
}

Result<> RuleFiles::write_policy(const std::string& name, const Contents& from) const {
  const std::string path = fmt::format("{}/{}{}", folder_, name, kPolicyEnd);
  const auto found = from.find(name);
  if (found != from.end()) return write_whole_file(path, found->second, 0644, Existing::replace);
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return fail_path(errno, "remove", path);
  return {};
}

RuleDefinitions RuleFiles::definitions(std::vector<std::string>& refused) const {
  RuleDefinitions all;
  for (const auto& [key, stored] : store_.rules()) {
    if (key.kind != "catalog" || stored.rule.content.empty()) continue;
    auto document = parse_json(stored.rule.content);
    auto reading = document ? catalog::read_definitions(*std::move(document), {key.name, ""})
                            : tl::unexpected<Error>(std::move(document).error());
    if (reading)
      all.emplace_back("cluster rule " + key.name, *std::move(reading));
    else
      refused.push_back(fmt::format("the definitions '{}': {}", key.name, reading.error().what));
  }
  return all;
}

}  // namespace cluster
