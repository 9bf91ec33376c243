// RuleFiles: the cluster's signed rules as warderd uses them. Each text is checked against the trust record that root
// wrote on this machine, so neither warder-node nor the bus can change a policy. The last good copy is on the disk:
//   STATE/cluster/rules/       the signed texts (RuleStore)
//   STATE/cluster/policies/    NAME.json of each policy, a folder of policies as any other (Options::policies)
//   STATE/cluster/skills/      NAME.json of each skill, a bundle (skills/bundle.h)
// Used by: rule_follower.h, on a worker thread. Errors: those of RuleStore and of base/path.h.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catalog/reader.h"
#include "skills/library.h"
#include "supervisor/cluster/trust/rule_store.h"

namespace cluster {

constexpr size_t kMaxRuleSkills = 200;  // each search of a tenant looks at all of them

using RuleDefinitions =
    std::vector<std::pair<std::string, std::shared_ptr<const catalog::Reading>>>;  // by origin, for the log

class RuleFiles {
 public:
  // `anchor`: the trust record that root wrote. `state`: the daemon's folder; the folders below it are made.
  static Result<RuleFiles> open(const std::string& anchor, const std::string& state);

  struct RuleSet {
    std::vector<std::string> policies;  // names of policies whose files differ from the rules: apply() writes them
    bool has_catalog_changed = false;
    bool have_skills_changed = false;
    std::vector<std::string> refused;  // a sentence for each rule that is not used
  };
  // Stores the rules that are newer.
  Result<RuleSet> take(const std::vector<std::string>& texts);
  // Writes, or removes, the files of these policies, as the rules say; undo() brings back those from before take().
  Result<> apply(const std::vector<std::string>& policies) const;
  Result<> undo(const std::vector<std::string>& policies) const;
  bool writes(const std::string& policy) const { return requested_.contains(policy); }  // false: apply() removes it
  // Removes the files of all policies: the next take() names all policies again.
  Result<> clear() const;
  // The tool definitions of the rules that are stored.
  RuleDefinitions definitions(std::vector<std::string>& refused) const;
  // Writes, or removes, the files of skills, as the rules say. A skill that cannot be used is refused: the file of the
  // one before stays. True: a file has changed.
  Result<bool> write_skills(std::vector<std::string>& refused) const;
  // The skills of these files.
  Result<skills::Shared> read_skills() const;

 private:
  using Contents = std::map<std::string, std::string>;  // by name of the policy
  RuleFiles(RuleStore store, std::string top)
      : store_(std::move(store)), policies_(top + "/policies"), skills_(top + "/skills") {}
  Contents wanted_policies(std::vector<std::string>& refused) const;

  RuleStore store_;
  std::string policies_, skills_;  // folders of files
  Contents before_, requested_;    // of the last take()
};

}  // namespace cluster
