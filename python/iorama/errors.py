# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong, in one line."""


class Error(Exception):
    """The program, the store or the server said no; the text is theirs."""
