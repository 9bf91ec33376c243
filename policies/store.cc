#include "policies/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "policies/default_policy.h"
#include "policies/former_keys.h"
#include "policies/merged.h"
#include "policies/names.h"
#include "policies/policy.h"
#include "policies/seccomp.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/sha256.h"

namespace policies {

namespace {

constexpr size_t kMaxFileBytes = 1 << 20, kMaxFiles = 1000, kMaxExtends = 8;
constexpr std::string_view kTenantsFile = "tenants.json";

// The name of the policy for all tenants when there is no tenants.json.
const char* standard_name(Mode mode) { return mode == Mode::system ? "system" : "default"; }

// Reads a file, unless it is writable for all users: a user that writes policies decides what jails may do.
Result<std::string> read_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno(errno, "open", Code::invalid);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, "fstat", Code::invalid);
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid, "not a regular file");
  if (status.st_mode & S_IWOTH) return fail(Code::invalid, "all users may write the file", "chmod o-w");
  std::string text;
  char block[16384];
  for (;;) {
    const ssize_t n = ::read(file.get(), block, sizeof block);
    if (n < 0) return fail_errno(errno, "read", Code::invalid);
    if (n == 0) return text;
    text.append(block, static_cast<size_t>(n));
    if (text.size() > kMaxFileBytes) return fail(Code::invalid, fmt::format("larger than {} bytes", kMaxFileBytes));
  }
}

struct PolicyDocument {
  std::string path;
  Json value;
};
using Documents = std::map<std::string, PolicyDocument, std::less<>>;  // by name without .json

