#include "supervisor/tenants/proposals/proposal_json.h"

namespace proposals {
namespace {

Json files_json(const StagedFiles::List& list, uint64_t& omitted) {
  Json all = Json::array();
  for (const auto& file : list.files) {
    Json item = {{"path", file.path}, {"bytes", file.bytes}};
    if (file.bytes_before > 0) item["bytes_before"] = file.bytes_before;
    all.push_back(std::move(item));
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
  for (const auto& item : conflicts.listed) all.push_back({{"path", item.path}, {"why", item.why}});
  if (conflicts.omitted > 0) all.push_back({{"omitted", conflicts.omitted}});
  return all;
}

Json proposal_json(const Proposal& proposal, const std::string& diff) {
  Json report = {{"id", proposal.id}, {"state", std::string(state_name(proposal.state))}};
  if (!diff.empty()) report["diff"] = diff;
  if (!proposal.conflicts.empty()) report["conflicts"] = conflicts_json(proposal.conflicts);
  if (proposal.refused_count > 0) report["refused"] = proposal.refused;
  if (!proposal.problem.empty()) report["problem"] = proposal.problem;
  if (!proposal.undo_problem.empty()) report["undo"] = "none: " + proposal.undo_problem;
  return report;
}

}  // namespace proposals
