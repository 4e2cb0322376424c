// Package cri asks a container runtime what its pods and containers are called, over
// the socket that kubelet uses (the Container Runtime Interface, v1:
// https://github.com/kubernetes/cri-api). It only lists.
package cri

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Pod is what a pod is called.
type Pod struct{ Name, Namespace string }

// Names are those of all pods and containers of a machine.
type Names struct {
	Pods       map[string]Pod    // by UID
	Containers map[string]string // by ID
}

const (
	patience = 5 * time.Second
	// mostAnswer is how much of an answer is read, in bytes: a pod has some thousand.
	mostAnswer = 16 << 20
	// longestName is how much of a name is kept; Kubernetes allows 253 bytes.
	longestName = 253
)

// List asks the runtime behind a socket.
func List(ctx context.Context, socket string) (*Names, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := &Names{Pods: map[string]Pod{}, Containers: map[string]string{}}
	b, err := call(ctx, transport, "ListPodSandbox")
	if err == nil {
		err = each(b, 1, func(pod []byte) error {
			return each(pod, 2, func(metadata []byte) error {
				uid, err := text(metadata, 2)
				name, err2 := text(metadata, 1)
				space, err3 := text(metadata, 3)
				out.Pods[uid] = Pod{name, space}
				return errors.Join(err, err2, err3)
			})
		})
	}
	if err == nil {
		b, err = call(ctx, transport, "ListContainers")
	}
	if err == nil {
		err = each(b, 1, func(container []byte) error {
			id, err := text(container, 1)
			return errors.Join(err, each(container, 3, func(metadata []byte) (err error) {
				out.Containers[id], err = text(metadata, 1)
				return err
			}))
		})
	}
	if err != nil {
		return nil, fmt.Errorf("asking the container runtime at %s: %w", socket, err)
	}
	return out, nil
}

// call makes a call without arguments, as gRPC has it: a message has its length
// before it, and the status comes behind it
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
func call(ctx context.Context, transport *http.Transport, method string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/runtime.v1.RuntimeService/"+method, bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Header.Set("TE", "trailers")
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	status, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if status == "" { // without a message there are no trailers
		status, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	switch {
	case len(body) > mostAnswer:
		return nil, fmt.Errorf("%s: the answer is longer than %d MiB", method, mostAnswer>>20)
	case resp.StatusCode != http.StatusOK || status == "":
		return nil, fmt.Errorf("%s: this is no container runtime: it answers %s", method, resp.Status)
	case status != "0":
		return nil, fmt.Errorf("%s: it refuses (status %.10q): %.300q", method, status, message)
	case len(body) < 5 || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:5])) != len(body)-5:
		return nil, fmt.Errorf("%s: the answer is not one message", method)
	}
	return body[5:], nil
}

// each calls f for the messages or texts of a field.
func each(message []byte, field protowire.Number, f func([]byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("its answer cannot be read: %w", protowire.ParseError(n))
		}
		message = message[n:]
		if number == field && kind == protowire.BytesType {
			v, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return fmt.Errorf("its answer cannot be read: %w", protowire.ParseError(n))
			}
			if err := f(v); err != nil {
				return err
			}
			message = message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return fmt.Errorf("its answer cannot be read: %w", protowire.ParseError(n))
		}
		message = message[n:]
	}
	return nil
}

// text is a field that is one, "" where it is missing.
func text(message []byte, field protowire.Number) (s string, err error) {
	err = each(message, field, func(b []byte) error {
		s = string(b[:min(len(b), longestName)])
		return nil
	})
	return s, err
}
