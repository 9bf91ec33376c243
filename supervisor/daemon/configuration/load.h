// load(): the whole configuration as a start needs it: the files, the flags and the policies.
// Source: the files of an Invocation. Used by: main.cc (start, --check), supervisor/daemon/reload.cc,
// `warder config check`. Waits for disks, and for names of users, which may come over a network.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/daemon/configuration/reader.h"

namespace configuration {

struct LoadedConfiguration {
  Options options;  // of the keys without a problem
  ConfigurationDocument document;
  std::optional<policies::Store> policies;  // nullopt: the policies have a problem
  Notes notes;
  bool good() const { return notes.problems.empty(); }
  // A start would serve all that the configuration names.
  bool complete() const { return good() && notes.shortfalls.empty(); }
};

// The own rules of tokens become rules of `store`. Returns a sentence for each token that cannot be used:
// problems: its policy does not exist; warnings: no rule fits it.
Notes add_token_rules(policies::Store& store, const std::vector<credentials::StoredToken>& tokens);

// `current`: policies that were read before; their compiled filters are used again where the text is the same.
// Changes nothing on the machine.
LoadedConfiguration load(const Invocation& invocation, const policies::Store* current = nullptr);

bool has_key(const std::vector<Shortfall>& shortfalls, std::string_view key);
// The texts of shortfalls.
std::vector<std::string> texts_of(const std::vector<Shortfall>& shortfalls);
// One sentence about all problems: the first, and the number of further ones. Empty without a problem.
std::string summary_of(const std::vector<std::string>& problems);

}  // namespace configuration
