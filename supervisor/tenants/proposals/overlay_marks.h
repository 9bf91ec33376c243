// Overlay marks: how overlayfs notes in an upper folder that an entry of the lower folder is removed, or that a folder
// replaces the lower one. Facts: Documentation/filesystems/overlayfs.rst; the mount has the option `userxattr`, so all
// attributes begin with "user.overlay.".
// Used by: upper_layer.cc. Errors: those of base/path.h.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/index/walk.h"

namespace proposals {

// OverlayMarks: the marks of one entry in an upper folder.
struct OverlayMarks {
  bool is_whiteout = false;  // the lower entry of this name is removed
  bool is_opaque = false;    // a folder that hides the lower folder of this name
  bool is_copy = false;      // the entry was copied from the lower folder when it was first changed
  bool is_partial = false;   // the entry has no data of its own, or stands for an entry of another name: of no use here
};

// Linux makes a whiteout as a character device 0:0. Since 6.7 a lower layer may also have empty files with an attribute
// as whiteouts, and a folder with such files has the mark opaque "x", which does not mean that it is opaque.
Result<OverlayMarks> read_marks(int root, const std::string& path, const tenants::Entry& entry);
// Removes all attributes of overlayfs from the entry. A file without the owner's right to write gets it for a moment.
Result<> strip_marks(int root, const std::string& path, const tenants::Entry& entry);

}  // namespace proposals
