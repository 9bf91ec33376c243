#include "supervisor/cluster/trust/private_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "supervisor/base/durable.h"
#include "supervisor/base/random.h"

namespace cluster {
namespace {

Result<Fd> open_regular(const std::string& path, struct stat& info) {
  // O_NONBLOCK: the open of a FIFO would wait for a writer.
  TRY(Fd file, open_without_links(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (::fstat(file.get(), &info) < 0) return fail_errno(errno, "fstat " + path);
  if (!S_ISREG(info.st_mode)) return fail(Code::denied, path + ": not a regular file", "remove it");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(Code::denied,
                fmt::format("{}: it belongs to the user {}, not to root or to this user", path, info.st_uid),
                "chown root:root the file, and check who wrote it");
  return file;
}

// A credential of this service (systemd.exec(5)): of root, with an ACL for the service's user, which fstat(2) shows as
// a bit of the group.
bool is_credential(const std::string& path) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder && *folder == '/' && path.starts_with(std::string(folder) + "/");
}

struct SplitPath {
  std::string folder, name;
};

SplitPath split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<std::string> read_private_file(const std::string& path) {
  struct stat info {};
  TRY(const Fd file, open_regular(path, info));
  const mode_t foreign = is_credential(path) ? 0137 : 0177;
  if ((info.st_mode & foreign) != 0)
    return fail(Code::denied,
                fmt::format("{}: its mode is {:04o}: other users can read or write it", path, info.st_mode & 07777),
                "chmod 600 the file; if others may have read it, make a new key: warder cluster rotate");
  return read_complete(file.get(), kMaxPrivateFile);
}

Result<std::string> read_trusted_file(const std::string& path, size_t max_bytes) {
  struct stat info {};
  TRY(const Fd file, open_regular(path, info));
  if ((info.st_mode & 022) != 0)
    return fail(Code::denied,
                fmt::format("{}: its mode is {:04o}: other users can write it", path, info.st_mode & 07777),
                "chmod 644 the file, and check its content: warder cluster show");
  return read_complete(file.get(), max_bytes);
}

Result<> write_whole_file(const std::string& path, std::string_view text, mode_t mode, Existing existing) {
  const SplitPath at = split_path(path);
  TRY(const RelativePath name, RelativePath::parse(at.name));
  TRY(const RelativePath fresh, RelativePath::parse(fmt::format(".{}.{}.new", at.name.substr(0, 100), random_hex(8))));
  TRY(const Fd folder, open_directory(at.folder));
  TRY(const Fd file, open_beneath(folder.get(), fresh, O_WRONLY | O_CREAT | O_EXCL, 0600));
  const auto write = [&]() -> Result<> {
    CHECKED(write_all(file.get(), text));
    if (::fchmod(file.get(), mode) < 0) return fail_errno(errno, "chmod " + path);
    if (const int failed = durable::sync_file(file.get())) return fail_errno(failed, "write " + path);
    return rename_beneath(folder.get(), fresh, name, existing);
  };
  if (auto written = write(); !written) {
    (void)unlink_beneath(folder.get(), fresh, Removing::file);
    if (written.error().err == EEXIST)
      return fail(Code::invalid, path + " exists already", "move it away first; it is not replaced");
    return written;
  }
  TRY(const Fd listed, open_beneath(folder.get(), RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(listed.get())) return fail_errno(failed, "write " + path);
  return {};
}

}  // namespace cluster
