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
			{"1 to 7, Tab", "processes, files, devices, cgroups, page cache, evictions, dirty pages and writers"},
			{"Up Down j k PgUp PgDn", "move; g and G go to the first and the last row"},
			{"< >", "sort by the figure before or behind; r turns the rows round"},
			{"/", "show rows with this text in a name; Esc shows all again"},
			{"Enter", "open: a process (where its time goes, its files), a file (who uses it), a device (its users and heat map), a cgroup (its processes)"},
			{"Esc", "go back"},
		}},
		{"Time", [][2]string{
			{"Space", "pause and go on; plays a recording. Watching goes on meanwhile"},
			{"Left Right", "one interval back or forth; [ and ] ten; { and } to the oldest and the newest"},
		}},
		{"Verdict", [][2]string{
			{"d", "the verdict in full: evidence, what to do, what was ruled out"},
			{"v", "switch it off and on; off, its kernel programs are taken out after a minute"},
			{"h", "switch the heat map off and on"},
		}},
		{"", [][2]string{{"q, Ctrl-C", "quit"}, {"Ctrl-Z", "stop, fg goes on"}, {"Ctrl-L", "draw all anew"}}},
		{"What is seen", [][2]string{
			{"top", "the verdict of the last 10 s: cause, victim, culprit, how much of its waiting that explains, since when"},
			{"io stall", "share of the time in which some thread waited for I/O (/proc/pressure/io)"},
			{"cache hit", "share of what was read that the page cache had; - where nothing was read"},
			{"device", "share of the time with I/O under way, bytes read and written, mean time from queue to end, I/O under way"},
			{"heat map", "I/Os by time and by latency in the device; yellow or @ is most, on a logarithmic scale"},
			{"BLOCKED", "threads held up on average by I/O, memory and the kernel's locks; 100 % is one thread all the time; WHY is what most of it was in"},
			{"-4 col", "columns that there is no room for; a wider terminal has them"},
			{"corner", "processor time of iocause and of its kernel programs, and the most memory it had"},
			{"- and ?", "not measured or does not apply; could not be read"},
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
