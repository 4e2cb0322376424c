import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

// One thread writes and syncs, one waits for the monitor that another holds.
public class Waits {
	interface Step { void run() throws Exception; }

	static final Object monitor = new Object();
	static volatile long entered;
	static FileChannel file;
	static final ByteBuffer page = ByteBuffer.allocateDirect(4096);

	static void commitRecord() throws Exception {
		page.clear();
		file.write(page, 0);
		file.force(true);
	}

	static void waitForMonitor() {
		synchronized (monitor) { entered++; }
	}

	static void holdMonitor() throws Exception {
		synchronized (monitor) { Thread.sleep(20); }
	}

	static void start(String name, Step step) {
		new Thread(() -> {
			try {
				for (;;) step.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		}, name).start();
	}

	public static void main(String[] args) throws Exception {
		file = new RandomAccessFile(args[0], "rw").getChannel();
		commitRecord();
		start("committer", Waits::commitRecord);
		start("holder", Waits::holdMonitor);
		start("waiter", Waits::waitForMonitor);
		while (entered < 3) Thread.sleep(10); // until all is compiled
		System.out.println("ready");
	}
}
