#include "supervisor/cluster/link/rule_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skills/bundle.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr std::string_view kContentEnd = ".json";
using ContentsByName = std::map<std::string, std::string>;  // of the files of a folder

Result<> make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) < 0) return errno == EEXIST ? Result<>() : fail_path(errno, "make", path);
  if (::chmod(path.c_str(), mode) < 0) return fail_path(errno, "change the mode of", path);  // whatever the umask is
  return {};
}

Result<ContentsByName> read_contents(const std::string& folder) {
  TRY(const auto files, read_names(FolderReader::open(folder)));
  ContentsByName contents;
  for (const std::string& file : files) {
    if (file.starts_with('.') || !file.ends_with(kContentEnd)) continue;
    TRY(contents[file.substr(0, file.size() - kContentEnd.size())],
        read_trusted_file(folder + "/" + file, kMaxRuleContent));
  }
  return contents;
}

// Removes the file if `from` does not have its name.
Result<> write_content(const std::string& folder, const std::string& name, const ContentsByName& from) {
  const std::string path = fmt::format("{}/{}{}", folder, name, kContentEnd);
  const auto it = from.find(name);
  if (it != from.end()) return write_whole_file(path, it->second, 0644, Existing::replace);
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return fail_path(errno, "remove", path);
  return {};
}

}  // namespace

Result<RuleFiles> RuleFiles::open(const std::string& anchor, const std::string& state) {
  const std::string top = state + "/cluster";
  CHECKED(make_folder(top, 0755));
  CHECKED(make_folder(top + "/rules", 0700));
  CHECKED(make_folder(top + "/policies", 0755));  // the next start reads it before it becomes the daemon's user
  CHECKED(make_folder(top + "/skills", 0700));
  TRY(RuleStore store, RuleStore::open(anchor, top + "/rules"));
  return RuleFiles(std::move(store), top);
}

Result<RuleFiles::RuleSet> RuleFiles::take(const std::vector<std::string>& texts) {
  RuleSet rule_set;
  for (const std::string& text : texts) {
    const auto rule = read_signed_rule(text);
    const auto accepted = store_.accept(text);
    const bool is_new = accepted && *accepted == RuleStore::Accepted::stored && rule;
    rule_set.has_catalog_changed |= is_new && rule->kind == "catalog";
    rule_set.have_skills_changed |= is_new && rule->kind == "skill";
    // This machine's record may be newer than that of warder-node, which follows soon.
    if (!accepted && !(rule && rule->kind == "trust")) rule_set.refused.push_back(accepted.error().what);
  }
  TRY(before_, read_contents(policies_));
  requested_ = wanted_policies(rule_set.refused);
  for (const auto& [name, content] : requested_) {
    const auto before = before_.find(name);
    if (before == before_.end() || before->second != content) rule_set.policies.push_back(name);
  }
  for (const auto& [name, content] : before_)
    if (!requested_.contains(name)) rule_set.policies.push_back(name);
  return rule_set;
}

Result<> RuleFiles::apply(const std::vector<std::string>& policies) const {
  for (const std::string& name : policies) CHECKED(write_content(policies_, name, requested_));
  return {};
}

Result<> RuleFiles::undo(const std::vector<std::string>& policies) const {
  for (const std::string& name : policies) CHECKED(write_content(policies_, name, before_));
  return {};
}

Result<> RuleFiles::clear() const {
  TRY(const Contents now, read_contents(policies_));
  for (const auto& [name, content] : now) CHECKED(write_content(policies_, name, {}));
  return {};
}

RuleFiles::Contents RuleFiles::wanted_policies(std::vector<std::string>& refused) const {
  Contents contents;
  for (const auto& [key, stored] : store_.rules()) {
    if (key.kind != "policy" || stored.rule.content.empty()) continue;
    const auto policy = parse_json_file(stored.rule.content);
    if (key.name == "tenants")  // the file of this name has the rules of tenants, which are each machine's own
      refused.push_back("the policy 'tenants': this name is not for policies");
    else if (!policy)
      refused.push_back(fmt::format("the policy '{}': {}", key.name, policy.error().what));
    else if (!policy->is_object())
      refused.push_back(fmt::format("the policy '{}' is no JSON object", key.name));
    else
      contents.emplace(key.name, stored.rule.content);
  }
  return contents;
}

RuleDefinitions RuleFiles::definitions(std::vector<std::string>& refused) const {
  RuleDefinitions all;
  for (const auto& [key, stored] : store_.rules()) {
    if (key.kind != "catalog" || stored.rule.content.empty()) continue;
    auto document = parse_json_file(stored.rule.content);
    auto reading = document ? catalog::read_definitions(*std::move(document), {key.name, ""})
                            : tl::unexpected<Error>(std::move(document).error());
    if (reading)
      all.emplace_back("cluster rule " + key.name, std::make_shared<const catalog::Reading>(*std::move(reading)));
    else
      refused.push_back(fmt::format("the definitions '{}': {}", key.name, reading.error().what));
  }
  return all;
}

Result<bool> RuleFiles::write_skills(std::vector<std::string>& refused) const {
  TRY(const Contents before, read_contents(skills_));
  Contents contents;
  for (const auto& [key, stored] : store_.rules()) {
    if (key.kind != "skill" || stored.rule.content.empty()) continue;
    const auto skill = contents.size() < kMaxRuleSkills
                           ? skills::read_bundle(stored.rule.content, key.name)
                           : fail(Code::exhausted, fmt::format("the cluster has {} skills already", kMaxRuleSkills));
    if (!skill) refused.push_back(fmt::format("the skill '{}': {}", key.name, skill.error().what));
    const auto former = before.find(key.name);
    if (skill)
      contents.emplace(key.name, stored.rule.content);
    else if (former != before.end())
      contents.insert(*former);
  }
  bool has_changed = false;
  Contents all = before;
  all.insert(contents.begin(), contents.end());
  for (const auto& [name, content] : all) {
    const auto is = before.find(name);
    const auto shall = contents.find(name);
    if (is != before.end() && shall != contents.end() && is->second == shall->second) continue;
    CHECKED(write_content(skills_, name, contents));
    has_changed = true;
  }
  return has_changed;
}

Result<skills::Shared> RuleFiles::read_skills() const {
  TRY(const Contents files, read_contents(skills_));
  skills::Shared all;
  for (const auto& [name, content] : files) {
    auto skill = skills::read_bundle(content, name);
    if (skill && all.size() < kMaxRuleSkills) all.add(*std::move(skill));
  }
  return all;
}

}  // namespace cluster
