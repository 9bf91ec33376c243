// Archive: tar files, written and read by tar(1), for `warder tenant export`, `warder backup` and `warder restore`.
// Folders of tenants hold what jails made: tar never follows a link of theirs, stores a file with several names once,
// and the holes of sparse files as holes. An archive is checked by this code before tar reads it. Errors: invalid: the
// archive has what a backup never has, naming the entry; unavailable: tar is missing or failed.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace admin {

// A folder (O_PATH is enough), and which of its entries go into the archive, under their own names.
struct ArchivePart {
  int folder = -1;
  std::vector<std::string> entries;
};
// A new file for its owner only. Errors: invalid: it exists.
Result<Fd> make_archive(const std::string& path);
// `excluded`: paths in the archive, with * for one component. Returns whether a file changed while it was read.
Result<bool> write_archive(int file, const std::vector<ArchivePart>& parts, const std::vector<std::string>& excluded);

// Reads the whole archive. Refuses absolute paths, "..", devices, links and FIFOs outside of `tenants/`, paths that
// lead through a link, hard links to what the archive did not name before, files of root that run as root, and paths
// twice. Returns the names of the entries at the top.
Result<std::vector<std::string>> check_archive(int file);
// Unpacks a checked archive into an empty folder, with owners by number, permissions and holes. For root.
Result<> unpack_archive(int file, const std::string& folder);

}  // namespace admin
