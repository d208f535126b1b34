# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as reports print them for people, told a second time: by decimal arithmetic, from the rules in
src/base/human.h."""
from decimal import ROUND_HALF_EVEN, Decimal


def rounded(value, places):
    return Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)


def count(value):
    return "{:,}".format(int(value))


def size(value):
    if abs(value) < 1023.5:
        return "%s B" % rounded(value, 0)
    value /= 1024
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if abs(value) < 1023.95 or unit == "EiB":
            return "%s %s" % (rounded(value, 1), unit)
        value /= 1024


def seconds(value):
    if value < 0.5e-6:
        return "0 s"
    if value < 0.9995e-3:
        return "%s µs" % rounded(value * 1e6, 0)
    if value < 0.09995:
        return "%s ms" % rounded(value * 1e3, 2 if value < 9.995e-3 else 1)
    if value < 99.95:
        return "%s s" % rounded(value, 2 if value < 9.995 else 1)
    whole = rounded(value, 0)
    return "%s s" % (whole if value < 9999.5 else count(whole))


def share(value):
    percent = 100 * value
    if percent == 0:
        return "0 %"
    if percent < 0.05:
        return "< 0.1 %"
    if percent < 9.95 or 99 < percent < 99.95:
        text = str(rounded(percent, 1))
        return "%s %%" % (text[:-2] if text.endswith(".0") else text)
    return "> 99.9 %" if 99.95 <= percent < 100 else "%s %%" % rounded(percent, 0)
