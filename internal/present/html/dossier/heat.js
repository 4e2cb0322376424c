// Heat maps: how many I/Os took how long, over time. Columns are those of the
// stage, or the map's own.
const OPS = ['read', 'write', 'flush', 'other'];
const opWords = {read: 'reads', write: 'writes', flush: 'flushes', other: 'other operations'};
const partWords = {device: 'in the device', queue: 'before the device', total: 'from request to completion'};

const heatName = h => `${h.device} ${opWords[h.op]}, ${partWords[h.part]}`;

function drawHeats(stage, into) {
	const heats = stage.set.heats;
	if (!heats.length) return;
	const figure = make('figure', {className: 'heat'}), chooser = make('div', {className: 'tools', role: 'group'});
	chooser.setAttribute('aria-label', 'Device and operation');
	const title = make('h3', {}), place = make('div', {className: 'plot', tabIndex: 0, role: 'group'});
	const out = make('output', {className: 'cellline'}), legend = make('p', {className: 'legend'}), cell = make('div', {className: 'cell'});
	cell.setAttribute('aria-live', 'polite');
	const source = make('p', {className: 'source'}), tables = make('div', {});
	figure.append(title, chooser, place, legend, out, cell, source, tables);
	into.append(figure);
	let map = null;
	const buttons = heats.map(h => {
		const b = make('button', {type: 'button'}, make('bdi', {textContent: heatName(h)}), make('small', {textContent: ' ' + counted(h.count)}));
		b.addEventListener('click', () => choose(h));
		chooser.append(b);
		return b;
	});
	const choose = h => {
		if (map) {
			stage.plots.splice(stage.plots.indexOf(map.u), 1);
			map.u.destroy();
			map.watch.disconnect();
		}
		buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(heats[i] === h)));
		title.textContent = `Latency of ${heatName(h)}`;
		place.setAttribute('aria-label', `${title.textContent}: a heat map of ${counted(h.count)} I/Os. Arrow keys move from cell to cell, Enter tells of one.`);
		source.textContent = `source: ${h.source || 'not known'}, ${counted(h.count)} ${opWords[h.op]}`;
		cell.replaceChildren();
		out.textContent = 'Point at a cell, or press it for what is known of its I/Os.';
		map = new HeatMap(stage, h, place, out, cell, legend);
		tables.replaceChildren(savable(stage, () => ({u: map.u, title: title.textContent, keys: map.keysOfShades(' I/Os in a cell'), source: source.textContent})), asTable(title.textContent, () => map.table()));
	};
	choose(heats[0]);
}

