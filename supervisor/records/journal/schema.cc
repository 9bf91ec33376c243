#include "supervisor/records/journal/schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "supervisor/base/fd.h"

namespace journal {
namespace {

// "WRDJ": marks the file as a journal of this program (PRAGMA application_id).
constexpr int64_t kApplication = 0x5752444a;
constexpr int64_t kFormat = 1;  // PRAGMA user_version: the format of the table `parts`

// The reason why the program must not write the file; empty: it may write it, or the file is empty.
Result<std::optional<std::string>> objection(Database& database) {
  TRY(auto tables, database.number("SELECT count(*) FROM sqlite_master"));
  if (tables.value_or(0) == 0) return std::optional<std::string>();
  TRY(auto application, database.number("PRAGMA application_id"));
  if (application != kApplication) return std::optional<std::string>("it is the database of another program");
  TRY(auto format, database.number("PRAGMA user_version"));
  if (format.value_or(0) > kFormat) return std::optional<std::string>("a later version of Warder wrote it");
  TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
  TRY(bool row, check.step());
  if (!row || check.text(0) != "ok") return std::optional<std::string>("it is damaged: " + (row ? check.text(0) : ""));
  return std::optional<std::string>();
}

// SQLite reports bytes that the disk cannot read as damage. Such a file is not replaced by an empty one: a copy on
// another disk may still have its rows.
Result<> check_readable(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(errno, "open " + path);
  std::string part(1 << 20, 0);
  for (size_t at = 0;;) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got == 0) return {};
    if (got < 0) {
      auto error = fail_errno(errno, fmt::format("{}: the bytes from {} on cannot be read", path, at));
      error.value().hint =
          "copy the folder of the state to another disk, or restore a backup; moved away by hand, the file is "
          "replaced by an empty journal";
      return error;
    }
    at += static_cast<size_t>(got);
  }
}

Result<std::string> set_aside(const std::string& path) {
  const std::string location = fmt::format("{}.set-aside-{}-{}", path, std::time(nullptr), ::getpid());
  if (::rename(path.c_str(), location.c_str()) < 0) return fail_errno(errno, "rename " + path);
  for (const char* beside : {"-wal", "-shm"}) ::rename((path + beside).c_str(), (location + beside).c_str());
  return location;
}

bool is_regular(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

struct Tried {
  std::optional<Database> database;
  std::string objection;
};

Result<Tried> try_open(const std::string& path, const std::vector<SchemaPart>& parts) {
  Tried tried;
  auto reply = [&tried](const Error& error) -> Result<Tried> {
    // An error of the disk or the folder would also stop a new file.
    if (error.code != Code::internal) return tl::unexpected<Error>(error);
    tried.objection = error.what;
    return std::move(tried);
  };
  auto opened = Database::open(path);
  if (!opened) return reply(opened.error());
  auto why = objection(*opened);
  if (!why) return reply(why.error());
  if (*why) {
    tried.objection = **why;
    return tried;
  }
  if (auto migrated = migrate(*opened, parts); !migrated) {
    if (migrated.error().code == Code::exhausted) return tl::unexpected<Error>(std::move(migrated).error());
    tried.objection = migrated.error().what;
    return tried;
  }
  tried.database = *std::move(opened);
  return tried;
}

}  // namespace

Result<> migrate(Database& database, const std::vector<SchemaPart>& parts) {
  TRY(Transaction transaction, Transaction::begin(database));
  CHECKED(database.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={};"
                                       "CREATE TABLE IF NOT EXISTS parts(name TEXT PRIMARY KEY, version INTEGER NOT "
                                       "NULL) WITHOUT ROWID",
                                       kApplication, kFormat)
                               .c_str()));
  for (const SchemaPart& part : parts) {
    size_t version = 0;
    {
      TRY(Statement statement, database.prepare("SELECT version FROM parts WHERE name=?"));
      TRY(bool row, statement.bind(part.name).step());
      if (row) version = static_cast<size_t>(statement.integer(0));
    }
    if (version > part.steps.size())
      return fail(Code::unavailable, fmt::format("{}: '{}' has version {}, this version of Warder knows {}",
                                                 database.path(), part.name, version, part.steps.size()));
    for (; version < part.steps.size(); version++) CHECKED(database.execute(part.steps[version]));
    TRY(Statement now, database.prepare("INSERT INTO parts VALUES(?,?) ON CONFLICT(name) DO UPDATE SET version=?2"));
    CHECKED(now.bind(part.name).bind(static_cast<int64_t>(version)).run());
  }
  return transaction.commit();
}

Result<Opened> open_checked(const std::string& path, const std::vector<SchemaPart>& parts) {
  const bool existed = is_regular(path);
  TRY(Tried tried, try_open(path, parts));
  if (tried.database) return Opened{*std::move(tried.database), {}};
  if (!existed) return fail(Code::internal, fmt::format("{} cannot be made: {}", path, tried.objection));
  CHECKED(check_readable(path));
  TRY(std::string location, set_aside(path));
  TRY(Tried retry, try_open(path, parts));
  if (!retry.database) return fail(Code::internal, fmt::format("{} cannot be made: {}", path, retry.objection));
  return Opened{*std::move(retry.database),
                fmt::format("{} is not used: {}; it was renamed to {}", path, tried.objection, location)};
}

}  // namespace journal
