#include "supervisor/programs/cli/admin/archive.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"

extern char** environ;

namespace admin {
namespace {

constexpr char kTar[] = "/usr/bin/tar";

// Runs tar with `file` as its standard input and output. Returns its exit status.
Result<int> run_tar(int file, std::vector<std::string> words) {
  words.insert(words.begin(), "tar");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO}) ::posix_spawn_file_actions_adddup2(&actions, file, standard);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, kTar, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail_errno(failed, std::string("run ") + kTar, Code::unavailable);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail_errno(errno, "wait for tar");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

Result<> rewind_file(int file) {
  if (::lseek(file, 0, SEEK_SET) == 0) return {};
  return fail_errno(errno, "read the archive from its begin", Code::invalid);
}

}  // namespace

Result<Fd> make_archive(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file && errno == EEXIST) return fail(Code::invalid, path + " exists already", "name a new file");
  if (!file) return fail_path(errno, "make", path);
  return file;
}

Result<bool> write_archive(int file, const std::vector<ArchivePart>& parts, const std::vector<std::string>& excluded) {
  std::vector<std::string> words = {"--create",   "--file=-",        "--format=gnu",
                                    "--sparse",   "--numeric-owner", "--one-file-system",
                                    "--anchored", "--wildcards",     "--no-wildcards-match-slash"};
  for (const std::string& path : excluded) words.push_back("--exclude=" + path);
  std::vector<Fd> folders;  // tar inherits them
  for (const ArchivePart& part : parts) {
    if (part.entries.empty()) continue;
    folders.emplace_back(::fcntl(part.folder, F_DUPFD, 3));
    if (!folders.back()) return fail_errno(errno, "open a folder for tar");
    words.push_back("--directory=" + descriptor_path(folders.back().get()));
    for (const std::string& entry : part.entries) words.push_back("--add-file=" + entry);
  }
  TRY(const int status, run_tar(file, std::move(words)));
  if (status > 1) return fail(Code::unavailable, "tar failed; its messages are above");
  return status == 1;
}

Result<> unpack_archive(int file, const std::string& folder) {
  CHECKED(rewind_file(file));
  TRY(const int status,
      run_tar(file, {"--extract", "--file=-", "--directory=" + folder, "--numeric-owner", "--same-owner",
                     "--same-permissions", "--delay-directory-restore", "--keep-old-files"}));
  if (status != 0) return fail(Code::unavailable, "tar failed; its messages are above");
  return {};
}

}  // namespace admin
