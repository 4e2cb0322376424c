package netdev

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

const heading = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n"

func TestParse(t *testing.T) {
	all, err := parse(proctest.Fixture(t, "dev-6.18"))
	if err != nil || len(all) != 4 || all[3].Name != "eth0" || all[3].RxBytes < 800e6 || all[0] != (Interface{Name: "lo", RxBytes: all[0].RxBytes, TxBytes: all[0].RxBytes}) {
		t.Errorf("%+v, %v", all, err)
	}
	all, err = parse([]byte(heading + "a:b:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"))
	if err != nil || all[0] != (Interface{Name: "a:b", RxBytes: 1, RxErrors: 3, RxDrops: 9, TxBytes: 9, TxErrors: 11, TxDrops: 25}) {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = parse([]byte(heading + "eth0: 1 2 x\n"))
	proctest.WantLine(t, err, 3)
	_, err = parse([]byte("nonsense\n"))
	proctest.WantLine(t, err, 1)
}

func TestParseTCP(t *testing.T) {
	s, err := parseTCP(proctest.Fixture(t, "snmp-6.18"))
	if err != nil || s.Out < 15000 || s.Again != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = parseTCP([]byte("Tcp: OutSegs RetransSegs\nTcp: 5\n"))
	proctest.WantLine(t, err, 2)
	_, err = parseTCP([]byte("Udp: 1\n"))
	proctest.WantLine(t, err, 1)
}

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	write := func(rx, tx, drop, again string) {
		x.Write("proc/net/dev", heading+"eth0: "+rx+" 0 0 "+drop+" 0 0 0 0 "+tx+" 0 0 0 0 0 0 0\n")
		x.Write("proc/net/snmp", "Tcp: RetransSegs OutSegs\nTcp: "+again+" 100\n")
	}
	write("100", "5", "1", "7")
	x.Write("sys/class/net/eth0/speed", "1000\n")
	s := x.Open(Open)
	eth0 := sample.Entity{Device: "eth0"}
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.First), sample.NetReceived, eth0)
	write("1100", "3", "4", "9")
	w := proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.NetReceived, eth0, 1000)
	proctest.Want(t, w, sample.NetDrops, eth0, 3)
	proctest.Want(t, w, sample.NetSpeed, eth0, 125e6)
	proctest.Want(t, w, sample.TCPAgain, sample.Entity{}, 2)
	proctest.WantAbsent(t, w, sample.NetSent, eth0)
	if len(w.Gaps) != 1 {
		t.Errorf("gaps %+v, want one for what was sent", w.Gaps)
	}
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b); parseTCP(b) })
}
