# SPDX-License-Identifier: BSD-3-Clause
"""Keys, certificates and signed users for a nats-server of the tests, made with openssl: no tool of NATS is needed.

An nkey is an Ed25519 key in base32 with a prefix that says whose it is and a checksum; a JWT of NATS is signed with one."""
import base64
import hashlib
import json
import os
import subprocess
import time

OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3  # O…, A…, U…, S…


def openssl(*words, **more):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, **more).stdout


def checksum(data):
    """CRC-16/XMODEM"""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def encoded(prefix, raw):
    data = bytes(prefix) + raw
    return base64.b32encode(data + checksum(data).to_bytes(2, "little")).decode().rstrip("=")


class Key:
    """.public: U…; .seed: SU…"""

    def __init__(self, folder, kind, name):
        self.kind, self.file = kind, os.path.join(folder, name + ".ed25519")
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.file)
        secret = openssl("pkey", "-in", self.file, "-outform", "DER")[-32:]
        self.public = encoded([kind], openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")[-32:])
        self.seed = encoded([SEED | kind >> 5, (kind & 31) << 3], secret)

    def sign(self, text):
        source = self.file + ".text"
        with open(source, "wb") as out:
            out.write(text)
        return openssl("pkeyutl", "-sign", "-inkey", self.file, "-rawin", "-in", source)


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(issuer, subject, name, nats):
    """A JWT: `issuer` says this of the key `subject`."""
    claims = {"iat": int(time.time()), "iss": issuer.public, "name": name, "sub": subject.public, "nats": nats}
    claims["jti"] = base64.b32encode(hashlib.sha256(json.dumps(claims).encode()).digest()).decode().rstrip("=")
    text = part(b'{"typ":"JWT","alg":"ed25519-nkey"}') + b"." + part(json.dumps(claims).encode())
    return (text + b"." + part(issuer.sign(text))).decode()


def seed_file(path):
    """Writes the seed of a new user; returns its public key."""
    key = Key(os.path.dirname(path), USER, os.path.basename(path))
    with open(path, "w") as out:
        out.write(key.seed + "\n")
    os.chmod(path, 0o600)
    return key.public


def operator(folder, creds):
    """An operator, a system account, an account with JetStream and a user of it, whose credentials are written to a file.
    Returns lines of the server's configuration."""
    boss, system, account, user = (Key(folder, kind, name) for kind, name in (
        (OPERATOR, "operator"), (ACCOUNT, "system"), (ACCOUNT, "account"), (USER, "user")))  # fmt: skip
    unlimited = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    stored = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    boss_jwt = token(boss, boss, "site", {"type": "operator", "version": 2, "system_account": system.public})
    system_jwt = token(boss, system, "SYS", {"type": "account", "version": 2, "limits": unlimited})
    account_jwt = token(boss, account, "IORAMA", {"type": "account", "version": 2, "limits": {**unlimited, **stored}})
    user_jwt = token(account, user, "iorama", {"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1,
                                               "payload": -1})  # fmt: skip
    with open(creds, "w") as out:
        out.write("-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n"
                  "-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n" % (user_jwt, user.seed))  # fmt: skip
    os.chmod(creds, 0o600)
    return ["operator: %s" % boss_jwt, "system_account: %s" % system.public, "resolver: MEMORY",
            "resolver_preload { %s: %s, %s: %s }" % (system.public, system_jwt, account.public, account_jwt)]  # fmt: skip


def certificates(folder):
    """ca.pem; server.pem, server.key for 127.0.0.1 and localhost; client.pem, client.key."""
    def path(name):
        return os.path.join(folder, name)

    def key(name):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path(name))
        os.chmod(path(name), 0o600)

    key("ca.key")
    openssl("req", "-x509", "-new", "-key", path("ca.key"), "-days", "3650", "-subj", "/CN=iorama tests", "-out", path("ca.pem"),
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    for name, use in (("server", "serverAuth,clientAuth"), ("client", "clientAuth")):
        key(name + ".key")
        openssl("req", "-new", "-key", path(name + ".key"), "-subj", "/CN=" + name, "-out", path(name + ".csr"))
        with open(path(name + ".ext"), "w") as out:
            out.write("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=%s\n" % use)
        openssl("x509", "-req", "-in", path(name + ".csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial",
                "-days", "3650", "-extfile", path(name + ".ext"), "-out", path(name + ".pem"))  # fmt: skip
