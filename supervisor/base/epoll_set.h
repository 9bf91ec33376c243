// EpollSet: the descriptors that tasks wait for, in an epoll instance of our own below libuv's. A wait costs one
// epoll_ctl(2). uv_poll_t needs three: its start removes the descriptor and adds it again, and its stop removes it.
// Source: epoll(7), EPOLLONESHOT. Used by: supervisor/base/loop.h.
#pragma once
#include <uv.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "supervisor/base/fd.h"

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
    bool is_added_ = false, keeps_loop_ = false;
  };

  // Throws std::runtime_error without descriptors or memory. `loop` must outlive the set, and close() must be called
  // before the end of `loop`.
  explicit EpollSet(uv_loop_t* loop);
  EpollSet(const EpollSet&) = delete;
  void close();  // removes all entries; waits are never answered

  void add(Entry& entry, int fd);
  void remove(Entry& entry);
  // False after remove(), for a token that find() or add() made.
  bool holds(uint64_t token) const { return find(token) != nullptr; }
  static uint64_t token_of(const Entry& entry) { return entry.token_; }

 private:
  struct Box {
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
  Box* box_;  // freed by libuv's close callback
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint32_t keeping_ = 0;
};
