package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// An NFS server of one file of zeros whose every read and write takes a time that
// is known: version 3 (RFC 1813) and its mount protocol, over TCP (RFC 5531), the
// parts of them that a client needs which reads and writes that file. The kernel's
// own client is what looks at it.

const (
	nfsProgram, nfsVersion     = 100003, 3
	mountProgram, mountVersion = 100005, 3

	nfsMostData = 128 << 10
	nfsRoot     = "root" // file handles
	nfsFile     = "file"
)

// Statuses of NFS.
const (
	nfsOK     = 0
	nfsNoEnt  = 2
	nfsNoSupp = 10004
)

// Results of a call that are no procedure's own.
const (
	rpcDone      = 0
	rpcNoProgram = 1
	rpcNoProc    = 3
	rpcGarbage   = 4
)

// ServeNFS serves the file on a socket that listens already, until it is closed
// or commands ends; these are as those of ServeDisk.
func ServeNFS(fd uintptr, file *ServedFile, commands io.Reader, answers io.Writer) error {
	listener, err := net.FileListener(os.NewFile(fd, "socket"))
	if err != nil {
		return fmt.Errorf("listen for NFS clients: %w", err)
	}
	s := &nfsServer{slowFile: slowFile{size: file.Size, store: -1}, heads: make(chan struct{}, file.Heads)}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return errors.Join(s.obey(commands, answers), listener.Close())
}

type nfsServer struct {
	slowFile
	heads chan struct{} // has room for those who are served at a time
}

// serve answers one client until it goes.
func (s *nfsServer) serve(c net.Conn) {
	defer c.Close()
	var one sync.Mutex // answers at a time
	for {
		call, err := readRecord(c)
		if err != nil {
			return
		}
		go func() {
			s.heads <- struct{}{}
			reply := s.reply(call)
			<-s.heads
			if reply == nil {
				return
			}
			one.Lock()
			defer one.Unlock()
			_, _ = c.Write(reply) // fails when the client is gone
		}()
	}
}

