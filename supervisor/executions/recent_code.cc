#include "supervisor/executions/recent_code.h"

#include <algorithm>

#include "policies/tenant_id.h"
#include "supervisor/base/sha256.h"

namespace executions {
namespace {

void count_run(UseCounts& counts, const std::string& execution, int64_t now_ms) {
  counts.runs++;
  counts.last_ms = now_ms;
  counts.last_execution = execution;
}

void count_end(UseCounts& counts, bool succeeded, int64_t wall_us) {
  counts.ended++;
  if (succeeded) counts.succeeded++;
  counts.wall_us += static_cast<uint64_t>(std::max<int64_t>(wall_us, 0));
}

bool has_account(std::string_view tenant, std::string_view account) {
  return account.empty() || tenants::account_of(tenant) == account;
}

// The `max` that were used most often; of equals, the one that was used last.
template <class Use>
std::vector<Use> most_used(std::vector<Use> all, size_t max) {
  std::stable_sort(all.begin(), all.end(), [](const Use& a, const Use& b) {
    return std::pair(a.counts.runs, a.counts.last_ms) > std::pair(b.counts.runs, b.counts.last_ms);
  });
  if (all.size() > max) all.resize(max);
  return all;
}

}  // namespace

void RecentCode::begin(const std::string& tenant, const std::string& execution, std::string_view language,
                       std::string_view code, size_t readable, int64_t now_ms) {
  TenantCode& own = tenant_of(tenant);
  const auto [run, is_new] = own.executions.try_emplace(execution);
  if (!is_new) return;
  own.order.push_back(execution);
  while (own.order.size() > std::min(limits_.executions, std::max<size_t>(readable, 1))) {
    own.executions.erase(own.order.front());
    own.order.pop_front();
  }
  if (code.size() > limits_.text_bytes) return;
  // The same text in two languages is two programs.
  std::string hash = sha256_hex(code);
  Program& program = own.programs[hash + ' ' + std::string(language)];
  program.used = uses_;
  program.language = language;
  program.bytes = code.size();
  count_run(program.counts, execution, now_ms);
  run->second.hash = hash + ' ' + std::string(language);
  if (!program.text) {
    program.text = std::make_shared<const std::string>(code);
    own.bytes += code.size();
    bytes_ += code.size();
  }
  make_room(own, run->second.hash);
}

void RecentCode::end(const std::string& tenant, const std::string& execution, bool succeeded, int64_t wall_us) {
  const auto own = tenants_.find(tenant);
  if (own == tenants_.end()) return;
  const auto run = own->second.executions.find(execution);
  if (run == own->second.executions.end()) return;
  const auto program = own->second.programs.find(run->second.hash);
  if (program != own->second.programs.end()) count_end(program->second.counts, succeeded, wall_us);
  for (const std::string& name : run->second.skills) {
    const auto skill = own->second.skills.find(name);
    if (skill != own->second.skills.end()) count_end(skill->second.counts, succeeded, wall_us);
  }
}

void RecentCode::use_skill(const std::string& tenant, const std::string& execution, const std::string& name,
                           bool is_shared, int64_t now_ms) {
  TenantCode& own = tenant_of(tenant);
  if (const auto run = own.executions.find(execution); run != own.executions.end()) {
    const bool is_counted = !run->second.skills.insert(name).second;
    if (is_counted) return;
  }
  Skill& skill = own.skills[name];
  skill.used = uses_;
  skill.is_shared = is_shared;
  count_run(skill.counts, execution, now_ms);
  if (own.skills.size() <= limits_.skills) return;
  own.skills.erase(std::min_element(own.skills.begin(), own.skills.end(),
                                    [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

void RecentCode::forget(const std::string& tenant) {
  if (const auto own = tenants_.find(tenant); own != tenants_.end()) drop_tenant(own);
}

std::optional<RecentCode::Code> RecentCode::find(const std::string& tenant, const std::string& execution) const {
  const auto own = tenants_.find(tenant);
  if (own == tenants_.end()) return std::nullopt;
  const auto run = own->second.executions.find(execution);
  if (run == own->second.executions.end()) return std::nullopt;
  const auto program = own->second.programs.find(run->second.hash);
  if (program == own->second.programs.end()) return Code{};
  return Code{program->second.language, run->second.hash.substr(0, run->second.hash.find(' ')), program->second.text};
}

std::vector<RecentCode::EarlierCode> RecentCode::earlier(const std::string& tenant, const std::string& execution,
                                                         size_t most_bytes) const {
  std::vector<EarlierCode> codes;
  const auto own = tenants_.find(tenant);
  if (own == tenants_.end()) return codes;
  const std::deque<std::string>& order = own->second.order;
  std::set<const std::string*> seen;
  size_t bytes = 0;
  for (auto at = std::find(order.rbegin(), order.rend(), execution); at != order.rend(); ++at) {
    if (*at == execution) continue;
    const auto code = find(tenant, *at);
    if (!code || !code->text || !seen.insert(code->text.get()).second) continue;
    if (bytes += code->text->size(); bytes > most_bytes) break;
    codes.push_back({*at, code->language, code->text});
  }
  return codes;
}

std::vector<ProgramUse> RecentCode::programs(std::string_view account, uint64_t least, size_t max) const {
  std::vector<ProgramUse> all;
  for (const auto& [tenant, own] : tenants_) {
    if (!has_account(tenant, account)) continue;
    for (const auto& [hash, program] : own.programs)
      if (program.counts.runs >= least)
        all.push_back({tenant, hash.substr(0, hash.find(' ')), program.language, program.bytes, program.text != nullptr,
                       program.counts});
  }
  return most_used(std::move(all), max);
}

std::vector<SkillUse> RecentCode::skills(std::string_view account, size_t max) const {
  std::vector<SkillUse> all;
  for (const auto& [tenant, own] : tenants_) {
    if (!has_account(tenant, account)) continue;
    for (const auto& [name, skill] : own.skills) all.push_back({tenant, name, skill.is_shared, skill.counts});
  }
  return most_used(std::move(all), max);
}

RecentCode::TenantCode& RecentCode::tenant_of(const std::string& tenant) {
  TenantCode& own = tenants_[tenant];
  own.used = ++uses_;
  if (tenants_.size() > limits_.tenants) drop_longest_unused_tenant(&own);
  return own;
}

void RecentCode::drop_text(TenantCode& tenant, Program& program) {
  tenant.bytes -= program.bytes;
  bytes_ -= program.bytes;
  program.text.reset();
}

bool RecentCode::drop_longest_unused_text(TenantCode& tenant, std::string_view but) {
  Program* longest = nullptr;
  for (auto& [hash, program] : tenant.programs)
    if (program.text && hash != but && (!longest || program.used < longest->used)) longest = &program;
  if (longest) drop_text(tenant, *longest);
  return longest != nullptr;
}

// `but`: the program that the newest execution runs; it stays.
void RecentCode::make_room(TenantCode& tenant, std::string_view but) {
  while (tenant.programs.size() > limits_.programs) {
    auto victim = tenant.programs.end();
    const auto order = [](const Program& program) { return std::pair(program.counts.runs > 1, program.used); };
    for (auto it = tenant.programs.begin(); it != tenant.programs.end(); ++it)
      if (it->first != but && (victim == tenant.programs.end() || order(it->second) < order(victim->second)))
        victim = it;
    if (victim == tenant.programs.end()) break;
    if (victim->second.text) drop_text(tenant, victim->second);
    tenant.programs.erase(victim);
  }
  while (tenant.bytes > limits_.tenant_bytes && drop_longest_unused_text(tenant, but)) {
  }
  while (bytes_ > limits_.all_bytes && tenants_.size() > 1) drop_longest_unused_tenant(&tenant);
}

void RecentCode::drop_tenant(std::map<std::string, TenantCode, std::less<>>::iterator tenant) {
  bytes_ -= tenant->second.bytes;
  tenants_.erase(tenant);
}

void RecentCode::drop_longest_unused_tenant(const TenantCode* but) {
  auto victim = tenants_.end();
  for (auto it = tenants_.begin(); it != tenants_.end(); ++it)
    if (&it->second != but && (victim == tenants_.end() || it->second.used < victim->second.used)) victim = it;
  if (victim != tenants_.end()) drop_tenant(victim);
}

}  // namespace executions
