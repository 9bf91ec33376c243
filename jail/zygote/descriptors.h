// Descriptors of an interpreter's event loops, made new in each copy. If copies shared an epoll instance or a pipe with
// the zygote, two jails would have a channel between them. So a copy closes all these descriptors, and makes others of
// the same kind under the same numbers, which the interpreter knows.
// Used by: jail/zygote/node.cc.
#pragma once

namespace jail::zygote {

// In the zygote: records the descriptors above the order socket, and fills every free number below the highest. Then a
// pipe that libuv replaces in a fork gets its old number again. Returns 0 or a positive errno; ENOTSUP for a kind of
// descriptor that a copy could not make.
int note_descriptors();
// In a copy, where no descriptor above the guest socket is open: makes them. Returns 0 or a positive errno.
int make_descriptors();

}  // namespace jail::zygote
