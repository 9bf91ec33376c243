// DirectoryStream: the only owner of a DIR*, the entries of an open folder. Entries come from readdir(3).
#pragma once
#include <dirent.h>

#include <memory>

#include "supervisor/base/fd.h"

struct CloseDirectoryStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectoryStream>;

// The entries of `folder`, which is open for reading. The stream owns the descriptor: dirfd(3). nullptr: it failed,
// errno says why, and the descriptor is closed.
inline DirectoryStream stream_of(Fd folder) {
  DirectoryStream stream(::fdopendir(folder.get()));
  if (stream) (void)folder.release();
  return stream;
}
