// The files behind a policy or a profile of system calls: which of them says what. For people; the daemon asks
// policies::Store, which has checked and bounded the same files before.
// Source: folders of JSON files; a file masks that of the same name in the folders before.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/admin/values.h"

namespace admin {

struct PolicyDocument {
  std::string file;
  Json value;
};

// A document and those that it extends, itself first. Empty when there is none of that name.
std::vector<PolicyDocument> documents_of(const std::vector<std::string>& folders, std::string name);
// All of them as one.
Json merged(const std::vector<PolicyDocument>& documents);
// The file that says what holds for a key: "limits.maximum.memory_bytes". Empty when none does.
std::string origin_of(const std::vector<PolicyDocument>& documents, std::string_view key);

}  // namespace admin
