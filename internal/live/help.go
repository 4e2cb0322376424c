package live

import "iocause/internal/present/text"

// help is what the keys do, and what stands where.
func (m *Model) help() []string {
	var lines []string
	for _, g := range []struct {
		title string
		keys  [][2]string
	}{
		{"Tables", [][2]string{
			{"1 to 8, Tab", "processes, files, devices, cgroups, page cache, evictions, dirty pages and writers, threads"},
			{"Up Down j k PgUp PgDn", "move; g and G go to the first and the last row"},
			{"< >", "sort by the previous or next column; r reverses the order"},
			{"/", "filter rows by text in a name; Esc shows all again"},
			{"Enter", "open: a process (where its time goes, its files), a file (who uses it), a device (its users and heat map), a cgroup (its processes)"},
			{"t, s", "of a process: the states of its threads; the code in which it waits (stacks, since that was opened)"},
			{"Esc", "go back"},
		}},
		{"Time", [][2]string{
			{"Space", "pause and continue; plays a recording. A pause does not stop watching"},
			{"Left Right", "one interval back or forward; [ and ] ten; { and } to the oldest and the newest"},
		}},
		{"Verdict", [][2]string{
			{"d", "the verdict in full: evidence, what to do, what was ruled out"},
			{"v", "switch it off and on; when off, its BPF programs are unloaded after a minute"},
			{"h", "switch the heat map off and on"},
		}},
		{"", [][2]string{{"q, Ctrl-C", "quit"}, {"Ctrl-Z", "suspend; fg continues"}, {"Ctrl-L", "redraw"}, {"m", "use the mouse: click a row (again: open it), a table's name, a column's head, a time in the heat map; the wheel moves. m again leaves it to the terminal, which selects text"}}},
		{"What is seen", [][2]string{
			{"top", "the verdict of the last 10 s: cause, victim, culprit, how much of its waiting that explains, since when"},
			{"io stall", "share of the time in which some thread waited for I/O (/proc/pressure/io)"},
			{"cache hit", "share of reads served from the page cache; -: nothing was read"},
			{"device", "share of time with I/O in flight, bytes read and written, mean latency with queue, queue depth"},
			{"heat map", "I/Os by time and by latency in the device; yellow or @ is most, on a logarithmic scale"},
			{"BLOCKED", "threads blocked on average by I/O, memory and kernel locks; 100 % is one thread all the time; WHY is the largest part"},
			{"-4 col", "columns hidden for lack of width"},
			{"corner", "CPU time of iocause and of its BPF programs, and its peak memory"},
			{"- and ?", "not measured or not applicable (-); could not be read (?)"},
		}},
	} {
		if g.title != "" {
			lines = append(lines, m.line().put(" "+g.title, titled).String())
		}
		for _, k := range g.keys {
			for i, s := range text.Wrap(k[1], max(m.width-26, 12)) {
				l := m.line()
				if i == 0 {
					l.put("   "+k[0], strong)
				}
				lines = append(lines, l.to(25).put(s, plain).String())
			}
		}
	}
	return lines
}
