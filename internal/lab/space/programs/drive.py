"""Work of many shapes for the lab. Standard output gets lines with the units of
work that were done since the line before: reads, commits, files, requests."""
import argparse, mmap, os, random, socket, subprocess, sys, threading, time

a = argparse.ArgumentParser()
a.add_argument("work")
a.add_argument("--path", default="")
a.add_argument("--size", type=int, default=0)
a.add_argument("--bs", type=int, default=8192)
a.add_argument("--threads", type=int, default=1)
a.add_argument("--processes", type=int, default=1)
a.add_argument("--think", type=float, default=0.0)
a.add_argument("--nosync", action="store_true")
a.add_argument("--folders", action="store_true")
a.add_argument("--direct", action="store_true")
a.add_argument("--port", type=int, default=0)
a.add_argument("--socket", default="")
own = sys.argv[1:]
command = []
if "--" in own:
    own, command = own[:own.index("--")], own[own.index("--") + 1:]
o = a.parse_args(own)
o.command = command


class Told:
    """Counts, and tells ten times a second."""
    def __init__(self):
        self.n, self.last = 0, time.monotonic()

    def done(self, k=1):
        self.n += k
        now = time.monotonic()
        if now - self.last >= 0.1:
            os.write(1, b"%d\n" % self.n)
            self.n, self.last = 0, now
        if o.think:
            time.sleep(o.think)


def open_direct(path, flags):
    return os.open(path, flags | (os.O_DIRECT if o.direct else 0))


def read_rand(i):
    t, r, blocks = Told(), random.Random(i), max(1, o.size // o.bs)
    fd, buf = open_direct(o.path, os.O_RDONLY), mmap.mmap(-1, o.bs)
    while True:
        os.preadv(fd, [buf], r.randrange(blocks) * o.bs)
        t.done()


def read_seq(i):
    t, at = Told(), 0
    fd, buf = open_direct(o.path, os.O_RDONLY), mmap.mmap(-1, o.bs)
    while True:
        if os.preadv(fd, [buf], at) < o.bs:
            at = 0
        at += o.bs
        t.done()


def map_rand(i):
    t, r = Told(), random.Random(i)
    with open(o.path, "rb") as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    m.madvise(mmap.MADV_RANDOM)
    pages, x = len(m) // 4096, 0
    while True:
        x ^= m[r.randrange(pages) * 4096]
        t.done()


def commit(i):
    t, b = Told(), os.urandom(o.bs)
    fd = os.open("%s.%d.%d" % (o.path, os.getpid(), i), os.O_WRONLY | os.O_CREAT, 0o600)
    at = 0
    while True:
        os.pwrite(fd, b, at % (64 << 20))
        at += o.bs
        if not o.nosync:
            os.fdatasync(fd)
        t.done()


def write(i):
    t, b = Told(), os.urandom(o.bs)
    fd = os.open("%s.%d.%d" % (o.path, os.getpid(), i), os.O_WRONLY | os.O_CREAT, 0o600)
    # all files together have the size: else they would fill the disk
    at, most = 0, max(o.size // (o.threads * o.processes), o.bs)
    while True:
        os.pwrite(fd, b, at % most)
        at += o.bs
        t.done()


def compute(i):
    t = Told()
    while True:
        sum(range(20000))
        t.done()


touched = threading.Semaphore(0)


def touch(i):
    """A pool thread that does a little I/O once and then waits for work. The first
    tells file descriptor 3 when all have done it."""
    with open("%s.pool.%d.%d" % (o.path, os.getpid(), i), "w") as f:
        f.write("x")
        f.flush()
        os.fsync(f.fileno())
    touched.release()
    if i == 0:
        for _ in range(o.threads):
            touched.acquire()
        os.write(3, b"1\n")
    while True:
        time.sleep(0.05 + 0.05 * random.random())


def spawn(i):
    """A short-lived process for each file of a folder, or of each folder."""
    t = Told()
    names = sorted(os.path.join(o.path, n) for n in os.listdir(o.path))
    names = names[i % len(names):] + names[:i % len(names)]
    while True:
        for n in names:
            subprocess.run([c.replace("{}", n) for c in o.command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            t.done()


def sqlite(i):
    import sqlite3
    t, r = Told(), random.Random(i)
    name = "%s.%d.%d" % (o.path, os.getpid(), i)
    if o.folders:
        os.mkdir(name + ".d")
        name += ".d/db"
    db = sqlite3.connect(name, isolation_level=None)
    db.execute("pragma synchronous=" + ("off" if o.nosync else "full"))
    db.execute("create table if not exists t(a integer primary key, b)")
    while True:
        db.execute("insert into t(b) values(?)", (r.random(),))
        t.done()


def sqlpipe(i):
    """A client program that gets a statement and prints a line for each."""
    c = subprocess.Popen(o.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    out, t = c.stdout, Told()
    statement = (os.environ["STATEMENT"] + "\n").encode()
    rest = b""
    while True:
        c.stdin.write(statement)
        while b"\n" not in rest:
            b = out.read(4096)
            if not b:
                sys.exit(1)
            rest += b
        rest = rest.split(b"\n", 1)[1]
        t.done()


def connect():
    for _ in range(600):
        try:
            if o.socket:
                s = socket.socket(socket.AF_UNIX)
                s.connect(o.socket)
            else:
                s = socket.create_connection(("127.0.0.1", o.port))
            return s
        except OSError:
            time.sleep(0.1)
    sys.exit("nobody listens")


def redis(i):
    t, s, n = Told(), connect(), 0
    value = b"x" * o.bs
    while True:
        n += 1
        if o.command and o.command[0] == "get":
            key = b"%d:%d" % (i, n % 100)
            s.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
        else:
            key = b"%d:%d" % (i, n % 1000)
            s.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
        if not s.recv(65536):
            sys.exit(1)
        t.done()


def http(i):
    """Requests on a connection that is kept: GET of random files, or PUT into etcd."""
    import base64
    t, r, s = Told(), random.Random(i), connect()
    f = s.makefile("rb")
    if not o.socket and o.port:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        if o.command[0] == "etcd":
            body = b'{"key":"%s","value":"%s"}' % (base64.b64encode(b"%d" % r.randrange(1000)), base64.b64encode(b"x" * 100))
            s.sendall(b"POST /v3/kv/put HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            s.sendall(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % r.randrange(int(o.command[1])))
        length, chunked = 0, False
        line = f.readline()
        if not line:
            sys.exit(1)
        while line not in (b"\r\n", b""):
            low = line.lower()
            if low.startswith(b"content-length:"):
                length = int(low.split(b":")[1])
            chunked = chunked or low.startswith(b"transfer-encoding: chunked")
            line = f.readline()
        if chunked:
            while True:
                k = int(f.readline(), 16)
                f.read(k + 2)
                if k == 0:
                    break
        while length > 0:
            length -= len(f.read(min(length, 1 << 20)))
        t.done()


def threads():
    all = [threading.Thread(target=globals()[o.work], args=(i,), daemon=True) for i in range(o.threads)]
    if o.threads == 1:
        return globals()[o.work](os.getpid() if o.processes > 1 else 0)
    for x in all:
        x.start()
    for x in all:
        x.join()


threading.stack_size(256 << 10)
for _ in range(o.processes - 1):
    if os.fork() == 0:
        threads()
        os._exit(0)
threads()
