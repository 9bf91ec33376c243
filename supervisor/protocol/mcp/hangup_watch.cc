#include "supervisor/protocol/mcp/hangup_watch.h"

#include <fcntl.h>

namespace mcp {

std::unique_ptr<HangupWatch> HangupWatch::start(Loop& loop, int socket, std::function<void()> fn) {
  auto hangup = std::make_unique<HangupWatch>();
  hangup->fd_.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  auto box = std::make_unique<Box>();
  if (!hangup->fd_ || uv_poll_init(loop.uv(), &box->handle, hangup->fd_.get()) < 0) return nullptr;
  box->fn = std::move(fn);
  box->handle.data = box.get();
  hangup->box_.reset(box.release());
  // The watcher itself asks only for UV_PRIORITIZED (out-of-band data).
  uv_poll_start(&hangup->box_->handle, UV_PRIORITIZED, [](uv_poll_t* handle, int, int) {
    const NamedWork named_work(LoopWork::other);
    uv_poll_stop(handle);  // out-of-band data would wake the loop without end; a failed write shows the close
    static_cast<Box*>(handle->data)->fn();
  });
  return hangup;
}

}  // namespace mcp
