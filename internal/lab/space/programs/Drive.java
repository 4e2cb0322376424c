// Work for the lab: java Drive WORK PATH SIZE BS THREADS NOSYNC THINK_MS
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

final class Drive {
    static final AtomicLong done = new AtomicLong();
    static volatile long sink;
    static String work, path;
    static long size, think;
    static int bs;
    static boolean nosync;

    public static void main(String[] a) throws Exception {
        work = a[0];
        path = a[1];
        size = Long.parseLong(a[2]);
        bs = Integer.parseInt(a[3]);
        nosync = a[5].equals("1");
        think = Long.parseLong(a[6]);
        for (int i = 0; i < Integer.parseInt(a[4]); i++) {
            final int k = i;
            new Thread(() -> {
                try {
                    one(k);
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }).start();
        }
        PrintStream out = System.out;
        for (;;) {
            Thread.sleep(100);
            long n = done.getAndSet(0);
            if (n > 0) {
                out.println(n);
                out.flush();
            }
        }
    }

    static void told() throws InterruptedException {
        done.incrementAndGet();
        if (think > 0) Thread.sleep(think);
    }

    static void one(int i) throws Exception {
        SplittableRandom random = new SplittableRandom(i);
        ByteBuffer buf = ByteBuffer.allocateDirect(bs);
        if (work.equals("compute")) {
            for (;;) {
                long x = 0;
                for (int k = 0; k < 500_000; k++) x += (x ^ k) * 31;
                sink = x;
                told();
            }
        }
        if (work.equals("commit")) {
            FileChannel f = FileChannel.open(Path.of(path + "." + i), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            for (long at = 0;; at = (at + bs) % (64 << 20)) {
                buf.clear();
                f.write(buf, at);
                if (!nosync) f.force(false);
                told();
            }
        }
        FileChannel f = FileChannel.open(Path.of(path), StandardOpenOption.READ);
        long blocks = Math.max(1, size / bs);
        for (long k = i;; k++) {
            buf.clear();
            f.read(buf, (work.equals("read-seq") ? k % blocks : random.nextLong(blocks)) * bs);
            told();
        }
    }
}
