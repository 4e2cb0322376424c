package slabtop

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestOnce(t *testing.T) {
	g := linestest.Fixture(t, tool(), "whole.txt")
	g.WantNote("kernel objects: 84.2 MiB in 236 caches; largest: ext4_inode_cache 34.1 MiB, buffer_head 8.95 MiB")
	g.WantNote("71 % of that are names, inodes")
	g = linestest.Fixture(t, tool(), "top.txt")
	g.WantNote("in 13 caches of 236, the others are not in the text; largest: ext4_inode_cache 34.1 MiB, buffer_head 8.95 MiB, radix_tree_node 6.56 MiB, dentry 5.92 MiB")
	if !g.IsState || len(g.Faults) != 0 {
		t.Errorf("faults %q", g.Faults)
	}
}

func TestCut(t *testing.T) {
	const table = "  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n"
	g := linestest.Read(t, tool(), table+"10 10 100% 0.5K 1 8 1024K dentry\n10 10 100% 0.5K 1 8 3M kmalloc-64\n10 10 100%\n10 10 100% 0.5K 1 8 x y\n")
	g.WantNote("4 MiB in 2 caches; largest: kmalloc-64 3 MiB, dentry 1 MiB")
	g.WantNote("25 % of that")
	if len(g.Faults) != 2 {
		t.Errorf("faults %q", g.Faults)
	}
	if g = linestest.Read(t, tool(), table+"10 10 100% 0.5K 1 8 1024K dentry\n"+table); g.Uses[1] != 1 {
		t.Errorf("a second table is %v", g.Uses)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
