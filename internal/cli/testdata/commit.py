import os, sys

def compute():
    x = 3
    for _ in range(2000):  # as many commits a second as copies of stacks have room for
        x = x * x % (1 << 900) + 1
    return x

def commit_record(fd):
    os.pwrite(fd, b"x" * 4096, 0)
    os.fsync(fd)

file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
commit_record(file)
print("ready", flush=True)
while True:
    compute()
    commit_record(file)
