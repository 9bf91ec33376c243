// The jail's /proc: its own processes, and few of the kernel's other entries. Where programs ask about the machine, the
// files of jail/machine_files.h cover the kernel's. proc(5) with subset=pid hides all other entries, but then no file
// can be mounted where programs look for it. So the whole /proc is mounted first, the wanted entries are looked up and
// covered, and then a remount hides the others: from then on the kernel looks up processes only, but it finds an entry
// that is in its cache, and a mount, or an open descriptor, keeps an entry there. So an entry that a newer kernel adds
// is hidden, too. Source: proc_root_lookup() and proc_reconfigure() in fs/proc, Linux 5.8 to 6.18.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstring>

#include "jail/init/steps.h"
#include "jail/short_text.h"

namespace jail::init {
namespace {

constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
constexpr char kProc[] = "mount/proc";
constexpr char kUuid[] = "mount/proc/sys/kernel/random/uuid", kOurUuid[] = "mount/warder/proc/sys/kernel/random/uuid";

// The kernel's own: links into the processes' folders; the time since the machine's start, which is a clock, too, with
// the sum of its idle time; and what uname(2) says, with the kernel's builder and compiler. Process 1 has them open
// until the jail ends.
constexpr const char* kKernels[] = {"mounts", "net", "uptime", "version"};
// Covered by a file of the same name below /warder/proc; cpuinfo and stat by that of the jail's number of processors.
// Each costs 20 us of processor time in every jail, so what few programs read is not among them.
constexpr const char* kOurs[] = {"loadavg", "filesystems", "vmstat", "sys"};
constexpr const char* kOfProcessors[] = {"cpuinfo", "stat"};

// Lines of meminfo.
constexpr const char* kLimitLines[] = {"MemTotal", "MemFree", "MemAvailable"};
constexpr const char* kZeroLines[] = {"Buffers",     "Cached",       "SwapCached", "Active",      "Inactive",
                                      "Unevictable", "Mlocked",      "SwapTotal",  "SwapFree",    "Dirty",
                                      "Writeback",   "AnonPages",    "Mapped",     "Shmem",       "KReclaimable",
                                      "Slab",        "SReclaimable", "SUnreclaim", "KernelStack", "PageTables"};

// The descriptor stays open until process 1 ends.
int open_entry(const char* name) {
  ShortText<64> path;
  path << kProc << "/" << name;
  return open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

// The source is on a read-only mount, whose flags the cover has. A copy of a zygote takes it from the zygote's home,
// where the kernel has looked the names up already. Not every kernel has every entry; an entry that has no source would
// stay in the kernel's cache, uncovered.
int cover(const char* name, const char* source) {
  ShortText<64> from, to;
  from << (plan->role == Role::forked ? "/warder/proc/" : "mount/warder/proc/") << source;
  to << kProc << "/" << name;
  if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return 0;
  if (errno != ENOENT) return errno;
  return syscall(SYS_faccessat, AT_FDCWD, to.c_str(), F_OK) < 0 && errno == ENOENT ? 0 : EBADMSG;
}

int cover_of_processors(const char* name) {
  ShortText<64> source;
  source << name << "." << plan->shown_processors;
  return cover(name, source.c_str());
}

// meminfo has the jail's limit, which other jails of the template do not share. It is written to the jail's /dev/shm,
// and its name there is removed.
int cover_memory() {
  constexpr char kName[] = "mount/dev/shm/meminfo";
  const uint64_t all = plan->shown_memory_bytes >> 10;
  ShortText<1024> text;
  for (const char* line : kLimitLines) text << line << ": " << all << " kB\n";
  for (const char* line : kZeroLines) text << line << ": 0 kB\n";
  text << "CommitLimit: " << all << " kB\nCommitted_AS: 0 kB\n";
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, kName, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444));
  if (fd < 0) return errno;
  const auto length = static_cast<ssize_t>(strlen(text.c_str()));
  const ssize_t written = write(fd, text.c_str(), static_cast<size_t>(length));
  int error = written == length ? 0 : written < 0 ? errno : ENOSPC;
  if (error == 0) error = outcome_of(syscall(SYS_fchmod, fd, 0444));  // the umask does not count
  close(fd);
  if (error == 0) error = bind_mount(kName, "mount/proc/meminfo", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
  if (int e = outcome_of(syscall(SYS_unlinkat, AT_FDCWD, kName, 0)); error == 0) error = e;
  return text.is_cut() ? ENAMETOOLONG : error;
}

int cover_entries() {
  for (const char* name : kKernels)
    if (open_entry(name) < 0 && errno != ENOENT) return errno;
  for (const char* name : kOurs)
    if (int error = cover(name, name)) return error;
  for (const char* name : kOfProcessors)
    if (int error = cover_of_processors(name)) return error;
  return cover_memory();
}

bool is_of_processes(const char* name) {
  if (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0) return true;
  while ((*name >= '0' && *name <= '9') || *name == '.') name++;
  return *name == '\0';
}

// Whether the kernel lists processes only: then it looks up no other entry either. It would list the others first.
int check_hidden() {
  alignas(dirent) char list[4096];  // getdents64(2) writes what the C library calls dirent
  const int folder = open(kProc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const long size = folder < 0 ? -1 : syscall(SYS_getdents64, folder, list, sizeof list);
  int error = size < 0 ? errno : size == 0 ? EBADMSG : 0;
  for (long at = 0; error == 0 && at < size;) {
    const auto* entry = reinterpret_cast<const dirent*>(list + at);
    if (!is_of_processes(entry->d_name)) error = ENOTSUP;
    at += entry->d_reclen;
  }
  if (folder >= 0) close(folder);
  return error;
}

int hide_entries(unsigned long flags) {
  if (mount(nullptr, kProc, nullptr, MS_REMOUNT | flags, "subset=pid,hidepid=invisible") < 0) return errno;
  return check_hidden();
}

// The kernel's uuid gives a new number at each read. A zygote's home has it among our files already.
int cover_all() {
  if (plan->role == Role::forked) return cover_entries();
  const int uuid = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, kUuid, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (uuid < 0) return errno;
  int error = cover_entries();
  if (error == 0) error = outcome_of(syscall(SYS_move_mount, uuid, "", AT_FDCWD, kUuid, MOVE_MOUNT_F_EMPTY_PATH));
  close(uuid);
  return error;
}

}  // namespace

int mount_proc() {
  // hidepid hides processes of other ids.
  return outcome_of(mount("proc", kProc, "proc", kFlags, "hidepid=invisible"));
}

int hide_kernel() {
  // Read-only, because code needs no write there. With a shared identity the runner must write its id map (confine.cc).
  const unsigned long flags = kFlags | (plan->identity == Identity::shared ? 0 : MS_RDONLY);
  report.proc = ProcView::machine;
  report.proc_error = cover_all();
  if (report.proc_error == 0) report.proc_error = hide_entries(flags);
  if (report.proc_error == 0) return 0;
  if (umount2(kProc, MNT_DETACH) < 0) return errno;
  // The stricter view, where the others cannot be hidden.
  report.proc = ProcView::processes;
  return outcome_of(mount("proc", kProc, "proc", flags, "subset=pid,hidepid=invisible"));
}

int mount_whole_proc() {
  // The kernel lets a process mount a /proc only if it already sees a whole one (mount_too_revealing() in
  // fs/namespace.c).
  if (mount("proc", kProc, "proc", kFlags, nullptr) < 0) return errno;
  // The zygote's jails cover the kernel's entries with these files, in an overlay that only this tenant's jails share.
  if (plan->root == RootMode::overlay &&
      mount("overlay", "mount/warder/proc", "overlay", MS_RDONLY | kFlags, "lowerdir=root/warder/proc:empty") < 0)
    return errno;
  return bind_mount(kUuid, kOurUuid, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

}  // namespace jail::init
