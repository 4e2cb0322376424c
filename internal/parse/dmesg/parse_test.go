package dmesg

import (
	"strings"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestErrors(t *testing.T) {
	g := linestest.Fixture(t, tool(), "errors.txt")
	g.Want(sample.BlockFailures, sample.Entity{Device: "sdb", Class: "read I/O error"}, 2, 0)
	g.Want(sample.BlockFailures, sample.Entity{Device: "nvme0", Class: "request timeout"}, 1, 0)
	g.Want(sample.TasksHung, sample.Entity{}, 1)
	g.WantNote("2 I/O errors of device sdb")
	g.WantNote("1 I/O errors of pages of device sdb1")
	g.WantNote("kworker/u8:2 (pid 1234) hung for 120 s")
	g.WantNote("time-outs of nvme0")
	g.WantNote("mongod was killed")
	g.WantNote("file system on sdb1")
	if n := len(g.Values); n != 3 {
		t.Errorf("%d series, want 3: a page and a file system tell again what the disk has told: %v", n, g.Values)
	}
}

// What the drivers, the layers above them, networks and file systems say when a
// request fails or is not answered, and the device that they name.
func TestMessages(t *testing.T) {
	for line, device := range map[string]string{
		`[  123.456] end_request: I/O error, dev sda, sector 123456`:                                                                                    "sda",
		`print_req_error: critical medium error, dev sdb, sector 88342`:                                                                                 "sdb",
		`I/O error, dev nvme0n1, sector 54712 op 0x1:(WRITE) flags 0x800 phys_seg 3 prio class 2`:                                                       "nvme0n1",
		`Buffer I/O error on device sdc1, logical block 3`:                                                                                              "sdc1",
		`kernel: Buffer I/O error on dev dm-2, logical block 3, lost async page write`:                                                                  "dm-2",
		`sd 2:0:0:0: [sda] tag#3 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE cmd_age=2s`:                                                     "sda",
		`sd 2:0:0:0: [sda]  Sense Key : Medium Error [current] [descriptor]`:                                                                            "sda",
		`sd 2:0:0:0: [sda]  Sense Key : 0x3 [current]`:                                                                                                  "sda",
		`sd 4:0:7:0: [sdh] tag#18 task abort called for scmd(00000000a5)`:                                                                               "sdh",
		`sd 4:0:7:0: attempting task abort! scmd(ffff88103bb4a680)`:                                                                                     "4:0:7:0",
		`scsi 0:2:1:0: rejecting I/O to dead device`:                                                                                                    "",
		`sd 0:0:1:0: rejecting I/O to offline device`:                                                                                                   "of no name",
		`sd 3:0:0:0: [sdd] rejecting I/O to offline device`:                                                                                             "sdd",
		`device offline error, dev sdf, sector 4096 op 0x1:(WRITE)`:                                                                                     "sdf",
		`ata3.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x0`:                                                                                     "ata3",
		`ata3.00: failed command: READ FPDMA QUEUED`:                                                                                                    "ata3",
		`ata6: hard resetting link`:                                                                                                                     "ata6",
		`ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen`:                                                                              "ata1",
		`nvme nvme0: I/O 832 QID 8 timeout, aborting`:                                                                                                   "nvme0",
		`nvme nvme1: I/O tag 12 (100c) QID 3 timeout, reset controller`:                                                                                 "nvme1",
		`nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10`:                                                                  "nvme0",
		`nvme0n1: Read(0x2) @ LBA 4194, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR`:                                                       "nvme0n1",
		`md/raid1:md0: Disk failure on sdb1, disabling device.`:                                                                                         "sdb1",
		`md/raid:md1: read error not correctable (sector 8 on sdc2).`:                                                                                   "",
		`md/raid1:md0: sda1: rescheduling sector 2312`:                                                                                                  "",
		`mmcblk0: error -110 transferring data, sector 1234, nr 8, cmd response 0x900, card status 0x0`:                                                 "mmcblk0",
		`mmc0: Timeout waiting for hardware interrupt.`:                                                                                                 "mmc0",
		`device-mapper: multipath: Failing path 8:48.`:                                                                                                  "8:48",
		`device-mapper: multipath: 253:5: Failing path 65:16.`:                                                                                          "65:16",
		`multipathd[812]: sdk: mark as failed`:                                                                                                          "sdk",
		`multipathd: mpatha: sdc - directio checker reports path is down`:                                                                               "",
		`XFS (dm-1): metadata I/O error in "xlog_iodone" at daddr 0x1c0 len 64 error 5`:                                                                 "dm-1",
		`EXT4-fs error (device sda2): ext4_find_entry:1234: inode #2: comm ls: reading directory lblock 0`:                                              "sda2",
		`EXT4-fs warning (device dm-0): ext4_end_bio:332: I/O error -5 writing to inode 12`:                                                             "dm-0",
		`BTRFS error (device sdb): bdev /dev/sdb errs: wr 0, rd 12, flush 0, corrupt 0, gen 0`:                                                          "sdb",
		`Mar  3 04:05:06 web1 kernel: [12345.678] blk_update_request: I/O error, dev vdb, sector 12`:                                                    "vdb",
		`2021-03-04T05:06:07.123456+00:00 db2 kernel: blk_update_request: I/O error, dev sdq, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0`: "sdq",
	} {
		g := linestest.Read(t, tool(), line+"\n")
		var got []string
		for k, v := range g.Values {
			if k.Metric == sample.BlockFailures && v[0] == 1 {
				got = append(got, k.Entity.Device)
			}
		}
		if want := device; want == "" {
			if len(got) > 1 {
				t.Errorf("%s\nis of %v", line, got)
			}
		} else if len(got) != 1 || got[0] != want {
			t.Errorf("%s\nis of %v, want %s", line, got, want)
		}
	}
}

// One failed read is told by the port, the SCSI layer, the block layer, the page
// cache and the file system: it is one.
func TestLayers(t *testing.T) {
	g := linestest.Read(t, tool(), strings.Join([]string{
		"ata3.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x0",
		"ata3.00: failed command: READ FPDMA QUEUED",
		"sd 2:0:0:0: [sda]  Sense Key : Medium Error [current] [descriptor]",
		"blk_update_request: I/O error, dev sda, sector 128 op 0x0:(READ) flags 0x0",
		"Buffer I/O error on dev sda1, logical block 16, async page read",
		"EXT4-fs error (device sda1): ext4_find_entry:1234: inode #2: comm ls: reading directory lblock 0",
	}, "\n"))
	g.Want(sample.BlockFailures, sample.Entity{Device: "sda", Class: "read I/O error"}, 1, 0)
	if len(g.Values) != 1 {
		t.Errorf("one failure is counted as %v", g.Values)
	}
}

func TestOtherMessages(t *testing.T) {
	for _, s := range []string{
		"there was an error in the program", "XFS (sda1): Mounting V5 Filesystem", "EXT4-fs (sda1): mounted filesystem with ordered data mode", "a timeout occurred",
		"EXT4-fs (sdb2): re-mounted. Opts: errors=remount-ro,user_xattr,commit=0", "nfs: server 10.1.2.3 OK", "ata1: EH complete",
		"sd 0:0:0:0: [sda] tag#0 Sense Key : Illegal Request [current]", "sd 2:0:0:0: [sda] Write Protect is off", "connection reset by peer", "GET /data/errors HTTP/1.1 error 500",
	} {
		if Find(s) >= 0 {
			t.Errorf("%q is read as a message of trouble", s)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// A command that a device does not have is no failure of it.
func TestNotSupported(t *testing.T) {
	g := linestest.Read(t, tool(), "blk_update_request: operation not supported error, dev nvme0n1, sector 0 op 0x0:(READ) flags 0x0\nBuffer I/O error on dev nvme0n1, logical block 0, async page read\n")
	g.Want(sample.BlockFailures, sample.Entity{Device: "nvme0n1", Class: "request not supported"}, 1, 0)
	if len(g.Values) != 1 {
		t.Errorf("%v", g.Values)
	}
}

// What a hung task waits for stands in its stack.
func TestHungIn(t *testing.T) {
	g := linestest.Fixture(t, tool(), "hung.txt")
	g.Want(sample.TasksHung, sample.Entity{}, 1, 1, 1)
	g.Want(sample.TasksHung, sample.Entity{Class: sample.ClassJournal}, 1, 1)
	g.Want(sample.TasksHung, sample.Entity{Class: sample.ClassNetwork}, 1)
	g.Want(sample.NFSTimeouts, sample.Entity{Device: "filer.example", Class: "not responding"}, 2)
	g.Want(sample.DeviceWriteCache, sample.Entity{Device: "sdb"}, 0)
	if g.Uses[lines.Foreign] > 0 {
		t.Errorf("uses %v", g.Uses)
	}
}
