package lab

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// A client finds the file, and a read takes as long as was said.
func TestServeNFS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	commands, tell := io.Pipe()
	heard, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- ServeNFS(socket.Fd(), &ServedFile{Size: 1 << 20, Heads: 2}, commands, answers)
	}()
	const delay = 20 * time.Millisecond
	set := func() string {
		t.Helper()
		go io.WriteString(tell, "20000000\n")
		b := make([]byte, 64)
		n, err := heard.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	set()
	c, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	call := func(program, procedure uint32, args func(*words)) *words {
		t.Helper()
		m := &words{}
		m.put(0, 7, 0, 2, program, 3, procedure, 0, 0, 0, 0)
		if args != nil {
			args(m)
		}
		binary.BigEndian.PutUint32(m.b, uint32(len(m.b)-4)|1<<31)
		if _, err := c.Write(m.b); err != nil {
			t.Fatal(err)
		}
		reply, err := readRecord(c)
		require.NoError(t, err)
		out := &words{b: reply}
		if xid, kind, accepted, _, _, status := out.u32(), out.u32(), out.u32(), out.u32(), out.u32(), out.u32(); xid != 7 || kind != 1 || accepted != 0 || status != rpcDone {
			t.Fatalf("program %d, procedure %d: %d %d %d %d", program, procedure, xid, kind, accepted, status)
		}
		return out
	}
	call(nfsProgram, nfsNull, nil)
	mounted := call(mountProgram, 1, func(m *words) { m.putOpaque([]byte("/")) })
	if status, root := mounted.u32(), mounted.opaque(); status != nfsOK || string(root) != nfsRoot {
		t.Fatalf("mounted: %d, %q", status, root)
	}
	found := call(nfsProgram, nfsLookup, func(m *words) { m.putOpaque([]byte(nfsRoot)); m.putOpaque([]byte(nfsFile)) })
	status, file := found.u32(), found.opaque()
	if status != nfsOK || string(file) != nfsFile {
		t.Fatalf("found: %d, %q", status, file)
	}
	start := time.Now()
	got := call(nfsProgram, nfsRead, func(m *words) { m.putOpaque(file); m.put64(1<<20 - 5000); m.put(8192) })
	took := time.Since(start)
	if status, _, n, end, data := got.u32(), got.u32(), got.u32(), got.u32(), got.opaque(); status != nfsOK || n != 5000 || end != 1 || !bytes.Equal(data, make([]byte, 5000)) || got.short || len(got.b) > 0 {
		t.Errorf("read: %d, %d bytes, end %d, %d of them, %d bytes left over", status, n, end, len(data), len(got.b))
	}
	if took < delay {
		t.Errorf("a read took %v, want %v at least", took, delay)
	}
	if did := set(); !strings.HasPrefix(did, "1 ") {
		t.Errorf("it says that it served %q", did)
	}
	if err := tell.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Messages that are no calls, or end too early, are no reason to fall.
func TestNFSCallsThatAreBroken(t *testing.T) {
	s := &nfsServer{slowFile: slowFile{size: 4096, store: -1}, heads: make(chan struct{}, 1)}
	whole := &words{}
	whole.put(7, 0, 2, nfsProgram, 3, nfsRead, 0, 0, 0, 0)
	whole.putOpaque([]byte(nfsFile))
	whole.put64(1 << 63)
	whole.put(1 << 31)
	for n := range len(whole.b) + 1 {
		s.reply(whole.b[:n])
	}
	if r := s.reply(whole.b[:44]); r == nil || binary.BigEndian.Uint32(r[24:]) != rpcGarbage {
		t.Errorf("a call without its arguments is answered with %x", r)
	}
}
