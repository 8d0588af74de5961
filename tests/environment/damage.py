# damage.py PROGRAM llvm|abi|table|bitcode [SOURCE]: write another LLVM version, another ABI version (into all that the plugin made of the unit, or into the first table of
# addresses alone), or nonsense into its sections, those of the unit of SOURCE, or of the first one
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
elif what == "table":
    data[at + 8:at + 12] = struct.pack("<I", 77)
elif what == "abi":
    # the unit and its tables, whose id follows the version by 8 bytes; and its sites, whose id is the sixth word
    unit, version = bytes(data[at + 16:at + 24]), bytes(data[at + 8:at + 12])
    place = data.find(unit)
    while place >= 0:
        for before in (8, 40) if data[place - 16:place - 9].startswith(b"PCERE") else (40,):
            if data[place - before:place - before + 4] == version:
                data[place - before:place - before + 4] = struct.pack("<I", 77)
        place = data.find(unit, place + 8)
else:
    flags, source = struct.unpack("<QQ", data[at + 40:at + 56])
    start = at + 80 + flags + source
    data[start + 64:start + 160] = bytes(96)
with open(path, "wb") as file:
    file.write(data)
