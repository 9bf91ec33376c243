// PolicyDocument: one file of a policy or of a seccomp profile. Shows people which file sets a key. The daemon uses
// policies::Store instead; that class has checked and bounded the same files before. Errors: internal, naming the file,
// the line and the column: a text without valid JSON, a repeated key (json_file.h).
// Source: folders of JSON files; a file masks the file of the same name in earlier folders.
// Used by: policy_commands.cc, policy_questions.cc, policy_store.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/admin/values.h"

namespace admin {

struct PolicyDocument {
  std::string file;
  Json value;
};

// The document with this name, then the documents that it extends. Empty if no document has this name.
Result<std::vector<PolicyDocument>> documents_of(const std::vector<std::string>& folders, std::string name);
// The documents merged into one; earlier documents win.
Json merged(const std::vector<PolicyDocument>& documents);
// What the import of guardrails has noted about a key: "guardrail max_memory_mb: 512 of config.yaml"; empty: nothing.
std::string guardrail_of(const std::vector<PolicyDocument>& documents, const std::string& key);
// The file that sets a key, for example "limits.maximum.memory_bytes". Empty if no document sets the key.
std::string origin_of(const std::vector<PolicyDocument>& documents, std::string_view key);

}  // namespace admin
