// The files by which programs learn about the machine, as jails see them: below /proc those that cover the kernel's own
// (jail/init/proc.cc mounts them), and /sys/devices/system/cpu. They show the limits of the jail, and of this machine
// only what any process learns by system calls: its processor, its kernel, how many processors it has.
// Source: this machine's /proc and /sys, read once at the start. Used by: jail/template.cc, jail/sealed_plan.cc.
#pragma once
#include <cstdint>
#include <filesystem>

namespace jail {

// Writes the files below `root`, the tree of a jail's root. What this machine does not say is left out.
//   warder/proc/NAME       covers /proc/NAME; cpuinfo and stat once for each number of processors: cpuinfo.2
//   warder/proc/sys/       covers /proc/sys: settings that programs read
//   sys/devices/system/cpu
void write_machine_files(const std::filesystem::path& root);

// The number of processors that a jail with this limit shows: whole ones, and no more than there are files for.
uint32_t shown_processors(double cpus);

}  // namespace jail
