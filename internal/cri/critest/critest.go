// Package critest stands in for a container runtime in tests: a real socket with
// HTTP/2, and messages of the Container Runtime Interface.
package critest

import (
	"encoding/binary"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message puts fields together: number, content.
func Message(parts ...any) (b []byte) {
	for i := 0; i < len(parts); i += 2 {
		b = protowire.AppendTag(b, protowire.Number(parts[i].(int)), protowire.BytesType)
		switch v := parts[i+1].(type) {
		case string:
			b = protowire.AppendString(b, v)
		case []byte:
			b = protowire.AppendBytes(b, v)
		}
	}
	return b
}

// Serve answers on a socket with HTTP/2 without TLS, as gRPC does.
func Serve(t *testing.T, h http.HandlerFunc) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP1(true)
	s := &http.Server{Handler: h, Protocols: &protocols}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return socket
}

// Answer writes one message as gRPC does.
func Answer(w http.ResponseWriter, b []byte, status string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...))
	w.Header().Set("Grpc-Status", status)
	w.Header().Set("Grpc-Message", "not today")
}
