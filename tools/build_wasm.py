"""Compile what the page computes with to WebAssembly: `python tools/build_wasm.py`.

Needs clang and wasm-ld (Debian: clang, lld).  The module is kept in the repository, so that
neither users nor the documentation need a compiler.  It holds no weights: the page gives it those
of its models.  A checksum of the sources is stored with it, which a test compares.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "warplearn"
TEMPLATES = PACKAGE / "export" / "c"
PAGE = PACKAGE / "experiments" / "page"
SOURCES = (PAGE / "follow.c", TEMPLATES / "product.h", TEMPLATES / "recursion.h")
MODULE = PAGE / "follow.wasm"
SECTION = b"sources"  # the name of the custom section that holds the checksum


def checksum() -> bytes:
    """Of all that the module is compiled from."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).digest()


def main() -> None:
    """Write the module."""
    subprocess.run(
        [
            "clang", "--target=wasm32", "-std=c99", "-O2", "-ffreestanding", "-fno-builtin",
            "-nostdlib", "-Wall", "-Wextra", "-Werror", f"-I{TEMPLATES}", "-Wl,--no-entry",
            "-Wl,--export=follow", "-Wl,--export=__heap_base", "-Wl,--strip-all",
            str(SOURCES[0]), "-o", str(MODULE),
        ],
        check=True,
    )  # fmt: skip
    content = bytes([len(SECTION)]) + SECTION + checksum()
    with MODULE.open("ab") as file:
        file.write(bytes([0, len(content)]) + content)
    print(f"{MODULE.name}: {MODULE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
