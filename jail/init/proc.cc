// The jail's /proc: its own processes, and few of the kernel's other entries. All others are covered: where programs
// ask about the machine, by the files of jail/machine_files.h; else by an empty folder, or by a file without the right
// to read it. So an entry that a newer kernel adds is covered, too. proc(5) with subset=pid would hide all entries, but
// then no file could be mounted where programs look for it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstring>

#include "jail/init/short_text.h"
#include "jail/init/steps.h"

namespace jail::init {
namespace {

constexpr char kProc[] = "mount/proc", kUuid[] = "mount/proc/sys/kernel/random/uuid";

// The kernel's own: links into the processes' folders; objects of the jail's ipc namespace; and the time since the
// machine's start, which is a clock, too, with the sum of its idle time.
constexpr const char* kKernels[] = {"self", "thread-self", "mounts", "net", "sysvipc", "uptime"};
// Covered by a file of the same name below /warder/proc; cpuinfo and stat by that of the jail's number of processors.
constexpr const char* kOurs[] = {"loadavg", "filesystems", "swaps",   "vmstat", "devices", "cgroups", "partitions",
                                 "cmdline", "diskstats",   "modules", "locks",  "mdstat",  "version", "sys"};
constexpr const char* kOfProcessors[] = {"cpuinfo", "stat"};

// Lines of meminfo.
constexpr const char* kLimitLines[] = {"MemTotal", "MemFree", "MemAvailable"};
constexpr const char* kZeroLines[] = {"Buffers",     "Cached",       "SwapCached", "Active",      "Inactive",
                                      "Unevictable", "Mlocked",      "SwapTotal",  "SwapFree",    "Dirty",
                                      "Writeback",   "AnonPages",    "Mapped",     "Shmem",       "KReclaimable",
                                      "Slab",        "SReclaimable", "SUnreclaim", "KernelStack", "PageTables"};

template <size_t kCount>
bool is_among(const char* name, const char* const (&list)[kCount]) {
  for (const char* one : list)
    if (strcmp(name, one) == 0) return true;
  return false;
}

// The source is on the jail's own read-only root, and the mount has its flags.
int cover(const char* name, const char* source) {
  ShortText<320> from, to;
  from << "mount/warder/proc/" << source;
  to << kProc << "/" << name;
  if (from.is_cut() || to.is_cut()) return ENAMETOOLONG;
  return outcome_of(mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr));
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
  const size_t length = strlen(text.c_str());
  int error = write(fd, text.c_str(), length) == static_cast<ssize_t>(length) ? 0 : errno;
  if (error == 0) error = outcome_of(syscall(SYS_fchmod, fd, 0444));  // whatever the umask
  close(fd);
  if (error == 0) error = bind_mount(kName, "mount/proc/meminfo", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
  if (int e = outcome_of(syscall(SYS_unlinkat, AT_FDCWD, kName, 0)); error == 0) error = e;
  return text.is_cut() ? ENAMETOOLONG : error;
}

// Files that only the host's root may read: no process of a jail has its id.
bool is_roots_alone(int folder, const char* name) {
  struct stat info {};
  if (syscall(SYS_newfstatat, folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return false;
  return S_ISREG(info.st_mode) && (info.st_mode & 0077) == 0 && info.st_uid != kInitId && info.st_uid != kRunnerId;
}

bool is_number(const char* name) {
  while (*name >= '0' && *name <= '9') name++;
  return *name == '\0';
}

int cover_entry(int folder, const char* name, unsigned char type) {
  if (is_number(name) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_among(name, kKernels)) return 0;
  if (is_among(name, kOurs)) return cover(name, name);
  if (is_among(name, kOfProcessors)) return cover_of_processors(name);
  if (strcmp(name, "meminfo") == 0) return cover_memory();
  if (type == DT_DIR) return cover(name, "no_folder");
  if (type != DT_REG) return ENOTSUP;  // a link, which cannot be covered
  return is_roots_alone(folder, name) ? 0 : cover(name, "no_file");
}

int cover_entries(int folder) {
  alignas(dirent) char list[8192];  // getdents64(2) writes what the C library calls dirent
  for (;;) {
    const long size = syscall(SYS_getdents64, folder, list, sizeof list);
    if (size <= 0) return size < 0 ? errno : 0;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent*>(list + at);
      if (int error = cover_entry(folder, entry->d_name, entry->d_type)) return error;
      at += entry->d_reclen;
    }
  }
}

int cover_kernel() {
  const int uuid = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, kUuid, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (uuid < 0) return errno;
  const int folder = open(kProc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = folder < 0 ? errno : cover_entries(folder);
  if (folder >= 0) close(folder);
  if (error == 0) error = outcome_of(syscall(SYS_move_mount, uuid, "", AT_FDCWD, kUuid, MOVE_MOUNT_F_EMPTY_PATH));
  close(uuid);
  return error;
}

}  // namespace

int mount_proc() {
  // hidepid hides processes of other ids. Read-only, because code needs no write there. With a shared identity the
  // runner must write its id map (confine.cc).
  const unsigned long access = plan->identity == Identity::shared ? 0 : MS_RDONLY;
  const unsigned long flags = access | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  report.proc = ProcView::machine;
  report.proc_error = outcome_of(mount("proc", kProc, "proc", flags, "hidepid=invisible"));
  if (report.proc_error == 0) {
    report.proc_error = cover_kernel();
    if (report.proc_error == 0) return 0;
    if (umount2(kProc, MNT_DETACH) < 0) return errno;
  }
  // The stricter view, where not every entry can be covered.
  report.proc = ProcView::processes;
  return outcome_of(mount("proc", kProc, "proc", flags, "subset=pid,hidepid=invisible"));
}

int mount_whole_proc() {
  // The kernel lets a process mount a /proc only if it already sees a whole one (mount_too_revealing() in
  // fs/namespace.c).
  return outcome_of(mount("proc", kProc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
}

}  // namespace jail::init
