#include "supervisor/parts.h"

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>

namespace {

std::string name_of(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return name ? name.get() : type.name();
}

bool offers(const PartEntry& entry, std::type_index type) {
  return std::find(entry.offers.begin(), entry.offers.end(), type) != entry.offers.end();
}

// Whether a part can be opened before the others that are left.
bool is_ready(const PartEntry& entry, const Services& services, const std::vector<PartEntry>& entries) {
  return std::all_of(entry.needs.begin(), entry.needs.end(), [&](const PartEntry::Need& need) {
    if (services.has(need.type)) return true;
    const bool comes_later = std::any_of(entries.begin(), entries.end(), [&](const PartEntry& part_entry) {
      return part_entry.name != entry.name && offers(part_entry, need.type);
    });
    return need.is_optional && !comes_later;
  });
}

Error unmet(const std::vector<PartEntry>& entries, const Services& services) {
  std::string text = "parts of the daemon cannot be opened:";
  for (const PartEntry& entry : entries)
    for (const PartEntry::Need& need : entry.needs)
      if (!services.has(need.type))
        text += " " + entry.name + (need.is_optional ? " can use " : " needs ") + name_of(need.type) + ";";
  return Error{Code::internal, 0, text, "", {}};
}

}  // namespace

Result<std::unique_ptr<Parts>> Parts::open(std::vector<PartEntry> entries, Services services) {
  std::unique_ptr<Parts> parts(new Parts);
  parts->services_ = std::move(services);
  parts->services_.add(parts.get());
  while (!entries.empty()) {
    const auto next = std::find_if(entries.begin(), entries.end(),
                                   [&](const PartEntry& entry) { return is_ready(entry, parts->services_, entries); });
    if (next == entries.end()) return tl::unexpected<Error>(unmet(entries, parts->services_));
    for (const std::type_index type : next->offers)
      if (parts->services_.has(type))
        return fail(Code::internal, "part '" + next->name + "' offers " + name_of(type) + ", which exists already");
    auto part = next->open(parts->services_);
    if (!part) return tl::unexpected<Error>(std::move(part).error());
    (*part)->name_ = next->name;
    parts->parts_.push_back(*std::move(part));
    entries.erase(next);
  }
  return parts;
}

// A part may use those that were opened before it.
Parts::~Parts() {
  while (!parts_.empty()) parts_.pop_back();
}
