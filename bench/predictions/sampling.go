package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"iocause/internal/predict"
)

// sampling writes what a sample of the pages says beside all of them: one page of each
// run, as iocause chooses them, and each page by its own hash (fixed-rate SHARDS), both
// with and without the correction by the number of all accesses. The truth is the LRU
// stack distance of every access, and the two lists that hold every page.
func sampling(b *strings.Builder) {
	const accesses = 4_000_000
	b.WriteString(`
## Samples of pages against all of them

Errors of the hit ratio at 24 sizes from a twentieth of the data to 1.2 times as much (mean / worst); 4 million accesses to 102,400 pages, drawn by a program. The truth is the exact LRU stack distance of every access, and two lists that hold every page. iocause watches a page of each run, about 16,000 in all, and corrects by the number of all accesses. Fixed-rate SHARDS (Waldspurger et al., FAST '15) watches each page by its own hash.

| accesses | one page in | LRU: a page of each run | LRU: SHARDS | two lists: a page of each run, corrected | not corrected | SHARDS, corrected | SHARDS |
|---|---|---|---|---|---|---|---|
`)
	for _, l := range []struct {
		name  string
		pages int
		next  func(r *rand.Rand, pages int) func(i int) int
	}{
		{"uniform, 400 MiB", 102400, func(r *rand.Rand, pages int) func(int) int { return func(int) int { return r.IntN(pages) } }},
		{"zipf 0.8, 400 MiB", 102400, zipf(0.8)},
		{"zipf 1.0, 400 MiB", 102400, zipf(1.0)},
		{"zipf 1.2, 400 MiB", 102400, zipf(1.2)},
		{"loop, 400 MiB", 102400, func(_ *rand.Rand, pages int) func(int) int { return func(i int) int { return i % pages } }},
		{"zipf 1.0 of 200 MiB, every fourth of a scan of 200 MiB", 102400, func(r *rand.Rand, pages int) func(int) int {
			hot := zipf(1.0)(r, pages/2)
			return func(i int) int {
				if i%4 == 0 {
					return pages/2 + i/4%(pages/2)
				}
				return hot(i)
			}
		}},
	} {
		next := l.next(rand.New(rand.NewPCG(1, 2)), l.pages)
		all := &predict.Trace{Pages: l.pages, Scale: 1, Length: accesses / 1000 * time.Millisecond}
		for i := range accesses {
			all.Events = append(all.Events, predict.Event{Page: uint32(next(i)), At: uint32(i / 1000), Kind: predict.Read, Asked: true})
		}
		var sizes []int64
		for i := 1; i <= 24; i++ {
			sizes = append(sizes, int64(l.pages)*predict.PageSize*int64(i)/20)
		}
		lists, lru := all.Raw(sizes)
		for _, scale := range []int{8, 64, 256} {
			ofRuns := func(page uint32) bool { return int(page)%scale == int(mix(uint64(page)/uint64(scale))%uint64(scale)) }
			shards := func(page uint32) bool { return mix(uint64(page))%uint64(scale) == 0 }
			var stacks, twoLists [4]string
			for i, keep := range []func(uint32) bool{ofRuns, ofRuns, shards, shards} {
				few := all.Thinner(keep, scale)
				if i%2 == 0 {
					for at := uint32(0); at <= accesses/1000; at += 100 {
						few.Asked = append(few.Asked, predict.Total{At: at, Pages: uint64(at) * 1000})
					}
				}
				l, s := few.Raw(sizes)
				twoLists[i], stacks[i] = apart(l, lists), apart(s, lru)
			}
			fmt.Fprintf(b, "| %s | %d | %s | %s | %s |\n", l.name, scale, stacks[0], stacks[2], strings.Join(twoLists[:], " | "))
		}
	}
}

// zipf asks for pages by Zipf's law, which lie in any order.
func zipf(skew float64) func(*rand.Rand, int) func(int) int {
	return func(r *rand.Rand, pages int) func(int) int {
		table, at := sums(pages, skew), r.Perm(pages)
		return func(int) int { return at[find(table, r.Float64())] }
	}
}

// mix is murmur3's finisher, by which the programs in the kernel choose.
func mix(hash uint64) uint64 {
	hash *= 0x9E3779B97F4A7C15
	hash = (hash ^ hash>>33) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>33) * 0xc4ceb9fe1a85ec53
	return hash ^ hash>>33
}

// apart is how far two curves are from each other, in the mean and at worst.
func apart(a, b []float64) string {
	mean, worst := 0.0, 0.0
	for i := range a {
		d := math.Abs(a[i] - b[i])
		mean, worst = mean+d/float64(len(a)), max(worst, d)
	}
	return fmt.Sprintf("%.4f / %.3f", mean, worst)
}
