package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists what is in the binary, as the binary itself says: a CycloneDX
// document (https://cyclonedx.org/docs/1.6/json/).
func sbom(b built) ([]byte, error) {
	sum := sha256.Sum256(b.binary)
	self := cdx.Component{BOMRef: "iocause", Type: cdx.ComponentTypeApplication, Name: "iocause", Version: b.version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: &[]cdx.Property{
			{Name: "iocause:go", Value: b.info.GoVersion}, {Name: "iocause:architecture", Value: b.arch}, {Name: "iocause:commit", Value: b.commit}}}
	parts := []cdx.Component{{BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(b.info.GoVersion, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(b.info.GoVersion, "go"), Description: "Go's standard library"}}
	for _, m := range b.info.Deps {
		part, err := component(m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(sum)
	bom.Metadata = &cdx.Metadata{Timestamp: b.time.Format(time.RFC3339), Component: &self}
	bom.Components = &parts
	// Go tells which modules are linked, not which of them needs which.
	bom.Dependencies = &[]cdx.Dependency{{Ref: "iocause", Dependencies: &names}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("writing what is in the binary: %w", err)
	}
	return out.Bytes(), nil
}

// component is a module that is linked.
func component(m *debug.Module) (cdx.Component, error) {
	c := cdx.Component{BOMRef: m.Path, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
	if ours(m) {
		c.Version, c.Description = "", "a stand-in, of iocause's own sources: "+m.Replace.Path
		return c, nil
	}
	if m.Replace != nil {
		m = m.Replace
	}
	c.PackageURL = "pkg:golang/" + m.Path + "@" + m.Version
	digest, ok := strings.CutPrefix(m.Sum, "h1:")
	raw, err := base64.StdEncoding.DecodeString(digest)
	if !ok || err != nil {
		return c, fmt.Errorf("module %s has no checksum that is understood: %q", m.Path, m.Sum)
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	return c, nil
}

// ours tells of a module that one in this repository stands in for.
func ours(m *debug.Module) bool {
	return m.Replace != nil && strings.HasPrefix(m.Replace.Path, "./third_party/")
}

// serial is a number for the document that belongs to the binary alone (RFC
// 9562, version 8).
func serial(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
