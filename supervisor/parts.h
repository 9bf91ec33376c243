// Parts: all parts of the daemon, opened in the order of their needs. Services: the objects that parts use of each
// other, one of each type.
//
// PartEntry is made of a function that opens a part:
//   Result<std::unique_ptr<SkillsPart>> open(jail::Pool& pool, spans::Queue* spans);   // the needs
//   std::tuple<TenantSkills&, Other*> SkillsPart::services();                           // what it offers; may be
//   absent
// A reference is a service that must exist; a pointer is nullptr if no part offers the service, or a part offers
// nullptr. Errors of Parts::open(): those of the parts, with the part's name; internal: a service is offered twice or
// by no part, or parts need each other.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/part.h"

class Services {
 public:
  // The service must outlive this object. nullptr: it is absent. A second one of a type is a bug, which is reported.
  template <class T>
  void add(T* service) {
    if (service) services_[typeid(T)] = service;
  }
  template <class T>
  T* find() const {
    const auto entry = services_.find(typeid(T));
    return entry == services_.end() ? nullptr : static_cast<T*>(entry->second);
  }
  bool has(std::type_index type) const { return services_.contains(type); }

 private:
  std::map<std::type_index, void*> services_;
};

struct PartEntry {
  struct Need {
    std::type_index type;
    bool is_optional;
  };
  std::string name;
  std::vector<Need> needs;
  std::vector<std::type_index> offers;
  std::function<Result<std::unique_ptr<Part>>(Services& services)> open;
};

namespace part_entry {

template <class T>
using ServiceOf = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<T>>>;

template <class T>
T take(const Services& services) {
  ServiceOf<T>* service = services.find<ServiceOf<T>>();
  if constexpr (std::is_pointer_v<T>) {
    return service;
  } else {
    return *service;  // exists: Parts opens a part when all of its needs are there
  }
}

template <class... Offers>
void add_all(Services& services, std::tuple<Offers...> offers) {
  const auto address = [](auto&& offer) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(offer)>>) {
      return offer;
    } else {
      return &offer;
    }
  };
  std::apply([&](auto&&... offer) { (services.add(address(offer)), ...); }, offers);
}

template <class... Offers>
std::vector<std::type_index> types_of(const std::tuple<Offers...>*) {
  return {std::type_index(typeid(ServiceOf<Offers>))...};
}

template <class P>
concept HasServices = requires(P& part) {
  part.services();
};

}  // namespace part_entry

template <class P, class... Needs>
PartEntry part_entry_of(std::string name, Result<std::unique_ptr<P>> (*open)(Needs...)) {
  PartEntry entry{.name = std::move(name), .needs = {}, .offers = {}, .open = {}};
  entry.needs = {PartEntry::Need{typeid(part_entry::ServiceOf<Needs>), std::is_pointer_v<Needs>}...};
  if constexpr (part_entry::HasServices<P>)
    entry.offers = part_entry::types_of(static_cast<decltype(std::declval<P&>().services())*>(nullptr));
  entry.open = [open](Services& services) -> Result<std::unique_ptr<Part>> {
    TRY(std::unique_ptr<P> part, open(part_entry::take<Needs>(services)...));
    if constexpr (part_entry::HasServices<P>) part_entry::add_all(services, part->services());
    return std::unique_ptr<Part>(std::move(part));
  };
  return entry;
}

class Parts {
 public:
  // `services`: those of the daemon itself; they outlive the parts. Parts have the order of `entries` but for those
  // that need a later one. Each may need Parts itself, to ask all parts later.
  static Result<std::unique_ptr<Parts>> open(std::vector<PartEntry> entries, Services services);
  ~Parts();
  Parts(const Parts&) = delete;

  // The parts with this interface, in the order in which they were opened.
  template <class Interface>
  std::vector<Interface*> all() const {
    std::vector<Interface*> interfaces;
    for (const auto& part : parts_)
      if (auto* it = dynamic_cast<Interface*>(part.get())) interfaces.push_back(it);
    return interfaces;
  }
  // nullptr: no part offers it.
  template <class T>
  T* find() const {
    return services_.find<T>();
  }

 private:
  Parts() = default;
  Services services_;
  std::vector<std::unique_ptr<Part>> parts_;
};
