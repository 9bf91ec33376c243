// Host files: the files of the host's /etc that go into every jail, because packages below /usr need them.
// Source: a fixed list of names in host_files.cc. Used by: jail/template.cc. Only small files that every user of the
// host can read are taken: a file that its owner has closed stays outside, even if its name is listed.
#pragma once
#include <filesystem>

namespace jail {

// Copies the listed files and folders that exist, from `etc` (the host's /etc) to `to` (the template's). Symbolic links
// inside listed folders stay links; in a jail they lead to files of the jail. Missing files are skipped; for
// some, a link takes their place to the file that a package layer may have below /usr.
// Errors: filesystem_error when `to` cannot be written.
void copy_host_files(const std::filesystem::path& etc, const std::filesystem::path& to);

}  // namespace jail
