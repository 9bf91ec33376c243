#include "supervisor/base/epoll_set.h"

#include <sys/epoll.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "supervisor/base/log.h"

namespace {

constexpr int kEventsAtOnce = 64;

uint64_t make_token(uint32_t slot, uint32_t generation) { return static_cast<uint64_t>(generation) << 32 | slot; }
uint32_t slot_of(uint64_t token) { return static_cast<uint32_t>(token); }

}  // namespace

EpollSet::EpollSet(uv_loop_t* loop) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), box_(new EpollEntry{{}, this}) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  box_->handle.data = box_;
  if (int rc = uv_poll_init(loop, &box_->handle, epoll_.get()); rc < 0)
    throw std::runtime_error(std::string("uv_poll_init: ") + uv_strerror(rc));
  uv_poll_start(&box_->handle, UV_READABLE,
                [](uv_poll_t* handle, int, int) { static_cast<EpollEntry*>(handle->data)->set->take_events(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(&box_->handle));
}

EpollSet::~EpollSet() {
  for (Slot& slot : slots_)
    if (slot.entry) remove(*slot.entry);
  uv_close(reinterpret_cast<uv_handle_t*>(&box_->handle),
           [](uv_handle_t* handle) { delete static_cast<EpollEntry*>(handle->data); });
}

Result<> EpollSet::add(Entry& entry, int fd) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_slots_.back();
  epoll_event event{};
  event.events = EPOLLONESHOT;
  event.data.u64 = make_token(slot, slots_[slot].generation);
  int rc = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  // The set may still hold an open file under this number that another process keeps open.
  if (rc < 0 && errno == EEXIST) rc = ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  if (rc < 0) return fail_errno(errno, "epoll_ctl");
  free_slots_.pop_back();
  slots_[slot].entry = &entry;
  entry.set_ = this;
  entry.fd_ = fd;
  entry.token_ = event.data.u64;
  return {};
}

void EpollSet::remove(Entry& entry) {
  if (entry.set_ != this) return;
  entry.keep_loop_running(false);
  // The kernel forgets a descriptor at its close. It needs epoll_ctl(2) if another process has the same open file.
  if (entry.armed_ != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.fd_, nullptr);
  const uint32_t slot = slot_of(entry.token_);
  slots_[slot].entry = nullptr;
  slots_[slot].generation++;
  free_slots_.push_back(slot);
  entry.set_ = nullptr;
}

EpollSet::Entry* EpollSet::find(uint64_t token) const {
  const uint32_t slot = slot_of(token);
  return slot < slots_.size() && make_token(slot, slots_[slot].generation) == token ? slots_[slot].entry : nullptr;
}

void EpollSet::Entry::wait_for(uint32_t events) {
  if (!set_ || (armed_ & events) == events) return;
  epoll_event event{};
  event.events = armed_ | events | EPOLLONESHOT;
  event.data.u64 = token_;
  if (::epoll_ctl(set_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event) < 0)
    return log_error("epoll_ctl: {}", std::generic_category().message(errno));
  armed_ |= events;
}

void EpollSet::Entry::keep_loop_running(bool keep) {
  if (!set_ || keep == keeps_loop_) return;
  keeps_loop_ = keep;
  set_->keeping_ += keep ? 1 : -1u;
  auto* handle = reinterpret_cast<uv_handle_t*>(&set_->box_->handle);
  if (set_->keeping_ == 0) {
    uv_unref(handle);
  } else {
    uv_ref(handle);
  }
}

void EpollSet::take_events() {
  epoll_event events[kEventsAtOnce];
  const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, 0);
  for (int i = 0; i < count; i++) {
    Entry* entry = find(events[i].data.u64);
    if (!entry) continue;  // removed by an earlier one of these
    entry->armed_ = 0;     // EPOLLONESHOT
    entry->on_events(events[i].events);
  }
}
