#include "jail/template_file.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"

namespace jail {

void write_template_file(const std::filesystem::path& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) throw std::filesystem::filesystem_error("open", path, std::error_code(errno, std::system_category()));
  if (const auto written = write_all(file.get(), text); !written)
    throw std::filesystem::filesystem_error(written.error().what, path, std::make_error_code(std::errc::io_error));
}

}  // namespace jail
