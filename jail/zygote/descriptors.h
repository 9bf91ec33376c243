// The descriptors of an interpreter's event loops. A copy that kept them would share them with its zygote and with
// every other copy, and an epoll instance or a pipe that two jails share is a channel between them: so a copy closes
// all of them, and makes others of the same kind under the same numbers, which the interpreter knows.
#pragma once

namespace jail::zygote {

// In the zygote: notes what is open above the order socket, and leaves no number free below the highest, so that what a
// library exchanges by itself in a fork (libuv a pipe) comes back under its old number. 0 or a positive errno; ENOTSUP
// for a descriptor of a kind that a copy could not make for itself.
int note_descriptors();
// In a copy, where nothing above the guest socket is open: makes them. 0 or a positive errno.
int make_descriptors();

}  // namespace jail::zygote
