// Writes one file of the jail template (template.h). A disk that fills up must not leave a template with an empty
// file, which each later jail would show.
// Used by: template.cc, machine_files.cc.
#pragma once
#include <filesystem>
#include <string_view>

namespace jail {

// Writes the whole text, or throws std::filesystem::filesystem_error with the path and the cause. A file that exists
// is written anew. The folder must exist.
void write_template_file(const std::filesystem::path& path, std::string_view text);

}  // namespace jail
