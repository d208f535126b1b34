# SPDX-License-Identifier: BSD-3-Clause
"""python_dir.py PREFIX: where this Python looks for packages that are installed below PREFIX, without the prefix."""
import os
import sys
import sysconfig

prefix = os.path.normpath(sys.argv[1])
here = "python%d.%d" % sys.version_info[:2]
debian = "posix_local" in sysconfig.get_scheme_names()
if prefix == "/usr" and debian:
    print("lib/python3/dist-packages")
elif prefix == "/usr/local" and debian:
    print("lib/%s/dist-packages" % here)
else:
    print("lib/%s/site-packages" % here)
