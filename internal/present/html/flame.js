(() => {
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const by = id => document.getElementById(id);
const kinds = ['', 'kernel', 'remark', 'process'];
const ROW = 18;
const shown = data.states.map(() => true);

const nodes = data.nodes.map(([parent, name, kind, self, before], i) =>
	({i, parent, name: data.names[name], kind, self, before, kids: [], depth: 0, states: null, after: 0, was: 0, sum: 0, count: 0, at: 0, size: 0}));
for (const n of nodes) {
	if (n.parent < 0) continue;
	nodes[n.parent].kids.push(n);
	n.depth = nodes[n.parent].depth + 1;
}
const root = nodes[0];

// Adds up the states that are shown, children before parents.
function addUp() {
	for (const n of nodes) {
		n.states = new Float64Array(data.states.length);
		n.count = 0;
		n.was = n.before;
		for (let k = 0; k < n.self.length; k += 3) {
			if (!shown[n.self[k]]) continue;
			n.states[n.self[k]] += n.self[k + 1];
			n.count += n.self[k + 2];
		}
	}
	for (let i = nodes.length - 1; i >= 0; i--) {
		const n = nodes[i];
		n.after = n.states.reduce((a, b) => a + b, 0);
		n.sum = n.after + (data.diff ? n.was : 0);
		if (n.parent < 0) continue;
		const p = nodes[n.parent];
		n.states.forEach((v, s) => { p.states[s] += v; });
		p.count += n.count;
		p.was += n.was;
	}
}

function time(ns) {
	if (data.unit) return `${ns.toLocaleString('en')} ${data.unit}`;
	const units = [[60e9 * 60, ' h'], [60e9, ' min'], [1e9, ' s'], [1e6, ' ms'], [1e3, ' µs']];
	for (const [size, name] of units) if (ns >= size) return (ns / size).toPrecision(3) + name;
	return Math.round(ns) + ' ns';
}
function share(part, whole) {
	const percent = whole > 0 ? 100 * part / whole : 0;
	if (percent > 0 && percent < .01) return '< 0.01 %';
	return percent >= 100 ? Math.round(percent) + ' %' : percent.toFixed(percent < 1 ? 2 : 1) + ' %';
}

function describe(n) {
	let text = n.name;
	if (data.diff) {
		text += `: ${time(n.was)} before, ${time(n.after)} after`;
		if (n.was > 0) text += ` (${n.after >= n.was ? '+' : '−'}${share(Math.abs(n.after - n.was), n.was)})`;
	} else {
		text += `: ${time(n.after)}, ${share(n.after, root.after)} of all`;
		if (zoomed !== root && zoomed.after > 0) text += `, ${share(n.after, zoomed.after)} of ${zoomed.name}`;
		if (n.count && !data.unit) text += `, ${n.count.toLocaleString('en')} ${data.counts}`;
	}
	const parts = [...n.states].map((v, s) => [v, data.states[s]]).filter(x => x[0] > 0 && x[1]).sort((a, b) => b[0] - a[0]);
	if (parts.length) text += ' · ' + parts.slice(0, 5).map(([v, s]) => parts.length > 1 ? `${s} ${share(v, n.after)}` : s).join(', ');
	return text;
}

// A function is painted in the colours of its states, each as wide as its share.
function paint(n) {
	if (data.diff) {
		const change = n.sum > 0 ? (n.after - n.was) / n.sum : 0;
		const light = 92 - 32 * Math.min(1, Math.abs(change));
		return Math.abs(change) < .01 ? '#d9dde2' : `hsl(${change > 0 ? 8 : 212} 75% ${light}%)`;
	}
	const parts = [...n.states].map((v, s) => [v, data.colors[s]]).filter(x => x[0] > 0.01 * n.after).sort((a, b) => b[0] - a[0]);
	if (parts.length < 2) return parts.length ? parts[0][1] : '#d9dde2';
	const whole = parts.reduce((a, b) => a + b[0], 0);
	let at = 0;
	return 'linear-gradient(to right,' + parts.map(([v, c]) => {
		const from = at;
		at += 100 * v / whole;
		return `${c} ${from}% ${at}%`;
	}).join(',') + ')';
}

const graph = by('graph');
let zoomed = root, current = root, wanted = '', boxes = new Map();

function draw() {
	const width = graph.clientWidth || 1000;
	const had = document.activeElement && graph.contains(document.activeElement);
	const parts = document.createDocumentFragment();
	let deepest = 0;
	boxes = new Map();
	const box = (n, left, size, above, place, places) => {
		n.at = left;
		n.size = size;
		const e = document.createElement('div');
		e.className = `f ${kinds[n.kind]}${above ? ' above' : ''}${wanted && n.name.toLowerCase().includes(wanted) ? ' hit' : ''}`;
		e.style.left = 100 * left + '%';
		e.style.width = 100 * size + '%';
		e.style.top = n.depth * ROW + 'px';
		e.style.background = paint(n);
		if (size * width > 20) e.textContent = n.name;
		e.setAttribute('role', 'treeitem');
		e.setAttribute('aria-level', n.depth + 1); // boxes are not inside each other: this tells the tree's shape
		e.setAttribute('aria-posinset', place);
		e.setAttribute('aria-setsize', places);
		e.setAttribute('aria-label', describe(n));
		if (n.kids.length) e.setAttribute('aria-expanded', 'true');
		e.tabIndex = -1;
		e.node = n;
		boxes.set(n, e);
		parts.append(e);
		deepest = Math.max(deepest, n.depth);
	};
	const above = [];
	for (let n = zoomed; n.parent >= 0;) above.unshift(n = nodes[n.parent]);
	for (const n of above) box(n, 0, 1, true, 1, 1);
	const waiting = [[zoomed, 0, 1, 1, 1]]; // in the order in which they are read out: each before what it called
	while (waiting.length) {
		const [n, left, size, place, places] = waiting.pop();
		box(n, left, size, false, place, places);
		if (n.sum <= 0) continue;
		const kids = [];
		let at = left;
		for (const k of [...n.kids].sort((a, b) => b.sum - a.sum)) {
			const wide = size * k.sum / n.sum;
			if (wide * width < .7) break;
			kids.push([k, at, wide, kids.length + 1]);
			at += wide;
		}
		for (const k of kids.reverse()) waiting.push([...k, kids.length]);
	}
	graph.replaceChildren(parts);
	graph.style.height = (deepest + 1) * ROW + 'px';
	if (!boxes.has(current)) current = zoomed;
	boxes.get(current).tabIndex = 0;
	if (had) boxes.get(current).focus({preventScroll: true});
	by('total').textContent = data.diff ? `${time(root.was)} before, ${time(root.after)} after` : `· ${time(root.after)} in all`;
}

function go(n) {
	if (!n || !boxes.has(n)) return;
	const last = boxes.get(current);
	if (last) last.tabIndex = -1;
	current = n;
	const e = boxes.get(n);
	e.tabIndex = 0;
	e.focus();
	by('detail').textContent = describe(n);
}

function zoom(n) {
	zoomed = n;
	current = n;
	draw();
	go(n);
}

graph.addEventListener('click', e => {
	const box = e.target.closest('.f');
	if (box) zoom(box.node);
});
graph.addEventListener('mouseover', e => {
	const box = e.target.closest('.f');
	if (box) by('detail').textContent = describe(box.node);
});
graph.addEventListener('keydown', e => {
	if (e.ctrlKey || e.altKey || e.metaKey) return;
	const family = current.parent < 0 ? [current] : nodes[current.parent].kids.filter(n => boxes.has(n)).sort((a, b) => a.at - b.at);
	const next = {
		ArrowDown: () => go([...current.kids].filter(n => boxes.has(n)).sort((a, b) => b.sum - a.sum)[0]),
		ArrowUp: () => current.parent >= 0 && go(nodes[current.parent]),
		ArrowLeft: () => go(family[family.indexOf(current) - 1]),
		ArrowRight: () => go(family[family.indexOf(current) + 1]),
		Home: () => go(zoomed),
		Enter: () => zoom(current),
		' ': () => zoom(current),
	}[e.key];
	if (!next) return;
	e.preventDefault();
	next();
});
document.addEventListener('keydown', e => {
	if (e.key === '/' && e.target !== by('search')) {
		e.preventDefault();
		by('search').focus();
		by('search').select();
	}
	if (e.key === 'Escape') {
		by('search').value = '';
		search();
		zoom(root);
	}
});

// The share of all functions of a name: one inside another counts once.
function search() {
	wanted = by('search').value.trim().toLowerCase();
	draw();
	if (!wanted) {
		by('found').textContent = '';
		return;
	}
	let sum = 0, names = new Set();
	const waiting = [root];
	while (waiting.length) {
		const n = waiting.pop();
		if (n.name.toLowerCase().includes(wanted)) {
			sum += data.diff ? n.sum : n.after;
			names.add(n.name);
			continue;
		}
		waiting.push(...n.kids);
	}
	const whole = data.diff ? root.sum : root.after;
	by('found').textContent = `${share(sum, whole)}, ${time(sum)} in ${names.size} name${names.size === 1 ? '' : 's'}`;
}
by('search').addEventListener('input', search);
by('reset').addEventListener('click', () => zoom(root));

function legend() {
	const all = new Float64Array(data.states.length);
	for (const n of nodes) for (let k = 0; k < n.self.length; k += 3) all[n.self[k]] += n.self[k + 1];
	const whole = all.reduce((a, b) => a + b, 0);
	const buttons = [];
	data.states.forEach((state, s) => {
		if (!state) return;
		const b = document.createElement('button'), i = document.createElement('i');
		b.type = 'button';
		i.style.background = data.diff ? 'transparent' : data.colors[s];
		b.append(i, `${state} ${time(all[s])} ${share(all[s], whole)}`);
		b.setAttribute('aria-pressed', 'true');
		b.addEventListener('click', e => {
			const alone = e.shiftKey && !(shown[s] && shown.filter(Boolean).length === 1);
			if (e.shiftKey) shown.fill(!alone);
			shown[s] = e.shiftKey ? true : !shown[s];
			buttons.forEach((x, k) => x && x.setAttribute('aria-pressed', shown[k]));
			addUp();
			search();
		});
		buttons[s] = b;
		by('legend').append(b);
	});
}

addUp();
legend();
draw();
by('detail').textContent = describe(root);
addEventListener('resize', draw);
})();
