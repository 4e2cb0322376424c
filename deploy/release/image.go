package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// platform is one architecture of the container image.
type platform struct {
	built
	files []file
}

// image is an OCI image layout in one archive, with an image for each
// architecture. No daemon and no registry is asked for anything.
func image(work string, platforms []platform) ([]byte, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		one, err := imageOf(p)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", p.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.arch}}})
	}
	// One name for all: who loads the archive gets the image of his architecture.
	named := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": platforms[0].version}}})
	dir := filepath.Join(work, "image")
	if _, err := layout.Write(dir, named); err != nil {
		return nil, fmt.Errorf("writing the image: %w", err)
	}
	var all []file
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		all = append(all, file{inside, 0o644, data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packing the image: %w", err)
	}
	return tarFiles(all, platforms[0].time)
}

func imageOf(p platform) (v1.Image, error) {
	layer, err := tarFiles(p.files, p.time)
	if err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: l, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: p.time}, CreatedBy: "deploy/release", Comment: "iocause " + p.version}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", p.arch, v1.Time{Time: p.time}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/iocause"},
		Env:        []string{"PATH=/usr/bin"},
		WorkingDir: "/tmp",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "iocause",
			"org.opencontainers.image.description": "finds out why I/O is slow",
			"org.opencontainers.image.version":     p.version,
			"org.opencontainers.image.revision":    p.commit,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}
