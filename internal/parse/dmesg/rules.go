package dmesg

import (
	"regexp"
	"strings"
)

// layer is who in the kernel tells of an error. One failed request is told
// several times on its way up: by the link, by the SCSI layer, by the block
// layer and by the file system. Those of the lowest number are counted where
// they name the same device, and the others are only said.
type layer int

const (
	block layer = iota // a request failed, and the log names its device
	scsi               // a command failed: [sda], or host:channel:target:lun
	link               // a port, controller, path or server, which has no block device's name
	page               // a page of the cache or a file system could not be read or written
	none               // of interest, but no failure of a device
)

// rule is one kind of message. Its first group is the device, where the kernel
// names one.
type rule struct {
	is    *regexp.Regexp
	layer layer
	what  string // what the device did, for people
	// class is OPERATION STATUS of block.failures; "" where that is not known.
	// "request" stands for an operation that the message does not name.
	class string
}

// sector is the rule whose third group is the operation, which newer kernels
// name.
const sector = "I/O errors of device"

// rules are all messages that are known, from the kernel's drivers; the first
// one that fits counts. The words are those of block/blk-core.c,
// drivers/scsi/{sd,scsi_error,constants}.c, drivers/ata/libata-eh.c,
// drivers/nvme/host/{core,pci}.c, drivers/md, drivers/mmc, net/sunrpc/clnt.c,
// fs/buffer.c and the file systems.
func rules() []rule {
	r := func(layer layer, what, class, is string) rule {
		return rule{regexp.MustCompile(is), layer, what, class}
	}
	return []rule{
		r(block, "requests that the device does not support:", "request not supported", `operation not supported error(?: on|,)? dev (\S+?),? sector`),
		r(block, sector, "request I/O error", `(?:I/O|critical \w+|protection|timeout|lost|EIO|recoverable transport) error(?: on|,)? dev (\S+?),? sector (\d+)(?: op 0x[0-9a-f]+:\((\w+)\))?`),
		r(page, "I/O errors of pages of device", "request I/O error", `[Bb]uffer I/O error on (?:dev(?:ice)? )(\S+?),? logical block`),
		r(page, "lost writes of device", "write I/O error", `lost (?:async |sync )?page write due to I/O error on (?:dev )?(\S+)`),

		r(scsi, "failed commands of", "request I/O error", `\bsd \S+ \[(\w+)\].*(?:Sense Key ?: ?0?x?(?:Medium Error|Hardware Error|Aborted Command|Not Ready|0?3\b|0?4\b|0?b\b)|FAILED Result|Unhandled (?:sense|error) code)`),
		r(scsi, "failed commands of", "request I/O error", `\bs[dr] (\d+:\d+:\d+:\d+):.*(?:Sense Key ?: ?(?:Medium Error|Hardware Error|Aborted Command|Not Ready)|FAILED Result)`),
		r(scsi, "commands that timed out, of", "request timeout", `\bsd \S+ \[(\w+)\].*(?:[Tt]ask abort|attempting (?:task|device) (?:abort|reset)|ABORT|abort(?:ing)? command|timing out command|timed out)`),
		r(scsi, "commands that timed out, of", "request timeout", `\b(?:sd|scsi) (\d+:\d+:\d+:\d+): .*(?:[Tt]ask abort|attempting (?:task|device|target|host) (?:abort|reset)|ABORT|abort(?:ing)? command|timing out command|timed out)`),
		r(scsi, "requests to a device that is offline:", "request I/O error", `\bsd \S+ (?:\[(\w+)\].*)?(?:rejecting I/O to (?:offline|dead) device|Device offlined|device offline)`),
		r(block, "requests to a device that is offline:", "request I/O error", `device offline error, dev (\S+?),`),
		r(link, "resets of", "request timeout", `\b(scsi host\d+|scsi\d+|(?:megaraid_sas|mpt[23]sas_cm|mpt[23]sas|hpsa|aacraid|aic\w+|arcmsr\d*|qla2xxx|lpfc|virtio_scsi|pvscsi|hv_storvsc|usb)(?: ?[\w.:-]*\d)?):? .*(?:resett?ing (?:scsi|host|bus|device|controller|adapter|logical)|reset (?:high|super|full)-?speed.* USB device|[Hh]ost (?:adapter|bus) (?:abort|reset)|task abort|TASK ABORT|ABORT(?:ING)?|cmd timed out|FW in FAULT|log_info\(0x31)`),

		r(link, "link errors", "request timeout", `\b(ata\d+)(?:\.\d+)?: (?:exception Emask.*|.*\(timeout\).*)(?:frozen|timeout)`),
		r(link, "link errors", "request I/O error", `\b(ata\d+)(?:\.\d+)?: (?:exception|failed command|hard resetting|soft resetting|SError|error: \{|limiting (?:SATA link )?speed|device not ready|SRST failed|COMRESET failed|link is slow to respond|qc timeout|revalidation failed)`),

		r(link, "time-outs of", "request timeout", `\b(nvme\d+)(?:n\d+)?:? .*(?:I/O .*timeout|I/O tag .*timeout|timeout, (?:aborting|reset|completion)|Abort status|controller is down|Device not ready; aborting|reset controller|Removing after probe failure|Disabling device after reset)`),
		r(link, "resets of", "request timeout", `\b(nvme\d+)(?:n\d+)?: .*(?:resetting controller|failed to (?:reset|set))`),
		r(block, "failed commands of", "request I/O error", `\b(nvme\d+n\d+): .*(?:\(sct 0x|I/O Error|Read\(0x2\)|Write\(0x1\)).*`),

		r(block, "disks that left the array because of errors:", "request I/O error", `md[/:].*?(?:Disk failure on|read error (?:not corrected|NOT corrected).*on|Failing|Faulty) (?:raid device |device )?(\w+)`),
		r(block, "read errors of a disk of an array:", "read I/O error", `md/raid\S* *(?:read error (?:corrected|not correctable|NOT corrected!!?) \(\d+ sectors at \d+ on|redirecting sector \d+ to other mirror:|rescheduling sector)[: ]*(\w+)`),
		r(block, "read errors of a disk of an array:", "read I/O error", `raid\d*: (?:Disk failure on )?(\w+): (?:unrecoverable I/O|rescheduling sector|redirecting sector)`),
		r(link, "paths that failed:", "request I/O error", `(?:device-mapper: )?multipath:? .*?(?:Failing path|[Ff]ail(?:ed|ing) path) (\S+?)\.?$`),
		r(link, "paths that failed:", "request I/O error", `multipathd?.*?: (\w+): (?:mark as failed|checker msg is|.*path is down|directio checker reports path is down)`),

		r(block, "card errors", "request I/O error", `\b(mmcblk\d+)(?:p\d+)?: .*(?:error -?\d+|timed out|retrying using single block|status error)`),
		r(link, "card errors", "request timeout", `\b(mmc\d+): .*(?:[Tt]imeout waiting|error -110|tuning execution failed|cache flush error|req failed|Card stuck)`),

		r(link, "errors of Ceph", "request timeout", `\b(rbd\d+|libceph: osd\d+)[: ].*(?:result -\d+|timed? ?out|down|socket closed|slow)`),

		r(page, "I/O errors of the file system on", "request I/O error", `\bXFS \(([^)]+)\): (?:metadata I/O error|log I/O error|.*(?:I/O error|error 5\b|Log I/O Error))`),
		r(page, "I/O errors of the file system on", "request I/O error", `\bEXT[234]-fs (?:error|warning) \(device ([^)]+)\).*(?:I/O error|IO (?:error|failure)|unable to read|[Rr]eadonly due to I/O|reading directory|writing to inode|failed to (?:read|write))`),
		r(page, "I/O errors of the journal on", "write I/O error", `JBD2: .*(?:I/O error|IO error|Error -5).*? (?:on|for|when updating journal superblock for) (\S+?)-?\d*\.?$`),
		r(page, "I/O errors of the file system on", "request I/O error", `BTRFS.*?\bbdev (?:/dev/)?(\S+) errs: wr`),
		r(page, "I/O errors of the file system on", "request I/O error", `BTRFS.*?\(device ([^)]+)\).*(?:I/O error|IO failure|lost page write)`),

		r(none, "errors of the file system on", "", `\b(?:EXT[234]-fs|F2FS-fs|BTRFS)(?: \w+)? \(device ([^):]+)\S*:? .*(?:error|orruption|shut(?:ting)? ?down)`),
		r(none, "errors of the file system on", "", `\b(?:EXT[234]-fs error \(device |XFS \()([^)]+)\).*`),
	}
}

