// Host files: what of the host's /etc goes into every jail, because packages below /usr do not work without it.
// Source: a fixed list of names in host_files.cc; applied by template.cc. Taken are only files that every user of the
// host can read, and small ones: a file that its owner has closed, whatever its name, stays outside.
#pragma once
#include <filesystem>

namespace jail {

// Copies what is listed and there from `etc` (the host's /etc) to `to` (the template's). Symbolic links inside listed
// folders stay links, which lead to files of the jail. What is missing is left out.
// Errors: filesystem_error when `to` cannot be written.
void copy_host_files(const std::filesystem::path& etc, const std::filesystem::path& to);

}  // namespace jail
