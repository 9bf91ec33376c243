// ArrivalSlots: how many workspaces may come at once: some in all, and fewer of one node, so that a node that is
// hostile or slow leaves places for the others. Used by: home_receiver.h. Errors: exhausted, with the limit.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/base/under_way.h"

namespace moves {

class ArrivalSlots {
 public:
  static constexpr size_t kMaxInAll = 4, kMaxOfNode = 2;

  // One arrival, from its beginning to its end. The ArrivalSlots must outlive it.
  class ArrivalReservation {
   public:
    ArrivalReservation(ArrivalSlots& all, std::string node) : all_(all), of_node_(all.by_node_, std::move(node)) {
      all_.used_++;
    }
    ~ArrivalReservation() { all_.used_--; }
    ArrivalReservation(const ArrivalReservation&) = delete;
    ArrivalReservation& operator=(const ArrivalReservation&) = delete;

   private:
    ArrivalSlots& all_;
    const UnderWay<std::string>::Guard of_node_;
  };

  // `node`: the sender.
  Result<std::unique_ptr<ArrivalReservation>> enter(const std::string& node);

 private:
  size_t used_ = 0;
  UnderWay<std::string> by_node_;
};

}  // namespace moves