var (
	// silent is a server that does not answer (fs/lockd, net/sunrpc/clnt.c).
	silent = regexp.MustCompile(`\bnfs: server (\S+?),? (?:is not responding|not responding)`)
	// cache is how sd takes a disk's write cache when it finds the disk.
	cache = regexp.MustCompile(`\bsd \S+ \[(\w+)\] Write cache: (enabled|disabled)`)
	hung  = regexp.MustCompile(`task (\S+?):(\d+) blocked for more than (\d+) seconds`)
	oom   = regexp.MustCompile(`(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (\d+) \(?([^),]*)\)?`)
	// harmless are messages that name a file system or a command that a device
	// does not have.
	harmless = regexp.MustCompile(`[Mm]ount(?:ed|ing) |Ending clean mount|Starting recovery|Ending recovery|write access will be|re-mounted|recovery complete|Sense Key ?: ?(?:Illegal Request|No Sense|Recovered Error|Unit Attention)|nfs: server \S+ OK|EH complete`)
)

// words are what every message has at least one of: most lines have none, and
// need not be looked at closer.
func words() []string {
	return []string{
		"error", "Error", "timeout", "Timeout", "time out", "timed out", "timing out", "blocked for more", "ut of memory", "exception", "failed command", "limiting ", "RST failed", "RESET failed", "link is slow", "revalidation failed", "abort", "Abort", "ABORT",
		"reset", "Sense Key", "FAILED", "offline", "dead device", "Disk failure", "sector", "ailing path", "ailed path", "as failed", "path is down", "not responding",
		"Write cache: ", "-fs", "XFS", "BTRFS", "controller is down", "not ready", "errs: wr", "Unhandled", "log_info",
	}
}

// maybe tells quickly whether a line can be a message.
func maybe(line string, words []string) bool {
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}
