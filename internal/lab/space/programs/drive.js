// Work for the lab: node drive.js WORK PATH SIZE BS THREADS NOSYNC THINK_MS
const fs = require('fs');
const [work, path, size, bs, threads, nosync, think] = [process.argv[2], process.argv[3], ...process.argv.slice(4).map(Number)];
let n = 0;
const tell = () => { if (n > 0) { fs.writeSync(1, n + '\n'); n = 0; } };
setInterval(tell, 100);
const pause = () => think ? new Promise(r => setTimeout(r, think)) : undefined;
async function one(i) {
  const buf = Buffer.alloc(bs, 1);
  if (work === 'compute') for (;;) { let x = 0; for (let k = 0; k < 2e5; k++) x += k * k; n++; await new Promise(setImmediate); }
  if (work === 'commit') {
    const f = await fs.promises.open(path + '.' + i, 'w');
    for (let at = 0; ; at = (at + bs) % (64 << 20)) { await f.write(buf, 0, bs, at); if (!nosync) await f.datasync(); n++; await pause(); }
  }
  const f = await fs.promises.open(path, 'r'), blocks = Math.max(1, Math.floor(size / bs));
  for (let k = i; ; k++) {
    const block = work === 'read-seq' ? k % blocks : Math.floor(Math.random() * blocks);
    await f.read(buf, 0, bs, block * bs); n++; await pause();
  }
}
for (let i = 0; i < threads; i++) one(i);
