// `warder backup` and `warder restore`: the state folder as one tar file. The journal is copied as of one moment, by
// SQLite; other files are copied one after the other while the daemon serves. Root does both, without a daemon.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "supervisor/base/durable.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/base/version.h"
#include "supervisor/programs/cli/admin/archive.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/private_folder.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/records/journal/audit_entries.h"
#include "supervisor/records/journal/journal.h"

namespace admin {
namespace {

constexpr char kLabel[] = "warder-backup.json", kJournalFolder[] = "journal", kKeyFile[] = "master.key";

// The daemon makes these again at each start.
constexpr std::string_view kDerived[] = {"template", "self-test"};

// Proposals name files of the workspace by inode: after a restore, none could be committed.
const std::vector<std::string> kProposals = {"tenants/*/staging", "tenants/*/workspaces/*/staging"};

// What of the state folder goes into the archive as it is.
Result<std::vector<std::string>> entries_of_state(const std::string& state, bool with_key) {
  auto names = read_names(FolderReader::open(state));
  if (!names) return fail(Code::unavailable, names.error().what, "call as root");
  std::vector<std::string> stored;
  for (const std::string& name : *names) {
    const bool is_derived = std::find(std::begin(kDerived), std::end(kDerived), name) != std::end(kDerived);
    if (is_derived || name == kJournalFolder || (name == kKeyFile && !with_key)) continue;
    struct stat info {};
    const std::string path = state + "/" + name;
    if (::lstat(path.c_str(), &info) < 0) return fail_path(errno, "look at", path);
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) stored.push_back(name);
  }
  return stored;
}

// The journal's copy belongs to the owner of the journal's folder, the daemon's user.
Result<> copy_journal(const std::string& state, const std::filesystem::path& to) {
  TRY(const journal::Database database,
      journal::Database::open(journal_file(state), journal::Database::Access::read_only));
  std::filesystem::create_directory(to);
  std::filesystem::permissions(to, std::filesystem::perms::owner_all);
  const std::string copy = to / "journal.db";
  CHECKED(database.copy_to(copy));
  struct stat owner {};
  const std::string folder = state + "/" + kJournalFolder;
  if (::stat(folder.c_str(), &owner) < 0) return fail_path(errno, "look at", folder);
  for (const std::string& path : {to.string(), copy})
    if (::lchown(path.c_str(), owner.st_uid, owner.st_gid) < 0) return fail_path(errno, "give an owner to", path);
  return {};
}

Result<bool> back_up(int archive, const std::string& state, bool with_key) {
  TRY(const Fd folder, open_directory(state));
  TRY(const auto entries, entries_of_state(state, with_key));
  TRY(const PrivateFolder scratch, PrivateFolder::make());
  std::ofstream label(scratch.path() / kLabel);
  label << Json{{"format", 1},
                {"version", kWarderVersion},
                {"made", journal::utc_time(journal::now_ms())},
                {"with_key", with_key}}
               .dump()
        << '\n';
  label.close();
  if (!label)
    return fail(Code::exhausted, "the file " + (scratch.path() / kLabel).string() + " cannot be written",
                "free space there");
  CHECKED(copy_journal(state, scratch.path() / kJournalFolder));
  TRY(const Fd directory, open_directory(scratch.path().string()));
  return write_archive(archive, {{directory.get(), {kLabel, kJournalFolder}}, {folder.get(), entries}}, kProposals);
}

// Another process holds the lock that a daemon holds while it runs.
Result<> check_no_daemon(const std::string& state) {
  const std::string list = state + "/journal/in-use";
  const Fd file(::open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_path(errno, "open", list);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) return {};
  return fail(Code::denied, "a daemon uses " + state, "stop it first: systemctl stop warder.socket warder.service");
}

bool is_empty(const std::string& folder) {
  std::error_code failed;
  return std::filesystem::is_empty(folder, failed) && !failed;
}

// Gives the new folder the owner and permissions of the old one, and its place. The old one stays beside it.
Result<std::string> change_folders(const std::string& fresh, const std::string& state) {
  struct stat old {};
  if (::lstat(state.c_str(), &old) < 0) {
    if (errno != ENOENT) return fail_path(errno, "look at", state);
    if (::rename(fresh.c_str(), state.c_str()) < 0) return fail_errno(errno, "rename " + fresh);
    return std::string();
  }
  if (!S_ISDIR(old.st_mode)) return fail(Code::invalid, state + " is no folder");
  if (::chown(fresh.c_str(), old.st_uid, old.st_gid) < 0 || ::chmod(fresh.c_str(), old.st_mode & 07777) < 0)
    return fail_path(errno, "give an owner to", fresh);
  const std::string aside = fmt::format("{}.before-restore-{}", state, std::time(nullptr));
  if (::rename(state.c_str(), aside.c_str()) < 0) return fail_errno(errno, "rename " + state);
  if (::rename(fresh.c_str(), state.c_str()) < 0) {
    auto failed = fail_errno(errno, "rename " + fresh);
    ::rename(aside.c_str(), state.c_str());
    return failed;
  }
  if (is_empty(aside) && ::rmdir(aside.c_str()) == 0) return std::string();
  return aside;
}

Result<Fd> open_backup(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail_path(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode))
    return fail(Code::invalid, path + " is no regular file");
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & 022) != 0)
    return fail(Code::denied, path + " can be changed by other users while it is read",
                "chown root " + path + "; chmod 600 " + path);
  return file;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Result<int> run_backup(const ParsedCommand& command) {
  const std::string& path = command.words.front();
  const bool with_key = command.has("with-key");
  TRY(const Fd archive, make_archive(path));
  auto changed = back_up(archive.get(), command.value("state", kStandardState), with_key);
  if (!changed) {
    ::unlink(path.c_str());
    return tl::unexpected<Error>(std::move(changed).error());
  }
  if (const int failed = durable::sync_file(archive.get()); failed != 0) return fail_path(failed, "write", path);
  if (*changed)
    cli::print_text(stderr, "some files changed while they were read: each is whole or cut, as it was then\n");
  if (!with_key)
    cli::print_text(stderr,
                    "master.key is not in the backup: without it no PII token can be restored. Keep it at another "
                    "place, or use --with-key and guard the file\n");
  cli::print_text(stdout, path + " has the state of the daemon\n");
  return 0;
}
const ProgramOfCommand kRunBackup{"backup", run_backup};

