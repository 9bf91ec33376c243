// KvChanges: what a watch has to return: the changes of a bucket that were not read yet, the last one of each key. It
// knows each key that it returned, and so finds what changed while no changes came: then the watch tells all keys
// again. Used by: the watches of every Bus. Errors of next(): exhausted (more bytes than permitted), and what end()
// says.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/bus/bus.h"

namespace cluster {

class KvChanges {
 public:
  KvChanges(Loop& loop, std::string bucket, size_t max_bytes)
      : loop_(loop), bucket_(std::move(bucket)), max_bytes_(max_bytes) {}

  // Between these two calls come all keys with a value. Known keys that do not come were removed. end_all() without
  // begin_all(): what changed has come.
  void begin_all();
  void end_all();
  // `count` tells two values with the same revision apart: a lost bucket begins again at revision 1.
  void value(std::string key, std::string bytes, uint64_t revision, uint64_t count);
  void removed(const std::string& key, uint64_t revision);

  // next() returns this error at once. The first call counts.
  void end(Error why);
  bool ended() const { return ended_.has_value(); }
  static Task<Result<KvChange>> next(std::shared_ptr<KvChanges> changes);

 private:
  struct KeyState {
    uint64_t revision;
    uint64_t produced;
  };
  void add(KvChange change);
  std::optional<KvChange> take();
  void wake() { std::exchange(reader_, {}).resolve(); }

  Loop& loop_;
  const std::string bucket_;
  const size_t max_bytes_;
  std::map<std::string, KeyState> keys_;    // the keys with a value
  std::map<std::string, KvChange> unread_;  // by key
  std::deque<std::string> order_;           // keys of unread_; empty: `current`
  bool has_unread_current_ = false;
  std::optional<std::set<std::string>> reported_;  // between begin_all() and end_all()
  size_t bytes_ = 0;                               // of the known and unread_
  std::optional<Error> ended_;
  OneShot<>::Resolver reader_;  // the task that waits in next()
};

}  // namespace cluster
