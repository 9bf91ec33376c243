#include "supervisor/protocol/credentials/token_table.h"

#include <utility>

#include "supervisor/protocol/credentials/access_token.h"

namespace credentials {

TokenTable::TokenTable(std::vector<StoredToken> tokens) {
  for (auto& token : tokens) {
    if (by_name_.contains(token.name) || by_hash_.contains(token.hash)) continue;
    by_name_[token.name] = by_hash_[token.hash] = tokens_.size();
    tokens_.push_back(std::move(token));
  }
}

const StoredToken* TokenTable::find(std::string_view text) const {
  const auto it = by_hash_.find(hash_of_token(text));
  return it == by_hash_.end() ? nullptr : &tokens_[it->second];
}

const StoredToken* TokenTable::named(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tokens_[it->second];
}

}  // namespace credentials
