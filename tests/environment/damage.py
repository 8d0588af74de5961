# damage.py PROGRAM llvm|abi|table|bitcode [SOURCE]: write another LLVM version, ABI version (of the unit, of the table of addresses), or nonsense into its sections, those
# of the unit of SOURCE, or of the first one
import struct
import sys

path, what = sys.argv[1], sys.argv[2]
with open(path, "rb") as file:
    data = bytearray(file.read())
at = data.index(b"PCERESY1" if what == "table" else b"PCEREBC1")
while len(sys.argv) > 3:
    flags, source = struct.unpack("<QQ", data[at + 40:at + 56])
    if data[at + 80 + flags:at + 80 + flags + source].rstrip(b"\0").endswith(sys.argv[3].encode()):
        break
    at = data.index(b"PCEREBC1", at + 8)
if what == "llvm":
    data[at + 12:at + 16] = struct.pack("<I", 99)
elif what in ("abi", "table"):
    data[at + 8:at + 12] = struct.pack("<I", 77)
else:
    flags, source = struct.unpack("<QQ", data[at + 40:at + 56])
    start = at + 80 + flags + source
    data[start + 64:start + 160] = bytes(96)
with open(path, "wb") as file:
    file.write(data)
