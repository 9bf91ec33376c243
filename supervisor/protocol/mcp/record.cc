#include "supervisor/protocol/mcp/record.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/tree.h"

namespace mcp {

namespace {

constexpr char kFormat[8] = {'w', 'a', 'r', 'd', 'e', 'r', '-', '1'};
constexpr size_t kMaxTextBytes = 1 << 20;  // the ids of a connection's requests are at most 256 KiB
constexpr size_t kMaxRestBytes = 64 << 20;

bool read_all(int fd, void* to, size_t bytes, uint64_t at) {
  return read_fully_at(fd, static_cast<char*>(to), bytes, at) == static_cast<ssize_t>(bytes);
}

bool write_all(int fd, std::string_view bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
    at += put;
  }
  return true;
}

}  // namespace

struct ConnectionRecord::Header {
  char format[8];
  uint32_t busy;
  uint32_t text_bytes;
  uint64_t rest_bytes;
};

Result<ConnectionRecord> ConnectionRecord::make() {
  Fd file(::memfd_create("warder-connection", MFD_CLOEXEC));
  if (!file) return fail_errno(errno, "memfd_create");
  return ConnectionRecord(std::move(file));
}

Result<ConnectionRecord::Read> ConnectionRecord::read() const {
  const auto broken = [](std::string_view why) {
    return fail(Code::invalid, "the record of a connection " + std::string(why));
  };
  Header header{};
  struct stat file {};
  if (::fstat(file_.get(), &file) < 0 || !S_ISREG(file.st_mode)) return broken("is not a regular file");
  if (!read_all(file_.get(), &header, sizeof header, 0)) return broken("is empty");
  if (std::memcmp(header.format, kFormat, sizeof kFormat) != 0) return broken("is of another version");
  if (header.text_bytes > kMaxTextBytes || header.rest_bytes > kMaxRestBytes) return broken("is too long");
  std::string text(header.text_bytes, '\0');
  Read record;
  record.busy = header.busy;
  record.rest.resize(header.rest_bytes);
  const off_t rest_at = static_cast<off_t>(sizeof header + header.text_bytes);
  if (!read_all(file_.get(), text.data(), text.size(), sizeof header) ||
      !read_all(file_.get(), record.rest.data(), record.rest.size(), rest_at))
    return broken("is not complete");
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object() || !(*parsed)["calls"].is_array()) return broken("is not readable");
  record.handshake = std::move((*parsed)["handshake"]);
  for (const Json& id : (*parsed)["calls"]) {
    auto request_id = RequestId::from(id);
    if (!request_id) return broken("has a bad id");
    record.calls.push_back(*std::move(request_id));
  }
  return record;
}

void ConnectionRecord::write(std::string_view handshake, std::string_view ids) {
  std::string text;
  text.reserve(handshake.size() + ids.size() + 32);
  text.append(R"({"handshake":)").append(handshake.empty() ? "null" : handshake);
  text.append(R"(,"calls":[)").append(ids).append("]}");
  if (text.size() > kMaxTextBytes) return make_invalid();
  text_bytes_ = static_cast<uint32_t>(text.size());
  Header header{{}, busy_, text_bytes_, 0};
  std::memcpy(header.format, kFormat, sizeof kFormat);
  iovec parts[] = {{&header, sizeof header}, {text.data(), text.size()}};
  if (::pwritev(file_.get(), parts, 2, 0) != static_cast<ssize_t>(sizeof header + text.size())) make_invalid();
}

void ConnectionRecord::set_busy(Busy kind, bool is) {
  const uint32_t now = is ? busy_ | kind : busy_ & ~static_cast<uint32_t>(kind);
  if (now == busy_) return;
  busy_ = now;
  if (::pwrite(file_.get(), &busy_, sizeof busy_, offsetof(Header, busy)) != sizeof busy_) make_invalid();
}

void ConnectionRecord::write_rest(std::string_view rest) {
  const uint64_t bytes = rest.size();
  if (!write_all(file_.get(), rest, static_cast<off_t>(sizeof(Header) + text_bytes_)) ||
      ::pwrite(file_.get(), &bytes, sizeof bytes, offsetof(Header, rest_bytes)) != sizeof bytes)
    make_invalid();
}

void ConnectionRecord::make_invalid() { (void)!::ftruncate(file_.get(), 0); }

}  // namespace mcp
