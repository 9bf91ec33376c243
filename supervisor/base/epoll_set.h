// EpollSet: the descriptors that tasks wait for, in an epoll instance of our own below libuv's. A wait costs one
// epoll_ctl(2). uv_poll_t needs three: its start removes the descriptor and adds it again, and its stop removes it.
// Source: epoll(7), EPOLLONESHOT. Used by: supervisor/base/loop.h.
#pragma once
#include <uv.h>

#include <cstdint>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

class EpollSet {
 public:
  // Entry: one descriptor of the set. Borrows the descriptor: remove the entry before the descriptor is closed.
  class Entry {
   public:
    virtual ~Entry() = default;
    // `events` of epoll_wait(2) are there. May remove this entry or any other.
    virtual void on_events(uint32_t events) = 0;

   protected:
    // Waits once for `events` (EPOLLIN, EPOLLOUT), beside those that it waits for already.
    void wait_for(uint32_t events);
    // A set with such an entry keeps the loop running.
    void keep_loop_running(bool keep);
    EpollSet* set() const { return set_; }

   private:
    friend class EpollSet;
    EpollSet* set_ = nullptr;
    int fd_ = -1;
    uint64_t token_ = 0;
    uint32_t armed_ = 0;
    bool keeps_loop_ = false;
  };

  // `loop` must outlive the set, and run once more after it. Throws std::runtime_error without descriptors or memory.
  explicit EpollSet(uv_loop_t* loop);
  EpollSet(const EpollSet&) = delete;
  ~EpollSet();  // removes all entries: their events never come

  // Errors: internal, "epoll_ctl: ..." (a regular file or a folder cannot be waited for).
  Result<> add(Entry& entry, int fd);
  void remove(Entry& entry);
  // Names an entry while it is in the set; no later entry gets the same token.
  static uint64_t token_of(const Entry& entry) { return entry.token_; }
  bool holds(uint64_t token) const { return find(token) != nullptr; }

 private:
  struct EpollEntry {
    uv_poll_t handle;
    EpollSet* set;
  };
  struct Slot {
    Entry* entry = nullptr;
    uint32_t generation = 0;
  };
  Entry* find(uint64_t token) const;
  void take_events();

  Fd epoll_;
  EpollEntry* box_;  // freed by libuv's close callback
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint32_t keeping_ = 0;
};
