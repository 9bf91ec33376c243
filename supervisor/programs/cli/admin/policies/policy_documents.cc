#include "supervisor/programs/cli/admin/policies/policy_documents.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "policies/former_keys.h"
#include "policies/merged.h"
#include "supervisor/base/json/json_file.h"

namespace admin {
namespace {

constexpr size_t kMaxDocuments = 9;  // the store takes no longer chain

const Json* find_key(const Json& document, std::string_view key) {
  const Json* at = &document;
  while (!key.empty()) {
    const std::string part(key.substr(0, key.find('.')));
    key.remove_prefix(std::min(key.size(), part.size() + 1));
    if (!at->is_object()) return nullptr;
    const auto it = at->find(part);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

}  // namespace

Result<std::vector<PolicyDocument>> documents_of(const std::vector<std::string>& folders, std::string name) {
  std::vector<PolicyDocument> documents;
  while (!name.empty() && documents.size() < kMaxDocuments) {
    std::string next;
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
      const std::string file = *folder + "/" + name + ".json";
      std::ifstream in(file);
      if (!in.is_open()) continue;
      std::stringstream text;
      text << in.rdbuf();
      auto parsed = parse_json_file(text.str());
      if (parsed && !parsed->is_object()) parsed = fail(Code::invalid, "not a JSON object", "begin the file with {");
      if (!parsed) {
        parsed.error().code = Code::internal;  // the file is wrong, not the command line
        return tl::unexpected<Error>(std::move(parsed).error().within(file));
      }
      std::vector<Error> reported_by_store;
      (void)policies::rename_former_keys(*parsed, reported_by_store);
      next = admin::text(*parsed, "extends");
      documents.push_back({file, *std::move(parsed)});
      break;
    }
    name = std::move(next);
  }
  return documents;
}

Json merged(const std::vector<PolicyDocument>& documents) {
  Json all = Json::object();
  for (auto document = documents.rbegin(); document != documents.rend(); ++document)
    all = policies::merged(all, document->value);
  all.erase("extends");
  all.erase("$schema");
  return all;
}

std::string origin_of(const std::vector<PolicyDocument>& documents, std::string_view key) {
  for (const auto& document : documents)
    if (find_key(document.value, key)) return document.file;
  return {};
}

std::string guardrail_of(const std::vector<PolicyDocument>& documents, const std::string& key) {
  for (const PolicyDocument& document : documents)
    if (std::string note = text(member(document.value, "guardrails"), key.c_str()); !note.empty()) return note;
  return {};
}

}  // namespace admin
