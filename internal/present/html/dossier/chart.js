// Stage is one axis of time: the charts on it zoom together, and show the same
// instant together.
class Stage {
	constructor(set, number) {
		this.set = set;
		this.key = 'set' + number;
		this.start = Date.parse(set.start) / 1e3;
		this.plots = [];
		let first = Infinity, last = -Infinity;
		for (const x of [set, ...set.heats.filter(h => h.begin)]) {
			if (!x.begin.length) continue;
			first = Math.min(first, x.begin[0]);
			last = Math.max(last, x.end[x.end.length - 1]);
		}
		if (last <= first) last = first + 1;
		this.whole = [this.start + first, this.start + last];
		this.zooming = false;
		this.followers = []; // told of what is shown, from and to
	}
	date(ts) { // one whose local fields are those of the zone of the recording
		const d = new Date(ts * 1e3);
		return new Date(ts * 1e3 + (this.set.offset + d.getTimezoneOffset() * 60) * 1e3);
	}
	clock(ts, parts) {
		const d = this.date(ts), two = n => String(n).padStart(2, '0');
		const text = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
		return parts ? text + '.' + String(d.getMilliseconds()).padStart(3, '0') : text;
	}
	get short() { return this.whole[1] - this.whole[0] < 120; }
	zoom(min, max) {
		if (this.zooming) return;
		this.zooming = true;
		for (const u of this.plots) u.setScale('x', {min, max});
		for (const f of this.followers) f(min, max);
		this.zooming = false;
	}
	reset() { this.zoom(...this.whole); }
}

// midpoints are where the values of columns are drawn; where nobody observed for a
// while there is a column of nothing.
function midpoints(stage, begin, end) {
	const xs = [], from = [];
	for (let i = 0; i < begin.length; i++) {
		if (i > 0 && begin[i] - end[i - 1] > .5 * (end[i] - begin[i])) {
			xs.push(stage.start + (begin[i] + end[i - 1]) / 2);
			from.push(-1);
		}
		xs.push(stage.start + (begin[i] + end[i]) / 2);
		from.push(i);
	}
	return {xs, from};
}

// common are the options that all drawings of a stage share.
function common(stage, width, height, unit) {
	const axis = {stroke: () => theme().faint, grid: {stroke: () => theme().grid, width: 1}, ticks: {stroke: () => theme().grid, width: 1}, font: '11px system-ui, sans-serif'};
	return {
		width, height, legend: {show: false}, tzDate: ts => stage.date(ts), padding: [8, 8, 0, 0],
		cursor: {sync: {key: stage.key, setSeries: false, scales: ['x', null]}, drag: {x: true, y: false, setScale: true, dist: 4},
			points: {size: 6}, bind: {dblclick: () => () => { stage.reset(); return null; }}},
		scales: {x: {time: true, range: (u, min, max) => [min, max]}},
		axes: [{...axis, space: 90, values: (u, splits, a, space, incr) => splits.map(t => stage.clock(t, incr < 1))}, {...axis, size: 84, values: (u, splits) => splits.map(v => v === null ? '' : value(v, unit))}],
		hooks: {
			setScale: [(u, key) => { if (key === 'x' && stage.plots.includes(u)) stage.zoom(u.scales.x.min, u.scales.x.max); }],
			drawClear: [u => marks(u, stage)],
		},
	};
}

// marks shades stretches of time that are to be seen.
function marks(u, stage) {
	const ctx = u.ctx, {left, top, width, height} = u.bbox;
	ctx.save();
	for (const m of stage.set.marks) {
		const x0 = Math.max(u.valToPos(stage.start + m.from, 'x', true), left), x1 = Math.min(u.valToPos(stage.start + m.to, 'x', true), left + width);
		if (!(x1 > x0)) continue;
		ctx.fillStyle = theme().mark;
		ctx.fillRect(x0, top, x1 - x0, height);
		ctx.fillStyle = theme().edge;
		ctx.fillRect(x0, top, Math.max(1, devicePixelRatio), height);
		ctx.fillRect(x1 - 1, top, Math.max(1, devicePixelRatio), height);
	}
	ctx.restore();
}

