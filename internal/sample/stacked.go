package sample

// StackedNames are how the names of devices begin whose I/O is that of disks below
// them, or of memory: who adds up all disks would count it twice.
func StackedNames() []string { return []string{"loop", "dm-", "md", "zram", "ram"} }
