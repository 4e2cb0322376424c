package filesystem

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
)

// matters tells an option that changes how a file system reads and writes: what is
// waited for, how often a journal is committed, what is written twice, discarded at
// once, compressed, or counted for quotas.
func matters(option string) bool {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "data":
		return value != "ordered"
	case "barrier":
		return value == "0"
	}
	return strings.Contains(name, "quota") && name != "noquota" ||
		slices.Contains([]string{
			"sync", "dirsync", "discard", "nodiscard", "nobarrier", "commit", "nodelalloc", "journal_async_commit", "dax", "max_batch_time", "min_batch_time",
			"wsync", "logbufs", "logbsize", "logdev", "largeio", // XFS
			"compress", "compress-force", "autodefrag", "nodatacow", "nodatasum", "flushoncommit", // btrfs
		}, name)
}

// journal is the size in bytes of the journal inside an ext3 or ext4 file system, by
// the copy of the journal's inode in the superblock (s_jnl_blocks, fs/ext4/ext4.h); 0
// where there is none or it cannot be read. The superblock of a mounted file system is
// in memory: this reads no disk.
func journal(device string) uint64 {
	f, err := os.Open(device)
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, 1024)
	if _, err := f.ReadAt(b, 1024); err != nil {
		return 0
	}
	const magic, hasJournal, sizes = 0x38, 0x5c, 0x10c + 15*4
	word := binary.LittleEndian
	if word.Uint16(b[magic:]) != 0xef53 || word.Uint32(b[hasJournal:])&4 == 0 || b[0xfd] != 1 {
		return 0 // s_jnl_backup_type: there is a copy
	}
	return uint64(word.Uint32(b[sizes:]))<<32 | uint64(word.Uint32(b[sizes+4:]))
}