std::string extends_of(const Json& document) {
  if (!document.is_object()) return {};
  auto it = document.find("extends");
  return it != document.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// The path of the first null: a null would neither set an extended value nor remove it. Empty: there is no null.
std::string find_null(const Json& value, const std::string& path) {
  if (value.is_null()) return path.empty() ? "the document" : path;
  if (!value.is_structured()) return {};
  for (const auto& [key, child] : value.items()) {
    const std::string name = printable(key, 64);
    std::string found = find_null(child, value.is_array() ? path + "[" + name + "]"
                                         : path.empty()   ? name
                                                          : path + "." + name);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

Mode mode_of(const std::vector<std::string>& folders) {
  const bool installed = std::any_of(folders.begin(), folders.end(), [](std::string_view folder) {
    while (folder.ends_with('/')) folder.remove_suffix(1);
    return folder == kInstalledFolder;
  });
  return installed ? Mode::system : Mode::checkout;
}

// Store::Loader: reads all folders once. Collects problems instead of stopping at the first.
class Store::Loader {
 public:
  // `filters`: filters that were compiled before, by their source text. A filter with the same source text is used
  // again.
  Loader(const HostCapacity& host, const Filters& filters) : host_(host), known_filters_(filters) {}

  Result<Set> load(const std::vector<std::string>& folders, Mode mode) {
    size_t count = 0;
    for (const auto& folder : folders) {
      count += read_folder(folder, documents_) ? 1 : 0;
      (void)read_folder(folder + "/seccomp", profiles_);
    }
    if (count == 0)
      return fail(Code::invalid, fmt::format("no folder with policies: {}", fmt::join(folders, ", ")),
                  "name a folder with --policies");
    Set set;
    for (const auto& [name, document] : profiles_) (void)profile(name);  // also profiles that no policy uses yet
    std::map<std::string, Problems> wrong_policies;
    for (auto& [name, document] : documents_)
      if (name + ".json" != kTenantsFile)
        wrong_policies[name] = problems_of([&] { rename_keys(document, set.warnings); });
    for (const auto& [name, document] : documents_) {
      if (name + ".json" == kTenantsFile) continue;
      auto more = problems_of([&] {
        if (auto policy = load_policy(name)) set.policies[name] = std::make_shared<const Policy>(*std::move(policy));
      });
      std::move(more.begin(), more.end(), std::back_inserter(wrong_policies[name]));
    }
    for (const auto& [name, policy] : set.policies)
      if (const std::string unused = policy->calls.unused_rule(); !unused.empty())
        set.warnings.push_back(documents_.at(name).path + ": " + unused);
    load_tenants(mode, set);
    judge_wrong_policies(wrong_policies, mode, set);
    set.filters = std::move(by_source_);
    if (problems_.empty()) return set;
    std::string text;
    for (const auto& problem : problems_) text += (text.empty() ? "" : "\n") + problem.what;
    return fail(Code::invalid, std::move(text));
  }

 private:
  void wrong(const std::string& path, const Error& error) {
    problems_.push_back(error);
    problems_.back().what = path + ": " + error.what;
    if (!error.hint.empty()) problems_.back().what += " (" + error.hint + ")";
  }
  void wrong(const std::string& path, std::string message) {
    wrong(path, Error{Code::invalid, 0, std::move(message), {}, {}});
  }

  // The problems that a step adds, which are not among the problems of all files any more.
  template <class Step>
  Problems problems_of(Step step) {
    Problems before = std::exchange(problems_, {});
    step();
    return std::exchange(problems_, std::move(before));
  }

  // The policies of the rules, the standard policy, which is always in use, and those that they extend.
  std::set<std::string> used_policies(Mode mode, const Set& set) const {
    std::set<std::string> used{standard_name(mode)};
    for (const auto& rule : set.tenants.rules()) used.insert(rule.policy);
    for (std::string name : std::vector<std::string>(used.begin(), used.end())) {
      for (auto document = documents_.find(name); document != documents_.end(); document = documents_.find(name)) {
        name = extends_of(document->second.value);
        if (!used.insert(name).second) break;
      }
    }
    return used;
  }

  // A policy that no tenant has takes no rights away and gives none, so its mistakes are warnings. A token with a wrong
  // policy is a problem of the configuration.
  void judge_wrong_policies(const std::map<std::string, Problems>& wrong_policies, Mode mode, Set& set) {
    const std::set<std::string> used = used_policies(mode, set);
    const bool has_good = std::any_of(wrong_policies.begin(), wrong_policies.end(),
                                      [](const auto& policy) { return policy.second.empty(); });
    for (const auto& [name, problems] : wrong_policies) {
      const bool is_used = !has_good || used.contains(name);
      if (!problems.empty() && !is_used) set.policies.erase(name);
      for (const auto& problem : problems) {
        if (is_used) {
          problems_.push_back(problem);
        } else {
          set.warnings.push_back(problem.what + "; no tenant has this policy, so it is skipped");
        }
      }
    }
  }

  void rename_keys(PolicyDocument& document, std::vector<std::string>& warnings) {
    Problems problems;
    for (const auto& renamed : rename_former_keys(document.value, problems))
      warnings.push_back(document.path + ": " + renamed);
    for (const auto& problem : problems) wrong(document.path, problem);
  }

  // False when the folder does not exist.
  bool read_folder(const std::string& folder, Documents& into) {
    const auto files = read_names(FolderReader::open(folder));
    if (!files && files.error().err == ENOENT) return false;
    if (!files) {  // the folder may take rights away: without all its files nothing is in force
      wrong(folder, files.error());
      return true;
    }
    for (const auto& file : *files) {
      if (file.starts_with('.') || !file.ends_with(".json") || file.ends_with(".schema.json")) continue;
      read_document(folder + "/" + file, file.substr(0, file.size() - 5), into);
    }
    return true;
  }

  void read_document(const std::string& path, const std::string& name, Documents& into) {
    if (!valid_name(name))
      return wrong(printable(path, 4096), "the name before .json is not 1 to 64 of a-z, 0-9, _, . and -");
    if (into.size() >= kMaxFiles) return wrong(path, fmt::format("more than {} files", kMaxFiles));
    into.erase(name);  // a broken file masks as well: rights that it takes away must not return
    auto text = read_file(path);
    if (!text) return wrong(path, text.error());
    auto value = parse_json_file(*text);
    if (!value) return wrong(path, value.error());
    if (auto null = find_null(*value, ""); !null.empty())
      return wrong(path, null + ": null is not a value; leave out the key");
    into[name] = {path, *std::move(value)};
  }

  // The names from `name` to the document that extends no other. Empty, and a problem, if a document is missing, they
  // form a circle, or there are more than kMaxExtends steps.
  std::vector<std::string> ancestry(const std::string& name, const Documents& documents) {
    std::vector<std::string> chain{name};
    const std::string& path = documents.find(name)->second.path;
    for (;;) {
      const std::string base = extends_of(documents.find(chain.back())->second.value);
      if (base.empty()) return chain;
      const bool cycle = std::find(chain.begin(), chain.end(), base) != chain.end();
      chain.push_back(base);
      if (cycle) {
        wrong(path, fmt::format("extends: {} is a cycle", fmt::join(chain, " -> ")));
      } else if (chain.size() > kMaxExtends + 1) {
        wrong(path, fmt::format("extends: {} is longer than {} steps", fmt::join(chain, " -> "), kMaxExtends));
      } else if (!documents.contains(base)) {
        wrong(path, fmt::format("extends: there is no valid policy \"{}\"", printable(base, 64)));
      } else {
        continue;
      }
      return {};
    }
  }

  std::optional<Policy> load_policy(const std::string& name) {
    const PolicyDocument& document = documents_.find(name)->second;
    const auto chain = ancestry(name, documents_);
    if (chain.empty()) return {};
    Json full = document.value;
    for (size_t i = 1; i < chain.size(); i++) full = merged(documents_.find(chain[i])->second.value, full);
    auto policy = parse_policy(name, document.path, full, host_);
    if (!policy) {
      for (const auto& problem : policy.error()) wrong(document.path, problem);
      return {};
    }
    policy->hash = sha256_hex(dump_json(full));
    policy->filter = profile(policy->seccomp);
    if (!policy->filter && !profiles_.contains(policy->seccomp)) {
      wrong(document.path, fmt::format("seccomp: there is no valid profile \"{}\"", printable(policy->seccomp, 64)));
      return {};
    }
    return *std::move(policy);
  }

  // The profile's filter, parsed and compiled once. nullptr if the profile has errors; they are noted as problems.
  std::shared_ptr<const SeccompFilter> profile(const std::string& name) {
    if (auto done = filters_.find(name); done != filters_.end()) return done->second;
    if (!profiles_.contains(name)) return nullptr;
    auto& filter = filters_[name];
    const auto chain = ancestry(name, profiles_);
    if (chain.empty()) return nullptr;
    // Compiling takes the daemon 0.1 s or more, so only changed profiles are compiled again.
    std::string source = name;
    for (const auto& link : chain) source += "\n" + dump_json(profiles_.find(link)->second.value);
    if (auto it = known_filters_.find(source); it != known_filters_.end()) {
      filter = by_source_[source] = it->second;
      return filter;
    }
    std::optional<SeccompProfile> parsed;
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
      const PolicyDocument& document = profiles_.find(*link)->second;
      auto next = parse_seccomp(*link, document.value, parsed ? &*parsed : nullptr);
      if (!next) {
        if (*link == name)
          for (const auto& problem : next.error()) wrong(document.path, problem);
        else
          wrong(profiles_.find(name)->second.path, fmt::format("extends: \"{}\" has errors", *link));
        return nullptr;
      }
      parsed = *std::move(next);
    }
    auto program = compile_seccomp(*parsed);
    if (!program) {
      wrong(profiles_.find(name)->second.path, program.error());
      return nullptr;
    }
    filter = std::make_shared<const SeccompFilter>(SeccompFilter{name, *std::move(program), seccomp_flags(*parsed)});
    by_source_[source] = filter;
    return filter;
  }

  void load_tenants(Mode mode, Set& set) {
    const auto file = documents_.find(kTenantsFile.substr(0, kTenantsFile.size() - 5));
    std::string path = "no tenants.json exists; the policy of all tenants";
    if (file == documents_.end()) {
      set.tenants = TenantRules::all_users(standard_name(mode));
    } else {
      path = file->second.path;
      auto rules = TenantRules::parse(file->second.value);
      if (!rules) {
        for (const auto& problem : rules.error()) wrong(path, problem);
        return;
      }
      set.tenants = *std::move(rules);
      for (const auto& warning : set.tenants.warnings()) set.warnings.push_back(path + ": " + warning);
    }
    for (size_t i = 0; i < set.tenants.rules().size(); i++) {
      const auto& policy = set.tenants.rules()[i].policy;
      if (!documents_.contains(policy))
        wrong(path, fmt::format("rules[{}].policy: there is no valid policy \"{}\"", i, printable(policy, 64)));
    }
  }

  HostCapacity host_;
  Documents documents_, profiles_;
  std::map<std::string, std::shared_ptr<const SeccompFilter>> filters_;  // by name
  const Filters& known_filters_;
  Filters by_source_;
  Problems problems_;
};

Result<Store> Store::load(std::vector<std::string> folders, Mode mode, HostCapacity host) {
  return Store(std::move(folders), mode, host).reread();
}

Result<Store> Store::reread() const { return read_folders(folders_); }

Result<Store> Store::read_folders(std::vector<std::string> folders) const {
  const Mode mode = folders == folders_ ? mode_ : mode_of(folders);
  Store fresh(std::move(folders), mode, host_);
  TRY(fresh.set_, Loader(host_, set_.filters).load(fresh.folders_, mode));
  return fresh;
}

std::vector<std::string> Store::set_layers(const LayerLookup& find, PackageLayers all) {
  layers_ = std::move(all);
  std::vector<std::string> problems;
  for (auto& [name, policy] : set_.policies) {
    if (policy->layer_names.empty()) continue;
    auto with_layers = std::make_shared<Policy>(*policy);
    with_layers->layers.clear();
    for (const std::string& layer : policy->layer_names) {
      auto it = find(layer);
      if (it) {
        with_layers->layers.push_back(*std::move(it));
        continue;
      }
      const Error& error = it.error();
      problems.push_back(fmt::format("{}: layers: \"{}\": {}{}{}", policy->file, layer, error.what,
                                     error.hint.empty() ? "" : "; ", error.hint));
    }
    policy = std::move(with_layers);
  }
  return problems;
}

Store Store::refusing(std::vector<std::string> folders) {
  const auto standard = parse_json(kDefaultPolicy);
  const auto stricter = parse_json(R"({
    "description": "In force while no good policies are known.",
    "pool": {"min_idle": 0, "max_idle": 0, "zygotes": false}, "skills": {"save": false}, "sessions": {"max": 0},
    "named_workspaces": {"max": 0}, "workspace": {"choose": false}, "workflows": {"max": 0}, "pii": {"restore": "nobody"}, "tools": ["execute_code"],
    "calls": {"rules": [], "otherwise": "deny", "questions": "nobody"}, "discovery": {"learning": "off"}})");
  Store store(std::move(folders), Mode::checkout, HostCapacity::here());
  auto policy = parse_policy("none", "", merged(*standard, *stricter), store.host_);
  policy->filter = std::make_shared<const SeccompFilter>(SeccompFilter{"none", {}, {}});
  store.set_.tenants = TenantRules::all_users("none");
  store.set_.policies["none"] = std::make_shared<const Policy>(*std::move(policy));
  return store;
}

Result<Assignment> Store::tenant_of(const Peer& peer) const {
  auto match = set_.tenants.find(peer);
  if (!match && !peer.unit && set_.tenants.ask_for_units())
    return fail(Code::denied,
                "a rule of tenants.json depends on the unit of your process, which the daemon cannot determine",
                "ask the administrator: the daemon must see the process in /proc (ProtectProc=default), and systemd "
                "must run it",
                "tenants");
  if (!match)
    return fail(Code::denied, fmt::format("no rule of tenants.json fits user {} of group {}", peer.uid, peer.gid),
                "ask the administrator for a rule in tenants.json", "tenants");
  auto policy = find(match->policy);
  if (!policy) return fail(Code::internal, "policy '" + match->policy + "' was loaded and is missing now");
  return Assignment{std::move(match->tenant), std::move(policy)};
}

Result<Assignment> Store::tenant_of(const TokenBearer& bearer) const {
  const auto assigned = [&](std::string tenant, std::shared_ptr<const Policy> policy) -> Result<Assignment> {
    if (!policy || !valid_name(tenant))
      return fail(Code::denied, fmt::format("the rule of the token '{}' gives no tenant and policy", bearer.token),
                  "ask the administrator: warder config check", "tenants");
    return Assignment{std::move(tenant), std::move(policy)};
  };
  if (auto match = set_.tenants.find(bearer)) return assigned(std::move(match->tenant), find(match->policy));
  const auto own = set_.token_rules.find(bearer.token);
  if (own == set_.token_rules.end())
    return fail(Code::denied, fmt::format("no rule of tenants.json fits the token '{}'", bearer.token),
                "ask the administrator for a rule with \"token\" in tenants.json, or for warder token add --tenant",
                "tenants");
  const TokenRule& rule = own->second;
  return assigned(rule.tenant.empty() ? "token-" + bearer.token : rule.tenant,
                  rule.policy.empty() ? standard() : find(rule.policy));
}

Result<Assignment> Store::tenant_of(const SubjectBearer& bearer) const {
  const auto match = set_.tenants.find(bearer);
  const auto policy = match ? find(match->policy) : nullptr;
  if (!policy || !valid_name(match->tenant))
    return fail(
        Code::denied,
        fmt::format("no rule of tenants.json fits the subject '{}' and its claim", printable(bearer.subject, 128)),
        "ask the administrator for a rule with \"subject\" in tenants.json", "tenants");
  return Assignment{match->tenant, policy};
}

Result<Assignment> Store::tenant_of(const NodeOrder& order) const {
  auto policy = find(order.policy);
  if (policy && policy->hash != order.policy_hash)
    return fail(Code::denied,
                fmt::format("policy '{}' of this node differs from that of the node that asks", policy->name),
                "give all nodes of the cluster the same policies", "cluster.home");
  if (!policy || !policy->cluster.is_home_shared || !valid_name(order.tenant))
    return fail(Code::denied,
                fmt::format("this node has no policy '{}' with \"cluster\": {{\"home\": \"cluster\"}}",
                            printable(order.policy, 64)),
                "give all nodes of the cluster the same policies", "cluster.home");
  return Assignment{order.tenant, std::move(policy)};
}

Result<Assignment> Store::tenant_of(const CallerCredentials& caller) const {
  return std::visit([this](const auto& item) { return tenant_of(item); }, caller);
}

void Store::set_token_rules(const std::vector<TokenRule>& rules) {
  set_.token_rules.clear();
  for (const auto& rule : rules)
    if (rule.exists()) set_.token_rules.emplace(rule.token, rule);  // the first of a name, as in TokenTable
}

std::shared_ptr<const Policy> Store::find(std::string_view name) const {
  auto it = set_.policies.find(name);
  return it == set_.policies.end() ? nullptr : it->second;
}

std::shared_ptr<const Policy> Store::standard() const {
  auto policy = find(standard_name(mode_));
  return policy ? policy : set_.policies.begin()->second;
}

std::vector<std::string> Store::names() const {
  std::vector<std::string> names;
  for (const auto& [name, policy] : set_.policies) names.push_back(name);
  return names;
}

}  // namespace policies
