// Threads that a fork leaves behind and a copy needs: node's worker, to which V8 gives work even in its single-threaded
// mode, and for which it waits. The zygote's node is started with this object loaded first (LD_PRELOAD), so that each
// thread of its start runs on a stack of ours and waits in a frame of ours. In a copy, whoever wakes such a thread
// makes another, which goes on where the lost one waited. Source: pthread_create(3), pthread_cond_wait(3),
// makecontext(3).
#pragma once

namespace jail::zygote {

// In a copy, once: from now on threads that waited here are made anew when they are woken.
void threads_are_lost();

}  // namespace jail::zygote
