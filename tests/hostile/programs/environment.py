# Looks for what the daemon knows: variables, arguments, the environment of processes above.
KNOWN = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_CTYPE", "TMPDIR", "SHELL", "PYTHONDONTWRITEBYTECODE", "MPLBACKEND",
         "MPLCONFIGDIR", "WARDER_WORKSPACE",
         # Installers are told that there is no network.
         "PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK", "UV_OFFLINE", "NPM_CONFIG_OFFLINE", "NPM_CONFIG_AUDIT",
         "NPM_CONFIG_FUND", "NPM_CONFIG_UPDATE_NOTIFIER", "CARGO_NET_OFFLINE", "GOPROXY"}
extra = sorted(set(os.environ) - KNOWN)
attempt(f"variables {extra}", bool(extra))
first = {entry.split(b"=")[0].decode() for entry in open("/proc/self/environ", "rb").read().split(b"\0") if entry}
attempt(f"first variables {sorted(first - KNOWN)}", bool(first - KNOWN))
secret = context_vars.get("secret", "WARDER_HOSTILE_")[::-1]  # turned round, so that our own memory does not hold it
for line in open("/proc/self/maps"):
    span, rights = line.split()[:2]
    if "r" not in rights or not ("[heap]" in line or "[stack]" in line):
        continue
    low, high = (int(x, 16) for x in span.split("-"))
    with open("/proc/self/mem", "rb") as memory:
        memory.seek(low)
        attempt("the daemon's secret is in memory", secret[::-1].encode() + b"=of-the-daemon" in memory.read(high - low))
