// The pages that an execution writes or reads first in a copy of a zygote. A throw-away copy runs a small program, and
// its page tables show which pages became its own. Each later copy that is to wait asks the kernel for these pages,
// with one call for each range, and need not rehearse. Source: madvise(2), MADV_POPULATE_WRITE;
// Documentation/admin-guide/mm/pagemap.rst. Used by: jail/zygote/fork.cc.
#pragma once

namespace jail::zygote {

// Learns the pages in a copy of this process. `live` runs there: it talks the guest protocol on kGuestFd, and does not
// return. Waits for the result of its program, at most some seconds. After a failure, no page is known: then each
// copy takes its page faults one by one.
void learn_pages(void (*live)());

// In a copy: makes the learned pages present, written ones as pages of its own. A page that the kernel refuses is left
// to its page fault.
void touch_pages();

}  // namespace jail::zygote
