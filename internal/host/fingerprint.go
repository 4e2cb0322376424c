package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fingerprint is what makes two hosts, or one host at two times, comparable:
// the kernel, the machine, its devices and the settings that I/O depends on.
// It holds no names of hosts or people. What could not be read is absent from
// it and from its JSON, never zero.
type Fingerprint struct {
	Kernel      string            `json:"kernel,omitempty"` // release, as uname -r
	Arch        string            `json:"arch,omitempty"`   // machine, as uname -m
	CPUs        int               `json:"cpus,omitempty"`   // online
	CPUModel    string            `json:"cpu_model,omitempty"`
	MemoryBytes uint64            `json:"memory_bytes,omitempty"`
	PageSize    uint64            `json:"page_size,omitempty"` // bytes
	SwapBytes   *uint64           `json:"swap_bytes,omitempty"`
	Devices     []BlockDevice     `json:"devices,omitempty"`
	FileSystems []FileSystem      `json:"file_systems,omitempty"`
	VM          map[string]uint64 `json:"vm,omitempty"` // /proc/sys/vm, by name
	CgroupMode  CgroupMode        `json:"cgroup_mode,omitempty"`
	Lockdown    string            `json:"lockdown,omitempty"`               // "none", "integrity", "confidentiality"
	THP         string            `json:"transparent_hugepage,omitempty"`   // "always", "madvise", "never"
	MGLRU       string            `json:"multi_generational_lru,omitempty"` // bit mask, as the kernel writes it
	Virtual     Virtual           `json:"virtual,omitzero"`
}

// BlockDevice is a disk that has a size.
type BlockDevice struct {
	Name  string `json:"name"`
	Bytes uint64 `json:"bytes"`
	Model string `json:"model,omitempty"`
	Layer *Layer `json:"layer,omitempty"` // of a device that lies on others
	Queue
}

// FileSystem is one file system, shown once however often it is mounted.
type FileSystem struct {
	Mount   string   `json:"mount"`
	Type    string   `json:"type"`
	Device  string   `json:"device,omitempty"` // source, as mounted
	Disk    string   `json:"disk,omitempty"`   // kernel's name of the whole disk
	Options []string `json:"options,omitempty"`
}

// Virtual is what hints at a virtual machine or a container.
type Virtual struct {
	Vendor     string   `json:"sys_vendor,omitempty"`   // "Amazon EC2", "QEMU"
	Product    string   `json:"product_name,omitempty"` // "m5.large"
	Hypervisor *bool    `json:"hypervisor_flag,omitempty"`
	Type       string   `json:"hypervisor_type,omitempty"` // /sys/hypervisor/type
	Container  []string `json:"container,omitempty"`       // what was found: "docker"
}

// Fingerprint reads the host's fingerprint. The error joins what could not be
// read although it is there; the fingerprint is good without it.
func (h *Host) Fingerprint() (Fingerprint, error) {
	var f Fingerprint
	var errs []error
	note := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	text := func(path string) string {
		s, err := readString(path)
		note(err)
		return clean(s)
	}
	f.Kernel = text(h.Proc("sys", "kernel", "osrelease"))
	f.Arch = h.arch()
	f.CPUs = h.Processors()
	f.CPUModel, f.Virtual.Hypervisor = h.cpuInfo()
	f.MemoryBytes, f.SwapBytes = h.memory()
	f.PageSize, _ = h.pageSize()
	devices, err := h.Devices()
	note(err)
	f.Devices, err = h.blockDevices(devices)
	note(err)
	mounts, err := h.Mounts()
	note(err)
	f.FileSystems = fileSystems(mounts, devices)
	f.VM, err = h.VMSysctls()
	note(err)
	if c, err := h.Cgroups(); err == nil {
		f.CgroupMode = c.Mode
	}
	// Reading the lockdown state may itself be forbidden: that is no fault.
	if s, err := readString(h.Sys("kernel", "security", "lockdown")); err == nil {
		f.Lockdown = Chosen(s)
	}
	f.THP = Chosen(text(h.Sys("kernel", "mm", "transparent_hugepage", "enabled")))
	f.MGLRU = text(h.Sys("kernel", "mm", "lru_gen", "enabled"))
	f.Virtual.Vendor = text(h.Sys("class", "dmi", "id", "sys_vendor"))
	f.Virtual.Product = text(h.Sys("class", "dmi", "id", "product_name"))
	f.Virtual.Type = text(h.Sys("hypervisor", "type"))
	f.Virtual.Container = h.container()
	return f, errors.Join(errs...)
}

