#include "supervisor/programs/cli/admin/journal_file.h"

#include <filesystem>

namespace admin {

std::string journal_file(const std::string& named) {
  std::error_code removed;
  for (const char* below : {"journal/journal.db", "journal.db"}) {
    const auto file = std::filesystem::path(named) / below;
    for (const auto& there : {file, file.parent_path() / "in-use"})
      if (std::filesystem::exists(there, removed)) return file.string();
  }
  return named;
}

Result<journal::Database> open_journal(const std::string& file) {
  auto opened = journal::Database::open(file, journal::Database::Access::read_only);
  if (opened) {
    auto started = opened->execute("BEGIN");
    if (started) started = opened->execute("SELECT count(*) FROM parts");  // whether it is a journal at all
    if (!started) opened = tl::unexpected<Error>(std::move(started).error());
  }
  if (opened) return opened;
  return fail(Code::unavailable, file + " cannot be read: " + opened.error().what,
              "name the daemon's journal.db or its state folder, and call as root or as the daemon's user");
}

}  // namespace admin
