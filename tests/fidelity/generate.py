"""Values of JSON that programs meet: numbers of all sizes, odd keys, depth, texts of all kinds."""
import struct

from exact import Number

KEYS = ["", " ", "a", "a b", "1", "01", "-1", "1.5", "4294967295", "4294967296", "__proto__", "constructor", "toString",
        "hasOwnProperty", "length", "self", "class", "None", "null", "é", "名", "😀", "\0", "\n", '"', "\\", "\u2028", "$", "%s",
        "a" * 300, "value", "result", "__class__", "\ud800"]
TEXTS = ["", " ", "0", "1e400", "12345678901234567890", "NaN", "null", "true", "é", "e\u0301", "名前", "😀👍🏽", "\0", "\x7f", "\x1b[31m",
         "\u2028\u2029\x85", "\ufeff", "\uffff", '"', "\\", "\\u0000", "\\ud800", "</script>", "${x}", "%s", "\r\n", "\t", "\ud800",
         "\udc00x", "x\udfff\ud800y", "2024-02-30", "a" * 5000, "#", "\u0000#x#1"]


def whole(random):
    kind = random.randrange(6)
    if kind == 0:
        return random.randrange(-1000, 1000)
    if kind == 1:  # around the limits of doubles and of 64 bits
        return random.choice((-1, 1)) * 2 ** random.choice((31, 32, 52, 53, 54, 60, 62, 63, 64, 65, 70, 128)) + random.randrange(-3, 4)
    if kind == 2:  # ids of 64 bits
        return random.getrandbits(63)
    if kind == 3:
        return random.choice((-1, 1)) * random.getrandbits(random.randrange(1, 400))
    if kind == 4:
        return random.choice((-1, 1)) * random.randrange(1, 1000) * 10 ** random.randrange(0, 60)
    return random.getrandbits(13_000) if random.random() < 0.01 else random.getrandbits(128)


def decimal(random, overflows):
    kind = random.randrange(8)
    sign = random.choice(("", "-"))
    if kind == 0:
        return sign + random.choice(("0.0", "0.1", "1.10", "0.5", "100.0", "1e2", "1E+2", "0e9", "1e-7", "1e21", "1e22", "5e-324",
                                     "2.2250738585072014e-308", "1.7976931348623157e308", "0.30000000000000004"))
    if kind == 1:  # any double
        number = struct.unpack("<d", random.randbytes(8))[0]
        return repr(number) if number - number == 0 else "0.25"
    if kind == 2:
        return sign + f"{random.random() * 10 ** random.randrange(-5, 12):.17g}"
    if kind == 3:
        return sign + f"{random.randrange(10**6)}.{random.randrange(10**random.randrange(1, 8)):07d}"
    digits = "".join(random.choices("0123456789", k=random.choice((15, 16, 17, 18, 20, 25, 40, 90))))
    if kind == 4:
        return f"{sign}0.{digits}"
    if kind == 5:
        return f"{sign}{random.randrange(1, 10**9)}.{digits}"
    exponent = random.randrange(-280, 280) if kind == 6 or not overflows else random.randrange(-900, 900)
    return f"{sign}{random.randrange(1, 10)}.{digits}{random.choice('eE')}{random.choice(('', '+')) if exponent >= 0 else ''}{exponent}"


def scalar(random, overflows):
    kind = random.randrange(10)
    if kind < 4:
        number = whole(random)
        return Number("-0" if number == 0 and random.random() < 0.5 else str(number))
    if kind < 7:
        return Number(decimal(random, overflows))
    if kind == 7:
        return random.choice((None, True, False))
    if kind == 8:
        return random.choice(TEXTS)
    # No surrogates: they come from TEXTS.
    points = (random.choice((random.randrange(0xd800), random.randrange(0xe000, 0x110000), random.randrange(128)))
              for _ in range(random.randrange(12)))
    return "".join(map(chr, points))


def value(random, overflows, depth=0):
    """One value. `overflows`: with decimals beyond the range of doubles."""
    kind = random.random()
    if depth > 5 or kind < 0.75:
        return scalar(random, overflows)
    if kind < 0.77 and depth == 0:  # deep
        inner = scalar(random, overflows)
        for level in range(random.randrange(30, 45)):
            inner = [inner] if level % 2 else {"d": inner}
        return inner
    if kind < 0.88:
        return [value(random, overflows, depth + 1) for _ in range(random.randrange(5))]
    return {key: value(random, overflows, depth + 1) for key in random.sample(KEYS, random.randrange(5))}
