// UnderWay: counts the jobs of each owner: those that run beside the loop, or requests of another node. While an owner
// has jobs beside the loop, its later work that must not overtake them runs there, too: the jobs of one owner stay in
// order there (work.h). Used by: supervisor/cluster, supervisor/protocol/mcp, supervisor/tools, supervisor/upstream.
#pragma once
#include <cstddef>
#include <map>
#include <utility>

template <class Owner>
class UnderWay {
 public:
  // One job, from its beginning to its end. The UnderWay must outlive it.
  class Guard {
   public:
    Guard(UnderWay& all, Owner owner) : all_(all), owner_(std::move(owner)) { all_.count_[owner_]++; }
    ~Guard() {
      const auto it = all_.count_.find(owner_);
      if (--it->second == 0) all_.count_.erase(it);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    UnderWay& all_;
    Owner owner_;
  };

  bool any_of(const Owner& owner) const { return count_.contains(owner); }
  size_t count_of(const Owner& owner) const {
    const auto it = count_.find(owner);
    return it == count_.end() ? 0 : it->second;
  }

 private:
  std::map<Owner, size_t> count_;
};
