// HttpTransport::Post: one POST of a message that is under way, with the memory of its reply. For the parts of
// HttpTransport alone: http_transport.cc, http_streams.cc.
#pragma once
#include "supervisor/upstream/http_transport.h"

namespace upstream {

struct HttpTransport::Post {
  Post(Loop& loop, std::optional<int64_t> of, size_t& all) : id(of), held_by_all(all), task(loop) {}
  ~Post() {
    task.cancel_all();
    held_by_all -= reserved;
  }
  Post(const Post&) = delete;
  std::optional<int64_t> id;
  size_t& held_by_all;
  size_t reserved = 0;
  bool is_answered = false;
  Deadline grace;
  Scope task;
};

}  // namespace upstream
