package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"time"
)

// file is a file, or with a name that ends in "/" a folder, before it is packed.
type file struct {
	name string
	mode int64
	data []byte
}

// gzipped packs data without a time or a name in it.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return b.Bytes(), nil
}

// tarFiles is an archive of files that belong to root, sorted, with the folders that they lie in.
func tarFiles(files []file, at time.Time) ([]byte, error) {
	all := slices.Clone(files)
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = true
	}
	for _, f := range files {
		for dir := path.Dir(path.Clean(f.name)); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if name := dir + "/"; !there[name] {
				there[name] = true
				all = append(all, file{name: name, mode: 0o755})
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		h := &tar.Header{Format: tar.FormatPAX, Name: f.name, Mode: f.mode, ModTime: at, Typeflag: tar.TypeReg, Size: int64(len(f.data))}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing an archive: %w", err)
	}
	return b.Bytes(), nil
}

// tarGzip is an archive whose files all lie in one folder.
func tarGzip(folder string, files []file, at time.Time) ([]byte, error) {
	inside := make([]file, len(files))
	for i, f := range files {
		f.name = folder + "/" + f.name
		inside[i] = f
	}
	b, err := tarFiles(inside, at)
	if err != nil {
		return nil, err
	}
	return gzipped(b)
}
