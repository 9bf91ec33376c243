// UnderWay: how many things of each owner are being done beside the loop. Whatever of an owner's must not overtake them
// goes beside the loop, too, while there are any: an owner's jobs keep their order there (json_work.h).
#pragma once
#include <cstddef>
#include <map>
#include <utility>

template <class Owner>
class UnderWay {
 public:
  // One of them, from its beginning until its end. The UnderWay must outlive it.
  class One {
   public:
    One(UnderWay& all, Owner owner) : all_(all), owner_(std::move(owner)) { all_.count_[owner_]++; }
    ~One() {
      const auto found = all_.count_.find(owner_);
      if (--found->second == 0) all_.count_.erase(found);
    }
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    UnderWay& all_;
    Owner owner_;
  };

  bool any_of(const Owner& owner) const { return count_.contains(owner); }

 private:
  std::map<Owner, size_t> count_;
};
