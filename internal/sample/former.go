package sample

// renamed are the metrics that had another name in the version before. What was
// recorded then is read as what it is called now, and the agent writes its series
// under both names for one version.
func renamed() [9]struct{ was, is Metric } {
	return [9]struct{ was, is Metric }{
		{"cache.visits", CacheAccesses},
		{"cache.cold", CacheMisses},
		{"cache.visits_by_way", CacheWayAccesses},
		{"cache.cold_by_way", CacheWayMisses},
		{"cache.cold_mapped", CacheMappedMisses},
		{"cache.sampled_visits", CacheSampledAccesses},
		{"cache.sampled_cold_mapped", CacheSampledMapped},
		{"cache.sampled_visited", CacheSampledBytes},
		{"wait.looks", WaitSnapshots},
	}
}

// Current is what a metric of a recording is called now.
func Current(m Metric) Metric {
	for _, r := range renamed() {
		if m == r.was {
			return r.is
		}
	}
	return m
}

// UnmarshalText reads a metric that this version or the one before wrote.
func (m *Metric) UnmarshalText(text []byte) error {
	*m = Current(Metric(text))
	return nil
}

// Names are a metric under each name that it goes by: its own, and where that is
// new the one of the version before.
func (i Info) Names() []Info {
	all := []Info{i}
	for _, r := range renamed() {
		if i.Metric == r.is {
			i.Metric = r.was
			all = append(all, i)
		}
	}
	return all
}
