// Threads that a fork loses and a copy needs: Node's worker thread, which V8 uses and waits for even in single-threaded
// mode. The zygote's node is started with this object preloaded (LD_PRELOAD). So each thread that node starts runs on a
// stack from this file, and waits in a function of this file. In a copy, the thread that wakes a lost thread starts
// another one, which continues where the lost thread waited.
// Source: pthread_create(3), pthread_cond_wait(3), makecontext(3). Used by: jail/zygote/node.cc.
#pragma once

namespace jail::zygote {

// Call it in a copy, once: from now on a lost thread is started again when it is woken.
void threads_are_lost();

}  // namespace jail::zygote
