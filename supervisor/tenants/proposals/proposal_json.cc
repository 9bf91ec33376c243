#include "supervisor/tenants/proposals/proposal_json.h"

namespace proposals {
namespace {

Json files_json(const StagedFiles::List& list, uint64_t& omitted) {
  Json all = Json::array();
  for (const auto& file : list.files) {
    Json one = {{"path", file.path}, {"bytes", file.bytes}};
    if (file.bytes_before > 0) one["bytes_before"] = file.bytes_before;
    all.push_back(std::move(one));
  }
  omitted += list.omitted;
  return all;
}

}  // namespace

Json staged_files_json(const StagedFiles& files) {
  uint64_t omitted = 0;
  Json all = Json::object();
  auto add = [&](const char* name, const StagedFiles::List& list) {
    if (Json some = files_json(list, omitted); !some.empty()) all[name] = std::move(some);
  };
  add("created", files.created);
  add("modified", files.modified);
  add("deleted", files.deleted);
  if (omitted > 0) all["omitted"] = omitted;
  return all;
}

Json conflicts_json(const PathConflicts& conflicts) {
  Json all = Json::array();
  for (const auto& one : conflicts.listed) all.push_back({{"path", one.path}, {"why", one.why}});
  if (conflicts.omitted > 0) all.push_back({{"omitted", conflicts.omitted}});
  return all;
}

Json proposal_json(const Proposal& proposal, const std::string& diff) {
  Json told = {{"id", proposal.id}, {"state", std::string(state_name(proposal.state))}};
  if (!diff.empty()) told["diff"] = diff;
  if (!proposal.conflicts.empty()) told["conflicts"] = conflicts_json(proposal.conflicts);
  if (proposal.refused_count > 0) told["refused"] = proposal.refused;
  if (!proposal.problem.empty()) told["problem"] = proposal.problem;
  if (!proposal.undo_problem.empty()) told["undo"] = "none: " + proposal.undo_problem;
  return told;
}

}  // namespace proposals
