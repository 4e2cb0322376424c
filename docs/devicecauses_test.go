package docs_test

// deviceCauses says of the causes that lie in a device how each is told apart.
const deviceCauses = `Causes that lie in the victim's device, or in what that lies on ([blockio.md](blockio.md#settings-and-health)):

| cause | applies if | told apart |
|---|---|---|
| ` + "`raid-degraded-or-resync`" + ` | an array of md that the device is part of is rebuilt, checked or reshaped, and its own threads have a tenth or more of the I/O there; or it lacks a disk, and 1.25 times as much is read from its disks as from it | the array is busy with what others ask of it: their requests count as theirs on the way down. An idle array, or one without a mirror that costs nothing, is ruled out |
| ` + "`write-cache-off`" + ` | the victim waits for writes, the device says that it has a volatile write cache and that it is off, and a write takes 0.5 ms or longer | a cache that is on (` + "`sync-writes`" + `); a write that takes less than 0.5 ms (a protected cache). Where the kernel sends no flushes and the device cannot be asked it is ` + "`cannot tell`" + `: it may have none, or a protected one. What the cache would gain is not known |
| ` + "`device-unhealthy`" + ` | the device reports a warning (SMART) or pending sectors and is slow: 10 ms a request on average (50 ms if it rotates) or 100 ms for the slowest percent; or its errors, or its time throttled or too hot, rose in the window | a device that reports a fault and is fast, or is slow and reports none. Errors of the past and wear are no fault |
| ` + "`encryption-cpu`" + ` | half or more of the time of I/O through dm-crypt is its own, without the layers below | dm-crypt on a slow disk: most of the time is the disk's |
| ` + "`cloud-volume-limit`, `cloud-instance-limit`" + ` | the storage counts (EBS on NVMe) that for a tenth of the window or longer more was asked for than the cap of the volume, or of the machine for all its volumes, allows | a rate that is flat without that count is ` + "`device-iops-limit`" + ` or ` + "`device-bandwidth-limit`" + `, whoever set it |

No machine of ours has an EBS volume, so no scenario makes the last two. They are held against windows: a volume over its cap, a machine over its own, a slow volume within both, one whose neighbours' cap is another, a disk that is no volume. A whole diagnosis is held against a real NVMe disk with a cap of 200 operations a second in a virtual machine, whose page of statistics is emulated where the ioctl is called (` + "`" + `test/vm/devices ebs` + "`" + `, Linux 6.12, 2026-11-27, commit f25b3cd7): counted over the volume's cap it was cloud-volume-limit in five of five runs, over the machine's cloud-instance-limit in five of five, and where nothing was counted neither in five of five (cannot-tell; on another day device-queueing four times).

`
