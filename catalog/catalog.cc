#include "catalog/catalog.h"

#include <algorithm>

#include "catalog/packed.h"
#include "catalog/signature.h"
#include "supervisor/base/fnv.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

// The text behind each separator of a name: "a.b__c" has "b__c" and "c".
std::vector<std::string_view> last_segments(std::string_view name) {
  std::vector<std::string_view> all;
  for (size_t at = 1; at + 1 < name.size() && all.size() < 8; at++) {
    for (std::string_view separator : kNameSeparators)
      if (std::string_view rest = name.substr(at); rest.starts_with(separator) && rest.size() > separator.size()) {
        all.push_back(rest.substr(separator.size()));
        break;
      }
  }
  return all;
}

}  // namespace

ToolView Catalog::tool(uint32_t number) const {
  const Record& record = records_[number];
  std::string_view text = std::string_view(texts_).substr(record.text);
  ToolView view;
  view.name = text.substr(0, record.name_bytes);
  view.description = text.substr(record.name_bytes, record.description_bytes);
  view.server = servers_[record.server].name;
  view.category = categories_[record.category].name;
  view.kind = record.kind;
  view.callable = is_callable(number);
  return view;
}

std::string Catalog::rest(uint32_t number) const {
  const Record& record = records_[number];
  return unpacked(
      std::string_view(texts_).substr(record.text + record.name_bytes + record.description_bytes, record.rest_bytes));
}

std::string Catalog::signature(uint32_t number) const {
  Signature& cached = signatures_->all[number % kSignatures];
  {
    const std::lock_guard lock(signatures_->mutex);
    if (cached.tool == number) return cached.text;
  }
  std::string text = catalog::signature(tool(number).name, parse_own_json(rest(number)).value_or(Json::object()));
  const std::lock_guard lock(signatures_->mutex);
  cached = {number, text};
  return text;
}

std::vector<std::string_view> Catalog::tags(uint32_t number) const {
  std::vector<std::string_view> all;
  for (uint32_t i = number == 0 ? 0 : records_[number - 1].tags_end; i < records_[number].tags_end; i++)
    all.push_back(tag_names_[tag_ids_[i]]);
  return all;
}

void Catalog::add_names(uint32_t number) {
  const std::string_view name = tool(number).name;
  names_.push_back({fnv_of<uint32_t>(folded(name)), number});
  for (std::string_view segment : last_segments(name)) segments_.push_back({fnv_of<uint32_t>(folded(segment)), number});
}

std::vector<uint32_t> Catalog::named(const std::vector<Name>& names, const std::string& folded_name) const {
  std::vector<uint32_t> all;
  if (folded_name.empty()) return all;
  const uint32_t requested = fnv_of<uint32_t>(folded_name);
  auto at = std::lower_bound(names.begin(), names.end(), Name{requested, 0});
  for (; at != names.end() && at->hash == requested; ++at) {
    const std::string_view name = tool(at->tool).name;
    bool same = false;
    if (&names == &names_) {
      same = folded(name) == folded_name;
    } else {
      for (std::string_view segment : last_segments(name)) same |= folded(segment) == folded_name;
    }
    if (same && (all.empty() || all.back() != at->tool)) all.push_back(at->tool);
  }
  return all;
}

size_t Catalog::bytes() const {
  return index_.bytes() + texts_.capacity() + records_.capacity() * sizeof(Record) +
         tag_ids_.capacity() * sizeof(uint32_t) + (names_.capacity() + segments_.capacity()) * sizeof(Name) +
         (categories_.size() + servers_.size()) * sizeof(Group) + tag_names_.size() * sizeof(std::string);
}

}  // namespace catalog
