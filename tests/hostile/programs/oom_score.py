# Makes the kernel prefer to kill something else when memory runs out.
given = int(open("/proc/self/oom_score_adj").read())
attempt(f"the score given is {given}", given < 500)
for score in (-1000, -1, 0, given - 1):
    refused(f"score {score}", lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), str(score).encode()))
attempt("the score changed", int(open("/proc/self/oom_score_adj").read()) != given)
