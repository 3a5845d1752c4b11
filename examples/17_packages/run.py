"""Runs the package of lesson 17 from Python, with ctypes alone: x is 0, 1/8, 2/8, ... in 4 rows.

    run.py LIBRARY FILE      LIBRARY is libtilewright_c.so, or libtilewright.so
"""
import ctypes
import sys


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_int64),
                ("is_written", ctypes.c_int32)]


class Package:
    def __init__(self, library, file):
        self.library = ctypes.CDLL(library)
        self.library.tilewright_load.restype = ctypes.c_void_p
        self.library.tilewright_last_error.restype = ctypes.c_char_p
        self.package = ctypes.c_void_p(self.library.tilewright_load(file.encode()))
        self.check(self.package.value is not None)

    def __del__(self):
        self.library.tilewright_free(self.package)

    def check(self, is_done):
        if not is_done:
            raise RuntimeError(self.library.tilewright_last_error().decode())

    def tensor(self, find, signature, data):
        info = TensorInfo()
        self.check(find(self.package, ctypes.c_size_t(signature), ctypes.c_size_t(0),
                        ctypes.byref(info)) == 0)
        assert info.bytes == ctypes.sizeof(data), "the package is of other sizes"
        return info, Tensor(info.dtype, info.rank, info.shape, ctypes.addressof(data))

    def run(self, x, y):
        signature = 1  # the function that takes 4 rows
        taken, input = self.tensor(self.library.tilewright_input, signature, x)
        given, output = self.tensor(self.library.tilewright_output, signature, y)
        one = ctypes.c_size_t(1)
        self.check(self.library.tilewright_run(self.package, ctypes.byref(input), one,
                                               ctypes.byref(output), one) == 0)
        return taken, given


def main():
    library, file = sys.argv[1:]
    x = (ctypes.c_float * 32)(*[i / 8 for i in range(32)])
    y = (ctypes.c_float * 12)()
    taken, given = Package(library, file).run(x, y)
    print(f"takes {taken.name.decode()} of {taken.bytes} bytes, "
          f"gives {given.name.decode()} of {given.bytes} bytes")
    for row in range(4):
        print(" ".join(f"{number:.4f}" for number in y[3 * row:3 * row + 3]))


main()