Result<int> run_restore(const ParsedCommand& command) {
  const std::string state = without_slashes(command.value("state", kStandardState));
  if (::geteuid() != 0) return fail(Code::denied, "only root can give files their owners", "call as root");
  TRY(const Fd archive, open_backup(command.words.front()));
  TRY(const auto top, check_archive(archive.get()));
  for (const char* needed : {kLabel, kJournalFolder})
    if (std::find(top.begin(), top.end(), needed) == top.end())
      return fail(Code::invalid, command.words.front() + " is no backup: it has no " + needed);
  CHECKED(check_no_daemon(state));
  if (std::filesystem::exists(state) && !is_empty(state) && !command.has("force"))
    return fail(Code::denied, state + " is not empty", "add --force, which renames it first");
  const std::string fresh = fmt::format("{}.restore-{}", state, ::getpid());
  if (::mkdir(fresh.c_str(), 0700) < 0) return fail_path(errno, "make", fresh);
  auto done = unpack_archive(archive.get(), fresh);
  std::string aside;
  if (done) {
    ::unlink((fresh + "/" + kLabel).c_str());
    auto changed = change_folders(fresh, state);
    if (changed) {
      aside = *std::move(changed);
    } else {
      done = tl::unexpected<Error>(std::move(changed).error());
    }
  }
  if (!done) {
    std::error_code ignored;
    std::filesystem::remove_all(fresh, ignored);
    return tl::unexpected<Error>(std::move(done).error());
  }
  if (std::find(top.begin(), top.end(), kKeyFile) == top.end())
    cli::print_text(stderr, "the backup has no master.key: put the old one into " + state +
                                " before the daemon starts, or PII tokens cannot be restored\n");
  cli::print_text(stdout, state + " is restored" + (aside.empty() ? "" : "; the earlier state is " + aside) + "\n");
  return 0;
}
const ProgramOfCommand kRunRestore{"restore", run_restore};

}  // namespace admin