class HeatMap {
	constructor(stage, heat, place, out, cell, legend) {
		Object.assign(this, {stage, heat, out, cell, legend});
		this.begin = (heat.begin || stage.set.begin).map(t => stage.start + t);
		this.end = (heat.end || stage.set.end).map(t => stage.start + t);
		this.most = 0;
		this.low = Infinity;
		this.high = -Infinity;
		for (const c of heat.cells) {
			if (!c || !c.length) continue;
			this.low = Math.min(this.low, c[0]);
			this.high = Math.max(this.high, c[0] + c.length - 1);
			for (let k = 1; k < c.length; k++) this.most = Math.max(this.most, c[k]);
		}
		if (this.high < this.low) this.low = this.high = 0;
		this.picked = null; // column and row
		this.cells = [];
		this.u = this.plot(place);
		place.onkeydown = e => this.keys(e);
	}
	seconds(row) { return 2 ** (row / this.heat.per_octave) * 1e-9; }
	count(column, row) {
		const c = this.heat.cells[column];
		return c && c.length && row >= c[0] && row - c[0] + 1 < c.length ? c[row - c[0] + 1] : 0;
	}
	plot(place) {
		const HEIGHT = 240, {stage} = this;
		const o = common(stage, Math.max(Math.floor(place.clientWidth) || 300, 200), HEIGHT, 'seconds');
		const low = this.seconds(this.low), high = this.seconds(this.high + 1);
		o.scales.y = {distr: 3, log: 10, range: () => [low, high]};
		// one point a column, which nothing is drawn of: it carries the cursor
		o.series = [{}, {paths: () => null, points: {show: false}}];
		o.axes[1].splits = () => { const all = []; for (let p = -9; p < 3; p++) for (const m of [1, 2, 5]) { const v = m * 10 ** p; if (v >= low * .999 && v <= high * 1.001 && (m === 1 || high / low < 2000 && m < 5 || high / low < 60)) all.push(v); } return all; };
		o.axes[1].filter = (u, splits) => splits;
		o.cursor.points = {show: false};
		o.cursor.y = true;
		o.hooks.draw = [u => this.paint(u)];
		o.hooks.setCursor = [u => this.point(u)];
		const xs = this.begin.map((b, i) => (b + this.end[i]) / 2);
		const u = new uPlot(o, [xs, xs.map(() => low)], place);
		stage.plots.push(u);
		const {min, max} = stage.plots[0].scales.x;
		u.setScale('x', stage.plots.length > 1 && min !== null && min !== undefined ? {min, max} : {min: stage.whole[0], max: stage.whole[1]});
		this.watch = new ResizeObserver(() => {
			const width = Math.floor(place.clientWidth);
			if (width > 40 && width !== u.width) u.setSize({width, height: HEIGHT});
		});
		this.watch.observe(place);
		let down = null;
		u.over.addEventListener('mousedown', e => { down = [e.clientX, e.clientY]; });
		u.over.addEventListener('click', e => {
			if (down && Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 4) return; // it was a drag
			const at = this.under(u);
			if (at) this.tell(...at);
		});
		return u;
	}
	shade(n) { // the logarithm of the count, from the first shade to the last
		const shades = theme().heat;
		return this.most < 2 ? shades.length - 1 : Math.round(Math.log(n) / Math.log(this.most) * (shades.length - 1));
	}
	// image is the map as a picture of a pixel a cell, where all columns are as wide:
	// rows always are, on an axis of logarithms. One picture is drawn at once, however
	// many cells it has.
	image() {
		if (this.pixels && this.pixels.shades === theme().heat) return this.pixels;
		const n = this.begin.length, rows = this.high - this.low + 1, step = (this.end[n - 1] - this.begin[0]) / n;
		if (!this.begin.every((b, i) => Math.abs(b - this.begin[0] - i * step) < .02 * step)) return null;
		const canvas = document.createElement('canvas'), shades = theme().heat;
		canvas.width = n;
		canvas.height = rows;
		const ctx = canvas.getContext('2d'), data = ctx.createImageData(n, rows);
		const rgb = shades.map(s => [1, 3, 5].map(k => parseInt(s.slice(k, k + 2), 16)));
		this.heat.cells.forEach((c, i) => (c || []).slice(1).forEach((count, k) => {
			if (count) data.data.set([...rgb[this.shade(count)], 255], 4 * ((rows - 1 - (c[0] + k - this.low)) * n + i));
		}));
		ctx.putImageData(data, 0, 0);
		this.pixels = {canvas, shades};
		return this.pixels;
	}
	paint(u) {
		const ctx = u.ctx, {left, top, width, height} = u.bbox, image = this.image();
		const {min, max} = u.scales.x, seen = i => this.end[i] >= min && this.begin[i] <= max;
		let drawn = 0;
		ctx.save();
		ctx.beginPath();
		ctx.rect(left, top, width, height);
		ctx.clip();
		if (image) {
			const x0 = u.valToPos(this.begin[0], 'x', true), x1 = u.valToPos(this.end[this.end.length - 1], 'x', true);
			const y0 = u.valToPos(this.seconds(this.high + 1), 'y', true), y1 = u.valToPos(this.seconds(this.low), 'y', true);
			ctx.imageSmoothingEnabled = false;
			ctx.drawImage(image.canvas, x0, y0, x1 - x0, y1 - y0);
			this.heat.cells.forEach((c, i) => { if (c && seen(i)) for (let k = 1; k < c.length; k++) if (c[k]) drawn++; });
		} else {
			drawn = this.rectangles(u, seen);
		}
		ctx.restore();
		this.frame(u);
		this.u?.root.setAttribute('data-cells', drawn);
		this.legend.replaceChildren('I/Os in a cell: ', ...this.keysOfShades().flatMap(([s, text]) => {
			const b = make('i', {});
			b.style.background = s;
			return [b, text && text + ' '];
		}));
	}
	// keysOfShades are the shades from few to most I/Os, with the least and the most.
	keysOfShades(what = '') {
		return theme().heat.map((s, i, all) => [s, i === 0 ? '1' : i === all.length - 1 ? counted(this.most) + what : '']);
	}
	// rectangles draws shade by shade: a change of colour costs more than a rectangle.
	rectangles(u, seen) {
		const ctx = u.ctx, batches = theme().heat.map(() => []), ys = [];
		for (let r = this.low; r <= this.high + 1; r++) ys.push(Math.round(u.valToPos(this.seconds(r), 'y', true)));
		this.heat.cells.forEach((c, i) => {
			if (!c || !seen(i)) return;
			const x0 = Math.round(u.valToPos(this.begin[i], 'x', true)), w = Math.max(Math.round(u.valToPos(this.end[i], 'x', true)) - x0, 1);
			for (let k = 1; k < c.length; k++) {
				if (!c[k]) continue;
				const y = ys[c[0] + k - this.low];
				batches[this.shade(c[k])].push(x0, y, w, Math.max(ys[c[0] + k - 1 - this.low] - y, 1));
			}
		});
		let drawn = 0;
		batches.forEach((b, s) => {
			ctx.fillStyle = theme().heat[s];
			for (let k = 0; k < b.length; k += 4, drawn++) ctx.fillRect(b[k], b[k + 1], b[k + 2], b[k + 3]);
		});
		return drawn;
	}
	// frame is around the cell that was picked; it moves without a redraw.
	frame(u) {
		if (!this.mark) this.mark = u.over.appendChild(make('div', {className: 'picked'}));
		if (!this.picked) return;
		const [i, r] = this.picked, x0 = u.valToPos(this.begin[i], 'x'), x1 = u.valToPos(this.end[i], 'x');
		const y0 = u.valToPos(this.seconds(r + 1), 'y'), y1 = u.valToPos(this.seconds(r), 'y');
		this.mark.hidden = x1 < 0 || x0 > u.over.clientWidth;
		Object.assign(this.mark.style, {left: x0 + 'px', top: y0 + 'px', width: Math.max(x1 - x0, 3) + 'px', height: Math.max(y1 - y0, 3) + 'px'});
	}
	// under is the cell below the cursor.
	under(u) {
		const {left, top} = u.cursor;
		if (left === null || left < 0 || top < 0) return null;
		const t = u.posToVal(left, 'x'), s = u.posToVal(top, 'y');
		let a = 0, b = this.begin.length - 1;
		while (a < b) {
			const m = (a + b + 1) >> 1;
			if (this.begin[m] <= t) a = m; else b = m - 1;
		}
		if (!this.begin.length || t < this.begin[a] || t > this.end[a]) return null;
		return [a, Math.floor(Math.log2(s * 1e9) * this.heat.per_octave + 1e-6)];
	}
	range(row) { return `${duration(this.seconds(row))} to ${duration(this.seconds(row + 1))}`; }
	line(column, row) {
		const fine = this.stage.short, n = this.count(column, row);
		return `${this.stage.clock(this.begin[column], fine)} to ${this.stage.clock(this.end[column], fine)}, ${this.range(row)}: ${counted(n)} ${n === 1 ? this.heat.op : opWords[this.heat.op]}`;
	}
	point(u) {
		const at = this.under(u);
		if (at) this.out.textContent = this.line(...at);
	}
	// tell says what is known of the I/Os of a cell.
	tell(column, row) {
		this.picked = [column, row];
		this.frame(this.u);
		const {heat, stage} = this, use = stage.set.uses[heat.device];
		this.cell.replaceChildren(make('h4', {textContent: this.line(column, row)}));
		const n = this.count(column, row), all = (heat.cells[column] || []).slice(1).reduce((a, b) => a + b, 0);
		if (all) this.cell.append(make('p', {textContent: `${value(n / all, 'ratio')} of the ${counted(all)} ${opWords[heat.op]} of this column.`}));
		if (!use) return;
		const list = (title, rows) => rows.length && this.cell.append(make('p', {textContent: title}), make('ul', {}, ...rows));
		const of = (flat, size) => { const rows = []; for (let k = 0; k < (flat || []).length; k += size) rows.push(flat.slice(k, k + size)); return rows; };
		const op = OPS.indexOf(heat.op), low = this.seconds(row) * 1e6, high = this.seconds(row + 1) * 1e6;
		list('Who used the device then (mean latency from request to completion; in bold where that is in this cell):',
			of(use.processes[column], 4).map(([who, o, ops, us]) => {
				const text = `: ${counted(ops)} ${opWords[OPS[o]]}, mean ${duration(us * 1e-6)}`, name = make('bdi', {textContent: stage.set.names[who]});
				return make('li', {}, o === op && us >= low && us < high ? make('b', {}, name, text) : make('span', {}, name, text));
			}));
		list('Files that most was moved of:', of(use.files[column], 3).map(([file, o, bytes]) => make('li', {}, make('bdi', {textContent: stage.set.names[file]}), `: ${value(bytes, 'bytes')} ${OPS[o] === 'read' ? 'read' : 'written'}`)));
	}
	keys(e) {
		let [i, r] = this.picked || [0, (this.heat.cells[0] || [])[0] ?? this.low];
		switch (e.key) {
		case 'ArrowRight': i = Math.min(i + (e.shiftKey ? 10 : 1), this.begin.length - 1); break;
		case 'ArrowLeft': i = Math.max(i - (e.shiftKey ? 10 : 1), 0); break;
		case 'ArrowUp': r = Math.min(r + 1, this.high); break;
		case 'ArrowDown': r = Math.max(r - 1, this.low); break;
		case 'Enter': case ' ': e.preventDefault(); this.tell(i, r); return;
		case '+': case '=': { const m = (this.begin[i] + this.end[i]) / 2, {min, max} = this.u.scales.x; this.stage.zoom(m - (m - min) / 2, m + (max - m) / 2); e.preventDefault(); return; }
		case '-': { const {min, max} = this.u.scales.x, d = (max - min) / 2; this.stage.zoom(Math.max(min - d, this.stage.whole[0]), Math.min(max + d, this.stage.whole[1])); e.preventDefault(); return; }
		case 'Escape': case '0': this.stage.reset(); return;
		default: return;
		}
		e.preventDefault();
		this.picked = [i, r];
		this.frame(this.u);
		this.out.textContent = this.line(i, r);
		say(this.out.textContent);
	}
	table() {
		const rows = [];
		this.heat.cells.forEach((c, i) => (c || []).slice(1).forEach((n, k) => { if (n && rows.length < 5000) rows.push([this.stage.clock(this.begin[i], this.stage.short), this.range(c[0] + k), counted(n)]); }));
		return {heads: ['Time', 'Latency', 'I/Os'], rows};
	}
}