// readRecord reads one message, whose parts have a head of four bytes each.
func readRecord(r io.Reader) ([]byte, error) {
	var all []byte
	for {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		n := binary.BigEndian.Uint32(head[:])
		size := int(n &^ (1 << 31))
		if len(all)+size > nfsMostData+4096 {
			return nil, errors.New("a message that is too long")
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		all = append(all, part...)
		if n>>31 == 1 {
			return all, nil
		}
	}
}

// words reads and writes XDR (RFC 4506). Reading past the end sets short.
type words struct {
	b     []byte
	short bool
}

func (w *words) take(n int) []byte {
	if n < 0 || n > len(w.b) {
		w.short, w.b = true, nil
		return make([]byte, max(0, min(n, 8)))
	}
	out := w.b[:n]
	w.b = w.b[n:]
	return out
}

func (w *words) u32() uint32 { return binary.BigEndian.Uint32(w.take(4)) }
func (w *words) u64() uint64 { return binary.BigEndian.Uint64(w.take(8)) }

func (w *words) opaque() []byte {
	n := int(w.u32())
	out := w.take(n)
	w.take((4 - n%4) % 4)
	return out
}

func (w *words) put(all ...uint32) {
	for _, v := range all {
		w.b = binary.BigEndian.AppendUint32(w.b, v)
	}
}

func (w *words) put64(all ...uint64) {
	for _, v := range all {
		w.b = binary.BigEndian.AppendUint64(w.b, v)
	}
}

func (w *words) putOpaque(b []byte) {
	w.put(uint32(len(b)))
	w.b = append(append(w.b, b...), make([]byte, (4-len(b)%4)%4)...)
}

// reply is the answer to a call with its head, nil for what is no call.
func (s *nfsServer) reply(message []byte) []byte {
	taken := time.Now()
	in := &words{b: message}
	xid, kind, _ := in.u32(), in.u32(), in.u32()
	program, version, procedure := in.u32(), in.u32(), in.u32()
	for range 2 { // credentials and verifier
		in.u32()
		in.opaque()
	}
	if in.short || kind != 0 {
		return nil
	}
	results := &words{}
	status := uint32(rpcNoProgram)
	switch {
	case program == mountProgram && version == mountVersion:
		status = mountCall(procedure, results)
	case program == nfsProgram && version == nfsVersion:
		status = s.call(procedure, in, results)
	}
	if in.short {
		status, results.b = rpcGarbage, nil
	}
	if program == nfsProgram && (procedure == nfsRead || procedure == nfsWrite) {
		s.served.Add(1)
		s.took.Add(int64(time.Since(taken)))
	}
	out := &words{}
	out.put(0, xid, 1, 0, 0, 0, status) // room for the head; a reply, accepted, without a verifier
	out.b = append(out.b, results.b...)
	binary.BigEndian.PutUint32(out.b, uint32(len(out.b)-4)|1<<31)
	return out.b
}

// mountCall answers for the mount protocol: everything is the root.
func mountCall(procedure uint32, out *words) uint32 {
	const null, mount, unmount = 0, 1, 3
	switch procedure {
	case null, unmount:
	case mount:
		out.put(nfsOK)
		out.putOpaque([]byte(nfsRoot))
		out.put(1, 1) // one flavour of credentials: AUTH_SYS
	default:
		return rpcNoProc
	}
	return rpcDone
}

// Procedures of NFS.
const (
	nfsNull, nfsGetattr, nfsSetattr, nfsLookup, nfsAccess = 0, 1, 2, 3, 4
	nfsRead, nfsWrite                                     = 6, 7
	nfsFSStat, nfsFSInfo, nfsPathConf, nfsCommit          = 18, 19, 20, 21
)

// call answers for NFS itself.
func (s *nfsServer) call(procedure uint32, in, out *words) uint32 {
	switch procedure {
	case nfsNull:
		return rpcDone
	case nfsGetattr:
		out.put(nfsOK)
		s.attributes(string(in.opaque()), out)
	case nfsSetattr:
		out.put(nfsOK, 0, 0) // without the attributes before and after
	case nfsLookup:
		in.opaque()
		if string(in.opaque()) != nfsFile {
			out.put(nfsNoEnt, 0)
			return rpcDone
		}
		out.put(nfsOK)
		out.putOpaque([]byte(nfsFile))
		out.put(1)
		s.attributes(nfsFile, out)
		out.put(0)
	case nfsAccess:
		in.opaque()
		out.put(nfsOK, 0, in.u32())
	case nfsRead:
		in.opaque()
		offset, count := int64(in.u64()), int64(min(in.u32(), nfsMostData))
		count = max(0, min(count, s.size-offset))
		s.wait()
		end := uint32(0)
		if offset+count >= s.size {
			end = 1
		}
		out.put(nfsOK, 0, uint32(count), end)
		out.putOpaque(make([]byte, count))
	case nfsWrite:
		in.opaque()
		in.u64()
		s.wait()
		out.put(nfsOK, 0, 0, in.u32(), 2, 0, 0) // on stable storage
	case nfsCommit:
		out.put(nfsOK, 0, 0, 0, 0)
	case nfsFSStat:
		out.put(nfsOK, 0)
		out.put64(uint64(s.size), 0, 0, 2, 0, 0)
		out.put(0)
	case nfsFSInfo:
		out.put(nfsOK, 0, nfsMostData, nfsMostData, 4096, nfsMostData, nfsMostData, 4096, 4096)
		out.put64(1 << 62)
		out.put(0, 1, 0x8) // times to the nanosecond; the same for all files
	case nfsPathConf:
		out.put(nfsOK, 0, 1, 255, 1, 1, 0, 1)
	default:
		out.put(nfsNoSupp, 0, 0)
	}
	return rpcDone
}

// attributes are those of the root or the file (fattr3).
func (s *nfsServer) attributes(handle string, out *words) {
	kind, mode, size, id := uint32(2), uint32(0o755), uint64(4096), uint64(1)
	if handle == nfsFile {
		kind, mode, size, id = 1, 0o666, uint64(s.size), 2
	}
	out.put(kind, mode, 1, 0, 0)
	out.put64(size, size)
	out.put(0, 0)
	out.put64(1, id)
	out.put(0, 0, 0, 0, 0, 0)
}