// fit keeps a drawing as wide as its place.
function fit(u, place, height) {
	new ResizeObserver(() => {
		const width = Math.floor(place.clientWidth);
		if (width > 40 && width !== u.width) u.setSize({width, height});
	}).observe(place);
}

// words are what a line shows, for those who do not see it.
function words(line, unit) {
	const known = line.values.filter(v => v !== null).sort((a, b) => a - b);
	if (!known.length) return `${line.name}: not known`;
	return `${line.name}: least ${value(known[0], unit)}, median ${value(known[known.length >> 1], unit)}, most ${value(known[known.length - 1], unit)}`;
}

// drawChart draws lines, or parts of a whole above each other.
function drawChart(stage, chart, into) {
	const HEIGHT = 150;
	const {xs, from} = midpoints(stage, stage.set.begin, stage.set.end);
	const at = (line, i) => from[i] < 0 ? null : line.values[from[i]];
	const shown = chart.lines.map(() => true);
	const data = () => {
		const rows = [xs];
		if (!chart.stacked) return rows.concat(chart.lines.map(l => xs.map((_, i) => at(l, i))));
		const sums = xs.map((_, i) => from[i] < 0 ? null : 0), layers = [];
		chart.lines.forEach((l, k) => {
			if (shown[k]) xs.forEach((_, i) => { if (sums[i] !== null) sums[i] += at(l, i) || 0; });
			layers.push(shown[k] ? sums.slice() : xs.map(() => null));
		});
		return rows.concat(layers.reverse()); // the whole first: each covers what is above it
	};
	const figure = make('figure', {className: 'chart'});
	const title = make('h3', {textContent: chart.title});
	const place = make('div', {className: 'plot', tabIndex: 0, role: 'group'});
	place.setAttribute('aria-label', `${chart.title}. ${chart.lines.map(l => words(l, chart.unit)).join('. ')}. Arrow keys move over time.`);
	const keys = make('ul', {className: 'keys'});
	const outs = chart.lines.map((l, i) => {
		const swatch = make('i', {}), out = make('output', {});
		swatch.dataset.color = i;
		swatch.style.background = color(i);
		const button = make('button', {type: 'button', title: 'Show or hide'}, swatch, make('bdi', {textContent: l.name}));
		button.setAttribute('aria-pressed', 'true');
		button.addEventListener('click', () => {
			shown[i] = !shown[i];
			button.setAttribute('aria-pressed', String(shown[i]));
			if (!chart.stacked) return u.setSeries(i + 1, {show: shown[i]});
			const {min, max} = u.scales.x;
			u.batch(() => { u.setData(data(), false); u.setScale('x', {min, max}); });
		});
		keys.append(make('li', {}, button, out));
		return out;
	});
	const when = make('output', {className: 'when'}), source = 'source: ' + (chart.source || 'not known');
	figure.append(title, place, make('div', {className: 'under'}, keys, when), make('p', {className: 'source', textContent: source}));
	const rest = i => chart.lines[i].values.filter(v => v !== null);
	const summary = () => {
		when.textContent = '';
		outs.forEach((o, i) => { const all = rest(i); o.textContent = all.length ? 'mean ' + value(all.reduce((a, b) => a + b, 0) / all.length, chart.unit) : '-'; });
	};
	const o = common(stage, Math.max(Math.floor(into.clientWidth) || 300, 200), HEIGHT, chart.unit);
	const order = chart.stacked ? chart.lines.map((_, i) => chart.lines.length - 1 - i) : chart.lines.map((_, i) => i);
	const few = xs.length < 40;
	o.series = [{}, ...order.map(i => ({
		label: chart.lines[i].name, stroke: () => chart.stacked ? theme().back : color(i), width: chart.stacked ? .5 : 1.6,
		fill: chart.stacked ? () => color(i) : undefined, spanGaps: false, points: {show: chart.stacked ? xs.length < 2 : few, size: 4, fill: () => color(i), stroke: () => color(i)},
	}))];
	const highest = chart.band ? chart.band.high : 0;
	o.scales.y = {range: (u, min, max) => uPlot.rangeNum(0, Math.max(max || 0, highest, 1e-9), {min: {pad: 0, hard: 0, mode: 1}, max: {pad: .08, mode: 2}})};
	if (chart.unit === 'bytes' || chart.unit === 'bytes/s') o.axes[1].incrs = Array.from({length: 50}, (_, i) => 2 ** i);
	o.hooks.setCursor = [u => {
		const i = u.cursor.idx;
		if (i === null || i === undefined || u.cursor.left < 0) return summary();
		when.textContent = stage.clock(xs[i], stage.short);
		outs.forEach((out, k) => { out.textContent = value(at(chart.lines[k], i), chart.unit); });
	}];
	if (chart.band) o.hooks.drawClear.push(u => {
		const y0 = u.valToPos(chart.band.high, 'y', true), y1 = u.valToPos(chart.band.low, 'y', true);
		u.ctx.fillStyle = theme().band;
		u.ctx.fillRect(u.bbox.left, y0, u.bbox.width, Math.max(y1 - y0, 2));
	});
	into.append(figure);
	const u = new uPlot(o, data(), place);
	summary();
	stage.plots.push(u);
	fit(u, place, HEIGHT);
	byKeys(stage, u, place, xs, i => `${stage.clock(xs[i], stage.short)}: ${chart.lines.map(l => l.name + ' ' + value(at(l, i), chart.unit)).join(', ')}`);
	figure.append(savable(stage, () => ({u, title: chart.title, keys: chart.lines.map((l, i) => [color(i), l.name]).filter((_, i) => shown[i]), source})), asTable(chart.title, () => ({
		heads: ['Time', ...chart.lines.map(l => l.name)],
		rows: stage.set.begin.map((b, i) => [stage.clock(stage.start + b, stage.short), ...chart.lines.map(l => value(l.values[i], chart.unit))]),
	})));
}

