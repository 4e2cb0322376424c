// Receiver takes what agents send, over remote write 2.0 (/api/v1/write) and OTLP
// (/v1/metrics, /v1/logs), throws it away, and says each ten seconds what came since:
// requests, bytes of their bodies, values and histograms.
//
//	go run ./bench/receiver [-listen 127.0.0.1:19200]
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// counted is what came since it was told last.
type counted struct{ requests, bytes, values, histograms atomic.Int64 }

// Store implements the storage of the library's receiver.
func (c *counted) Store(r *http.Request, kind remoteapi.WriteMessageType) (*remoteapi.WriteResponse, error) {
	said := remoteapi.NewWriteResponse()
	body, err := io.ReadAll(r.Body)
	if err != nil || kind != remoteapi.WriteV2MessageType {
		return said, err
	}
	var w writev2.Request
	if err := w.Unmarshal(body); err != nil {
		return said, err
	}
	for _, x := range w.Timeseries {
		said.Samples += len(x.Samples)
		said.Histograms += len(x.Histograms)
	}
	c.values.Add(int64(said.Samples))
	c.histograms.Add(int64(said.Histograms))
	return said, nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:19200", "address")
	flag.Parse()
	var write, otlp counted
	size := func(c *counted, h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.requests.Add(1)
			c.bytes.Add(r.ContentLength)
			h.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v1/write", size(&write, remoteapi.NewWriteHandler(&write, remoteapi.MessageTypes{remoteapi.WriteV2MessageType})))
	mux.Handle("/v1/", size(&otlp, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf") // an empty answer: all was taken
	})))
	go func() {
		for range time.Tick(10 * time.Second) {
			for name, c := range map[string]*counted{"write": &write, "otlp": &otlp} {
				fmt.Println(name, c.requests.Swap(0), "requests", c.bytes.Swap(0), "bytes", c.values.Swap(0), "values", c.histograms.Swap(0), "histograms")
			}
		}
	}()
	fmt.Fprintln(os.Stderr, "receiver:", http.ListenAndServe(*listen, mux))
	os.Exit(1)
}
