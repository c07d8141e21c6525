"""Lets a User-Mode Linux (6.1) run on a processor whose registers it has no room for (AMX).

It reads as much of a process's extended registers as it has room for, and fails to write them back. Where reading them
fails, it keeps the older registers alone. So reading fails here, by a filter of system calls, and what runs inside is
told to leave the wide halves of the registers alone, as nobody keeps them.
"""

import ctypes
import errno
import struct
from pathlib import Path

_NOT = ("AVX", "AVX2", "AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ", "AVX512CD", "AVX_Fast_Unaligned_Load")
WITHOUT_AVX = {
    "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={','.join(f'-{name}' for name in _NOT)}",
    "OPENSSL_ia32cap": "~0x1000000000000000:0",
}
_PR_SET_SECCOMP, _FILTER = 22, 2
_PTRACE, _GETREGSET, _XSTATE = 101, 0x4204, 0x202
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EIO
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _FIRST, _THIRD = 0, 16, 32  # where a system call's number and arguments stand


def is_too_large() -> bool:
    return "amx_tile" in Path("/proc/cpuinfo").read_text().split()


def hide_extended_registers() -> None:
    """From this process, and all it starts. Needs root."""
    steps = [(_LOAD, 0, 0, _NUMBER), (_IF_EQUAL, 0, 5, _PTRACE), (_LOAD, 0, 0, _FIRST), (_IF_EQUAL, 0, 3, _GETREGSET)]
    steps += [(_LOAD, 0, 0, _THIRD), (_IF_EQUAL, 0, 1, _XSTATE), (_RETURN, 0, 0, _FAIL), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be set")
