# Takes more of the processor than others: nice, real time, I/O classes, init's priority.
for level in (-20, -5, -1):
    refused(f"nice {level}", lambda: os.setpriority(os.PRIO_PROCESS, 0, level))
for policy in (os.SCHED_FIFO, os.SCHED_RR, 6):
    refused(f"policy {policy}", lambda: os.sched_setscheduler(0, policy, os.sched_param(1 if policy != 6 else 0)))
refused("real-time I/O", lambda: syscall(251, 1, 0, 1 << 13))
if init_is_another:  # else it has the id of the code, as the receipt says
    refused("init's priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("priority is above normal", os.getpriority(os.PRIO_PROCESS, 0) < 0)
