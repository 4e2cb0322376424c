package host

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestNVMePaths(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, "sys", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("devices/nvme0/state", "live")
	write("devices/nvme1/state", "connecting")
	write("block/nvme0n1/size", "2048")
	write("block/nvme0c0n1/ana_state", "optimized")
	write("block/nvme0c1n1/ana_state", "inaccessible")
	write("block/nvme0c1n2/ana_state", "optimized") // of another namespace
	for path, controller := range map[string]string{"nvme0c0n1": "nvme0", "nvme0c1n1": "nvme1"} {
		if err := os.Symlink("../../devices/"+controller, filepath.Join(root, "sys/block", path, "device")); err != nil {
			t.Fatal(err)
		}
	}
	h := Tree(root, time.Now)
	got := h.NVMePaths("nvme0n1")
	want := []NVMePath{{"nvme0c0n1", "nvme0", "live", "optimized"}, {"nvme0c1n1", "nvme1", "connecting", "inaccessible"}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	if !got[0].Works() || got[1].Works() {
		t.Error("which paths work is wrong")
	}
	if all := h.NVMePaths("sda"); all != nil {
		t.Errorf("%+v", all)
	}
}