// clean keeps a figure of one line short: a file that holds more is not one.
func clean(s string) string {
	if len(s) > 256 {
		s = s[:256]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (h *Host) blockDevices(devices *Devices) ([]BlockDevice, error) {
	var out []BlockDevice
	var errs []error
	layers := h.Layers(devices)
	for _, d := range devices.Disks() {
		if d.Bytes == 0 || strings.HasPrefix(d.Name, "ram") {
			continue
		}
		q, err := h.Queue(d.Name)
		if err != nil {
			errs = append(errs, err)
		}
		model, _ := readString(h.Sys("block", d.Name, "device", "model"))
		b := BlockDevice{Name: d.Name, Bytes: d.Bytes, Model: clean(model), Queue: q}
		if l, ok := layers[d.Name]; ok {
			b.Layer = &l
		}
		out = append(out, b)
	}
	return out, errors.Join(errs...)
}

// pseudo are file systems that hold no files of users.
var pseudo = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs",
	"devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs", "mqueue", "nsfs",
	"proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
}

// private are options that hold names and addresses, or are as long as a page.
var private = []string{
	"addr", "clientaddr", "domain", "lowerdir", "mountaddr", "upperdir", "username", "workdir",
}

// maxFileSystems bounds the list: container hosts mount thousands.
const maxFileSystems = 128

func fileSystems(mounts Mounts, devices *Devices) []FileSystem {
	var out []FileSystem
	seen := map[DevNumber]bool{}
	for _, m := range mounts {
		if slices.Contains(pseudo, m.Type) || strings.HasPrefix(m.Point, "/sys/") || seen[m.Dev] || len(out) == maxFileSystems {
			continue
		}
		seen[m.Dev] = true
		m, _ = mounts.Find(m.Dev)
		f := FileSystem{Mount: m.Point, Type: m.Type, Device: m.Source}
		f.Disk, _ = devices.Disk(m.Dev)
		for _, o := range append(slices.Clone(m.Options), m.Super...) {
			key, _, _ := strings.Cut(o, "=")
			if !slices.Contains(f.Options, o) && !slices.Contains(private, key) {
				f.Options = append(f.Options, o)
			}
		}
		out = append(out, f)
	}
	return out
}

// Processors counts those that are online, in "0-3,8-11"; 0 where that cannot be read.
func (h *Host) Processors() int {
	s, err := readString(h.Sys("devices", "system", "cpu", "online"))
	if err != nil {
		b, _ := Read(h.Proc("cpuinfo"), nil)
		return strings.Count("\n"+string(b), "\nprocessor\t:")
	}
	cpus, _ := ParseCPUs(s)
	return len(cpus)
}

// cpuInfo reads the first processor of /proc/cpuinfo. ARM has no model name.
func (h *Host) cpuInfo() (model string, hypervisor *bool) {
	b, _ := Read(h.Proc("cpuinfo"), nil)
	var arm string
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		key, value, _ := keyValue(line)
		switch key {
		case "model name", "cpu model":
			model = clean(value)
		case "CPU implementer", "CPU part", "CPU variant":
			arm += strings.ToLower(strings.TrimPrefix(key, "CPU ")) + " " + value + " "
		case "flags":
			yes := slices.Contains(strings.Fields(value), "hypervisor")
			hypervisor = &yes
		case "":
			if model != "" || arm != "" {
				b = nil // the first processor is read
			}
		}
	}
	if model == "" {
		model = clean(strings.TrimSpace(arm))
	}
	return model, hypervisor
}

func (h *Host) memory() (total uint64, swap *uint64) {
	found, _ := h.Meminfo("MemTotal", "SwapTotal") // a line that is no amount is absent
	if found[0] != nil {
		total = *found[0]
	}
	return total, found[1]
}

// container names what hints at a container around us.
func (h *Host) container() []string {
	var out []string
	for file, name := range map[string]string{"/.dockerenv": "docker", "/run/.containerenv": "podman"} {
		if _, err := os.Lstat(filepath.Join(h.Root, file)); err == nil {
			out = append(out, name)
		}
	}
	if s, err := readString(filepath.Join(h.Root, "/run/systemd/container")); err == nil && s != "" {
		out = append(out, clean(s))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// arch is the machine of uname(2); of a captured tree what kernels since 6.1
// write to /proc/sys/kernel/arch.
func (h *Host) arch() string {
	s, err := readString(h.Proc("sys", "kernel", "arch"))
	if err == nil && s != "" {
		return clean(s)
	}
	if h.IsLive {
		return machine()
	}
	return ""
}
