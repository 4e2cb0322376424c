package space

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iocause/internal/lab/prove"
)

// freePort is one that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// clients is the load that a server gets: drive.py, so many connections.
func (st *Standing) clients(work string, v variant, more ...string) launch {
	return launch{argv: st.drive(work, st.Situation.Threads*max(1, v.wider), more...), read: prove.Number}
}

func startRocksDB(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	sync := "0"
	if s.Work == Commit && !v.noSync {
		sync = "1"
	}
	db := st.data()
	if v.noSync {
		db += "-nosync"
	}
	// It tells of its work every thousand records only. What it writes to its log is
	// as long for each record.
	return []launch{{argv: []string{"db_bench", "--benchmarks=fillrandom", "--db=" + db, "--sync=" + sync, "--num=100000000", "--duration=600",
		"--threads=" + strconv.Itoa(s.Threads)}, chars: true}}, nil
}

func startRedis(st *Standing, v variant) ([]launch, error) {
	sock := filepath.Join(st.dir, "r")
	fsync, dir := "always", filepath.Join(st.dir, "redis"+strconv.FormatBool(v.noSync))
	if v.noSync {
		fsync = "no"
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	work := "set"
	server := []string{"redis-server", "--port", "0", "--unixsocket", sock, "--dir", dir, "--save", "", "--auto-aof-rewrite-percentage", "0"}
	if st.Situation.Work == Cached {
		work = "get"
	} else {
		server = append(server, "--appendonly", "yes", "--appendfsync", fsync)
	}
	return []launch{{argv: server, server: true},
		st.clients("redis", v, "--socket="+sock, "--bs=100", "--", work)}, nil
}

func startEtcd(st *Standing, v variant) ([]launch, error) {
	client, err := freePort()
	if err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(st.dir, "etcd"+strconv.FormatBool(v.noSync))
	own, other := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	server := []string{"etcd", "--data-dir", dir, "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", other,
		"--initial-advertise-peer-urls", other, "--initial-cluster", "default=" + other, "--log-level", "error"}
	if v.noSync {
		server = append(server, "--unsafe-no-fsync")
	}
	return []launch{{argv: server, server: true}, st.clients("http", v, "--port="+strconv.Itoa(client), "--", "etcd")}, nil
}

func startNginx(st *Standing, v variant) ([]launch, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(st.env.Scratch(), "nginx.conf")
	files := st.files()
	if st.Situation.Work == Cached {
		files = 4
	}
	text := fmt.Sprintf(`daemon off; pid %[1]s/nginx.pid; error_log /dev/null; worker_processes 2; user root;
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 1000000000;
 client_body_temp_path %[1]s/nb; proxy_temp_path %[1]s/np; fastcgi_temp_path %[1]s/nf; uwsgi_temp_path %[1]s/nu; scgi_temp_path %[1]s/ns;
 server { listen 127.0.0.1:%[2]d; location ~ ^/(\d+)$ { root %[3]s; try_files /$1 /all/$1 =404; } } }
`, st.env.Scratch(), port, st.flat())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write nginx's settings: %w", err)
	}
	return []launch{{argv: []string{"nginx", "-c", conf, "-e", "/dev/null"}, server: true}, st.clients("http", v, "--port="+strconv.Itoa(port), "--", "get", strconv.Itoa(files))}, nil
}

func startPostgres(st *Standing, _ variant) ([]launch, error) {
	bin, dir := postgresBin(), filepath.Join(st.dir, "pg")
	script := fmt.Sprintf(`chmod 711 %[1]s; chmod 755 %[4]s; install -d -m 700 -o postgres %[2]s; cd %[2]s; as='setpriv --reuid=postgres --regid=postgres --init-groups'
$as %[3]s/initdb -D %[2]s/data -N -A trust >/dev/null; echo "synchronous_commit = on" >> %[2]s/data/postgresql.auto.conf
$as %[3]s/pg_ctl -D %[2]s/data -w -o '-k %[2]s -c listen_addresses=' start >/dev/null
$as %[3]s/psql -h %[2]s -q -c 'create table t(a int primary key, b int); insert into t select g, 0 from generate_series(1, 10000) g' postgres
$as %[3]s/pg_ctl -D %[2]s/data -w -m fast stop >/dev/null`, st.env.Scratch(), dir, bin, st.dir)
	if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a database: %w: %s", err, out)
	}
	as := []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"}
	server := launch{argv: append(as, bin+"/postgres", "-D", dir+"/data", "-k", dir, "-c", "listen_addresses="), server: true}
	client := st.clients("sqlpipe", variant{}, "--", "bash", "-c",
		fmt.Sprintf("until %[1]s/pg_isready -q -h %[2]s; do sleep 0.2; done; exec %[1]s/psql -h %[2]s -U postgres -qAt postgres", bin, dir))
	client.env = []string{"STATEMENT=with k as materialized (select 1 + (random() * 9999)::int as a) update t set b = b + 1 from k where t.a = k.a returning 1;"}
	return []launch{server, client}, nil
}

// quietPostgres turns synced commits off, and on again, in the running server.
func quietPostgres(st *Standing, off bool) error {
	value := "on"
	if off {
		value = "off"
	}
	dir := filepath.Join(st.dir, "pg")
	for _, sql := range []string{"alter system set synchronous_commit = " + value, "select pg_reload_conf()"} {
		if out, err := exec.Command(postgresBin()+"/psql", "-h", dir, "-U", "postgres", "-q", "-c", sql, "postgres").CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", sql, err, out)
		}
	}
	return nil
}

func startMariaDB(st *Standing, _ variant) ([]launch, error) {
	dir, sock := filepath.Join(st.dir, "my"), filepath.Join(st.dir, "m")
	out, err := exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+dir, "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("make a database: %w: %s", err, last(out))
	}
	server := launch{argv: []string{"mariadbd", "--no-defaults", "--datadir=" + dir, "--socket=" + sock, "--skip-networking", "--user=root", "--pid-file=" + dir + "/pid"}, server: true}
	client := st.clients("sqlpipe", variant{}, "--", "bash", "-c",
		fmt.Sprintf("until mariadb --no-defaults -S %[1]s -u root -e 'create table if not exists mysql.lab(a int auto_increment primary key, b int)' 2>/dev/null; do sleep 0.2; done; exec mariadb --no-defaults -S %[1]s -u root -N -n mysql", sock))
	client.env = []string{"STATEMENT=insert into lab(b) values (1) returning 1;"}
	return []launch{server, client}, nil
}

func quietMariaDB(st *Standing, off bool) error {
	value := 1
	if off {
		value = 0
	}
	sql := fmt.Sprintf("set global innodb_flush_log_at_trx_commit = %d", value)
	if out, err := exec.Command("mariadb", "--no-defaults", "-S", filepath.Join(st.dir, "m"), "-u", "root", "-e", sql).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", sql, err, out)
	}
	return nil
}

// last is the end of what a program printed, for an error.
func last(out []byte) string {
	s := strings.TrimSpace(string(out))
	return s[max(0, len(s)-400):]
}

// patience is how long a program may take until its first work is done.
const patience = 60 * time.Second