// byKeys moves the cursor and zooms.
function byKeys(stage, u, place, xs, tell) {
	place.addEventListener('keydown', e => {
		let i = u.cursor.idx ?? 0;
		const {min, max} = u.scales.x, middle = xs[i] >= min && xs[i] <= max ? xs[i] : (min + max) / 2;
		const step = e.shiftKey ? 10 : 1;
		switch (e.key) {
		case 'ArrowRight': i = Math.min(i + step, xs.length - 1); break;
		case 'ArrowLeft': i = Math.max(i - step, 0); break;
		case 'Home': i = 0; break;
		case 'End': i = xs.length - 1; break;
		case '+': case '=': stage.zoom(middle - (middle - min) / 2, middle + (max - middle) / 2); break;
		case '-': stage.zoom(Math.max(middle - (middle - min) * 2, stage.whole[0]), Math.min(middle + (max - middle) * 2, stage.whole[1])); break;
		case 'Escape': case '0': stage.reset(); break;
		default: return;
		}
		e.preventDefault();
		u.setCursor({left: u.valToPos(xs[i], 'x'), top: u.cursor.top > 0 ? u.cursor.top : u.over.clientHeight / 2});
		say(tell(i));
	});
}

// asTable is the same as a drawing, in figures; it is made when it is opened.
function asTable(title, content) {
	const details = make('details', {className: 'alternative'}, make('summary', {textContent: 'As a table'}));
	details.querySelector('summary').setAttribute('aria-label', title + ', as a table');
	details.addEventListener('toggle', () => {
		if (!details.open || details.querySelector('table')) return;
		const {heads, rows} = content();
		const body = make('tbody', {});
		for (const r of rows) body.append(make('tr', {}, ...r.map((c, i) => make('td', {textContent: c, className: i ? 'r' : ''}))));
		const wide = make('div', {className: 'wide tall', tabIndex: 0, role: 'region'}, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((h, i) => make('th', {textContent: h, className: i ? 'r' : '', scope: 'col'})))), body));
		wide.setAttribute('aria-label', title);
		details.append(wide);
	});
	return details;
}
