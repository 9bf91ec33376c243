# Raises limits that were lowered for it, its own and those of init.
import resource
for number in range(16):
    soft, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY:
        continue
    refused(f"raise limit {number}", lambda: resource.setrlimit(number, (soft, hard + 1)))
    refused(f"remove limit {number}", lambda: resource.setrlimit(number, (-1, -1)))
    if init_is_another:  # else it has the id of the code, as the receipt says
        refused(f"limit {number} of init", lambda: resource.prlimit(1, number, (soft, hard + 1)))
